//! How K grows from round to round, and when members give up (section 3.2 of the document).

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

    /// K of each round in a group of `size`, all of them needed.
    pub fn ks(&self, size: u64) -> impl Iterator<Item = u32> {
        let strategy = *self;
        let rounds = std::iter::successors(Some((1, strategy.first)), move |&(round, k)| {
            Some((round + 1, strategy.next(round, k, size)?))
        });
        rounds.map(|(_, k)| k)
    }

    /// Whether no round follows round `round`.
    pub(super) fn is_last(&self, round: u16) -> bool {
        round >= self.rounds
    }

    /// K of the round that follows round `round`, in which it was `k`, in a group of `size`; none if that was the
    /// last.
    pub(super) fn next(&self, round: u16, k: u32, size: u64) -> Option<u32> {
        let next = round.checked_add(1).filter(|_| !self.is_last(round))?;
        let everybody = u32::try_from(size).unwrap_or(u32::MAX);
        Some(match self.last {
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
    use super::{LastRound, Strategy};

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
