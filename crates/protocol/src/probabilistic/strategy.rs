//! How K grows from round to round, and when members give up (section 3.2 of the document).

use super::Heard;
use crate::config::ConfigError;

/// The rounds of an election.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Strategy {
    /// K of the first round, unless whoever calls the election was told a better one.
    pub first: u32,
    /// By what K grows in each round.
    pub growth: f64,
    /// How many rounds there are at most.
    pub rounds: u16,
    /// K of the last of several rounds.
    pub last: LastRound,
    /// From this round on K grows only after a round in which nobody was heard at all. Then fewer are there than N_i
    /// says, as in a small part that was cut off from a large group; else K is large enough to be heard, and if all of a
    /// large group relayed they would send N^2 messages.
    pub steady_from: u16,
}

/// K of the last of several rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastRound {
    /// N: everybody takes part, which takes about N^2 messages.
    Everybody,
    /// As in every round.
    Grown,
}

impl Strategy {
    /// The document's: K = 7, 14, 28, 56, N.
    pub const DOCUMENT: Self = Self {
        first: 7,
        growth: 2.0,
        rounds: 5,
        last: LastRound::Everybody,
        steady_from: u16::MAX,
    };

    /// In the field: K = 7, 14, 28, 56, and then 56 again, or twice as much each time while nobody is heard. So many
    /// rounds find the one that is left of a million.
    pub const FIELD: Self = Self {
        rounds: 24,
        last: LastRound::Grown,
        steady_from: 4,
        ..Self::DOCUMENT
    };

    /// Whether it can work.
    ///
    /// # Errors
    /// Names what cannot.
    pub fn check(&self) -> Result<(), ConfigError> {
        let out_of_range = |field, range| Err(ConfigError::OutOfRange { field, range });
        if !(1..=1_000_000).contains(&self.first) {
            return out_of_range("K of the first round", "from 1 to 1000000");
        }
        if !(1.0..=1_000.0).contains(&self.growth) {
            return out_of_range("growth", "from 1 to 1000");
        }
        if self.rounds == 0 {
            return out_of_range("the number of rounds", "1 or more");
        }
        Ok(())
    }

    /// K of each round in a group of `size`, all of them needed, as nobody is heard in any.
    pub fn ks(&self, size: u64) -> impl Iterator<Item = u32> {
        let strategy = *self;
        let rounds = std::iter::successors(Some((1, strategy.first)), move |&(round, k)| {
            Some((round + 1, strategy.next(round, k, Heard::Nothing, size)?))
        });
        rounds.map(|(_, k)| k)
    }

    /// Whether no round follows round `round`.
    pub(super) fn is_last(&self, round: u16) -> bool {
        round >= self.rounds
    }

    /// Whether K has grown enough, after round `round`, as this was heard in it.
    pub(super) fn is_steady(&self, round: u16, heard: Heard) -> bool {
        round >= self.steady_from && heard != Heard::Nothing
    }

    /// K of the round that follows round `round`, in which it was `k` and this was heard, in a group of `size`; none if
    /// that was the last.
    pub(super) fn next(&self, round: u16, k: u32, heard: Heard, size: u64) -> Option<u32> {
        let next = round.checked_add(1).filter(|_| !self.is_last(round))?;
        let everybody = u32::try_from(size).unwrap_or(u32::MAX);
        Some(match self.last {
            _ if self.is_steady(round, heard) => k,
            LastRound::Everybody if next == self.rounds => everybody,
            LastRound::Everybody | LastRound::Grown => {
                let grown = (f64::from(k) * self.growth).round() as u32;
                grown.min(everybody.max(k))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Heard, LastRound, Strategy};
    use crate::Candidate;

    fn ks(strategy: Strategy, size: u64) -> Vec<u32> {
        strategy.ks(size).collect()
    }

    #[test]
    fn the_documents_strategy_doubles_k_and_ends_with_everybody() {
        assert_eq!(ks(Strategy::DOCUMENT, 2_000), [7, 14, 28, 56, 2_000]);
        let grown = Strategy {
            last: LastRound::Grown,
            ..Strategy::DOCUMENT
        };
        assert_eq!(ks(grown, 2_000), [7, 14, 28, 56, 112]);
        assert_eq!(ks(grown, 20), [7, 14, 20, 20, 20], "more than all is all");
        let single = Strategy {
            rounds: 1,
            ..Strategy::DOCUMENT
        };
        assert_eq!(ks(single, 2_000), [7], "the only round is the first");
    }

    #[test]
    fn in_the_field_k_is_steady_once_it_has_grown_unless_nobody_is_heard() {
        let field = Strategy::FIELD;
        let one = Heard::One(Candidate::new(1, 1));
        for heard in [one, Heard::Several] {
            assert_eq!(field.next(3, 28, heard, 20_000), Some(56));
            assert_eq!(field.next(4, 56, heard, 20_000), Some(56));
        }
        assert_eq!(field.next(4, 56, Heard::Nothing, 20_000), Some(112));
        // Whoever is left of a million calls itself in the end.
        let million = 1_000_000;
        assert_eq!(ks(field, million).last(), Some(&(million as u32)));
        let document = Strategy::DOCUMENT;
        assert_eq!(document.next(4, 56, Heard::Several, 2_000), Some(2_000));
    }

    #[test]
    fn what_cannot_work_is_named() {
        let good = Strategy::DOCUMENT;
        assert_eq!(good.check(), Ok(()));
        for bad in [
            Strategy { first: 0, ..good },
            Strategy {
                growth: 0.5,
                ..good
            },
            Strategy {
                growth: f64::NAN,
                ..good
            },
            Strategy { rounds: 0, ..good },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }
}
