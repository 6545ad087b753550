//! Who asks for tenure, in which attempt, and the number that a resource checks.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::MemberId;

/// One life of a member, from a start to the next. A restarted member is someone else: it knows
/// nothing of what it did before, and answers to what it asked before are not for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Incarnation {
    /// Whose.
    pub id: MemberId,
    /// Drawn anew at each start.
    pub number: u64,
}

/// One attempt at tenure. Counters alone order ballots, so that of two with one counter only one can
/// win: there is no order between owners.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ballot {
    /// Higher than any that its owner had heard of.
    pub counter: u64,
    /// Who made it.
    pub owner: Incarnation,
}

/// What tells one tenure from all others: the counter of the ballot with which it began. A later tenure
/// has a higher one, so that whoever has seen a fence can refuse those below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fence(pub u64);

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
