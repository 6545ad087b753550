//! The state on a voter's disk.

use serde::{Deserialize, Serialize};

use super::{Ballot, BallotOwner, counter};
use crate::Duration;

/// The distance by which a voter whose disk was lost begins above all counters that the others
/// know. It may have promised counters that no other member knows, but fewer than this.
const REPLACEMENT_MARGIN: u64 = 1 << 32;

/// The state that a voter must never forget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Durable {
    /// The counter below which it grants nothing.
    pub counter: u64,
    /// The nominee to which it promised that counter; `None` after it was initialised.
    pub owner: Option<BallotOwner>,
    /// The longest ttl that it can have granted, in this incarnation or an earlier one.
    pub longest_ttl: Duration,
}

/// The state that a voter finds on its disk. An empty disk does not mean that it has promised
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Saved {
    /// No state, or none that can be read: the voter does not vote.
    Missing,
    /// The state that it saved last, or with which an operator initialised it.
    Initialised(Durable),
}

impl Durable {
    /// For the voters of a new group, which have never promised or granted anything.
    pub const FOUNDING: Self = Self { counter: 0, owner: None, longest_ttl: Duration::ZERO };

    /// For a voter whose disk was lost. `highest` is the highest counter that a majority of the
    /// voters reports, `max_ttl` the longest ttl with which it can have been configured. The new
    /// counter stays in the era of `highest`, so that the other voters can follow: see
    /// [`can_replace`](Self::can_replace).
    pub const fn replacing(highest: u64, max_ttl: Duration) -> Self {
        let last = counter::last_of_era(highest);
        Self {
            counter: if Self::can_replace(highest) { highest + REPLACEMENT_MARGIN } else { last },
            owner: None,
            longest_ttl: max_ttl,
        }
    }

    /// Returns true if the era of `highest` has room for a voter that lost its disk. If not, a new
    /// era is due.
    pub const fn can_replace(highest: u64) -> bool {
        counter::last_of_era(highest) - highest > REPLACEMENT_MARGIN
    }

    /// Returns true if the promise is for this ballot.
    pub fn is_promise_of(&self, ballot: Ballot) -> bool {
        self.counter == ballot.counter && self.owner == Some(ballot.owner)
    }
}
