//! The growth of K from round to round, and the last round (section 3.2 of the paper).

use super::Decisions;
use crate::config::{ConfigError, require};

/// The rounds of an election.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Strategy {
    /// K of the first round, unless the driver of the caller submitted a better one.
    pub first: u32,
    /// The factor by which K grows in each round.
    pub growth: f64,
    /// The greatest number of rounds.
    pub rounds: u16,
    /// K of the last of several rounds.
    pub last: LastRound,
    /// The round from which on K grows only after a round without any decision. Such a round means
    /// that fewer members are up than N_i says, as in a small part separated from a large group.
    /// Otherwise K is large enough, and a large group in which all members relay would send N^2
    /// messages.
    pub steady_from: u16,
}

/// K of the last of several rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastRound {
    /// N: every member takes part, at a cost of about N^2 messages.
    Everybody,
    /// K grows as in every round.
    Grown,
}

impl Strategy {
    /// The paper's strategy: K = 7, 14, 28, 56, N.
    pub const DOCUMENT: Self = Self {
        first: 7,
        growth: 2.0,
        rounds: 5,
        last: LastRound::Everybody,
        steady_from: u16::MAX,
    };

    /// The strategy in the field: K = 7, 14, 28, 56, and then 56 again, or twice as much each time
    /// while no decision arrives. 24 rounds find the last live member of a million.
    pub const FIELD: Self =
        Self { rounds: 24, last: LastRound::Grown, steady_from: 4, ..Self::DOCUMENT };

    /// Checks that this strategy can work.
    ///
    /// # Errors
    /// Names the option that cannot work.
    pub fn check(&self) -> Result<(), ConfigError> {
        let is_possible = (1..=1_000_000).contains(&self.first);
        require(is_possible, "K of the first round", "from 1 to 1000000")?;
        require((1.0..=1_000.0).contains(&self.growth), "growth", "from 1 to 1000")?;
        require(self.rounds > 0, "the number of rounds", "1 or more")
    }

    /// K of each round in a group of `size`, if no round brings any decision.
    pub fn ks(&self, size: u64) -> impl Iterator<Item = u32> {
        let strategy = *self;
        let rounds = std::iter::successors(Some((1, strategy.first)), move |&(round, k)| {
            Some((round + 1, strategy.next(round, k, Decisions::Nothing, size)?))
        });
        rounds.map(|(_, k)| k)
    }

    /// True if no round follows `round`.
    pub(super) fn is_last(&self, round: u16) -> bool {
        round >= self.rounds
    }

    /// True if K stays the same after `round`, given the decisions received in it.
    pub(super) fn is_steady(&self, round: u16, heard: Decisions) -> bool {
        round >= self.steady_from && heard != Decisions::Nothing
    }

    /// K of the round after `round`, in a group of `size`; `None` if `round` was the last. `k` and
    /// `heard` are the K and the decisions of `round`.
    pub(super) fn next(&self, round: u16, k: u32, heard: Decisions, size: u64) -> Option<u32> {
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
    use super::{Decisions, LastRound, Strategy};
    use crate::Candidate;

    fn ks(strategy: Strategy, size: u64) -> Vec<u32> {
        strategy.ks(size).collect()
    }

    #[test]
    fn the_paper_strategy_doubles_k_and_ends_with_all_members() {
        assert_eq!(ks(Strategy::DOCUMENT, 2_000), [7, 14, 28, 56, 2_000]);
        let grown = Strategy { last: LastRound::Grown, ..Strategy::DOCUMENT };
        assert_eq!(ks(grown, 2_000), [7, 14, 28, 56, 112]);
        assert_eq!(ks(grown, 20), [7, 14, 20, 20, 20], "K is at most N");
        let single = Strategy { rounds: 1, ..Strategy::DOCUMENT };
        assert_eq!(ks(single, 2_000), [7], "the only round is the first");
    }

    #[test]
    fn the_field_strategy_keeps_k_steady_unless_no_decision_arrives() {
        let field = Strategy::FIELD;
        let one = Decisions::One(Candidate::new(1, 1));
        for heard in [one, Decisions::Several] {
            assert_eq!(field.next(3, 28, heard, 20_000), Some(56));
            assert_eq!(field.next(4, 56, heard, 20_000), Some(56));
        }
        assert_eq!(field.next(4, 56, Decisions::Nothing, 20_000), Some(112));
        // The last live member of a million picks itself in the end.
        let million = 1_000_000;
        assert_eq!(ks(field, million).last(), Some(&(million as u32)));
        let paper = Strategy::DOCUMENT;
        assert_eq!(paper.next(4, 56, Decisions::Several, 2_000), Some(2_000));
    }

    #[test]
    fn an_invalid_strategy_is_refused() {
        let good = Strategy::DOCUMENT;
        assert_eq!(good.check(), Ok(()));
        for bad in [
            Strategy { first: 0, ..good },
            Strategy { growth: 0.5, ..good },
            Strategy { growth: f64::NAN, ..good },
            Strategy { rounds: 0, ..good },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }
}
