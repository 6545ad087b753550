//! The parties and attempts of tenure, and the number that a resource checks.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::MemberId;

/// One incarnation of a member, from a start to the next. A restarted member counts as another one:
/// it does not know its earlier actions, and answers to its earlier questions are not for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BallotOwner {
    /// The member.
    pub id: MemberId,
    /// A random number, drawn at each start.
    pub number: u64,
}

/// One attempt at tenure. Counters alone order ballots: two owners have no order, so only one of
/// two ballots with the same counter can win.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ballot {
    /// Higher than any counter that its owner knew.
    pub counter: u64,
    /// The nominee that made the ballot.
    pub owner: BallotOwner,
}

/// The identification of a tenure: the counter of the ballot with which it began. A later tenure
/// has a higher fence, so a resource that has seen a fence can refuse lower ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fence(pub u64);

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
