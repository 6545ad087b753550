//! What a voter has on its disk.

use serde::{Deserialize, Serialize};

use super::{Ballot, Incarnation, counter};
use crate::Duration;

/// How far a voter whose disk was lost begins above all counters that the others know: it may have
/// promised some that nobody else has heard of, but not so many.
const BEYOND_WHAT_WAS_LOST: u64 = 1 << 32;

/// What a voter must never forget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Durable {
    /// The counter below which it grants nothing.
    pub counter: u64,
    /// To whom it promised that counter; none after it was initialised.
    pub owner: Option<Incarnation>,
    /// The most that it can have granted, in this life or an earlier one.
    pub longest_ttl: Duration,
}

/// What a voter finds on its disk. An empty disk is not a promise of nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Saved {
    /// Nothing, or nothing that can be read: it does not vote.
    Missing,
    /// What it saved last, or what it was initialised with on purpose.
    Initialised(Durable),
}

impl Durable {
    /// For the voters of a group that is new: none of them ever promised or granted anything.
    pub const FOUNDING: Self = Self {
        counter: 0,
        owner: None,
        longest_ttl: Duration::ZERO,
    };

    /// For a voter whose disk was lost: `highest` is the highest counter that a majority of the voters
    /// tell, `max_ttl` the most that it can have been configured with. It stays in the era of `highest`, so that the other
    /// voters can follow: see [`can_replace`](Self::can_replace).
    pub const fn replacing(highest: u64, max_ttl: Duration) -> Self {
        let last = counter::last_of_era(highest);
        Self {
            counter: match Self::can_replace(highest) {
                true => highest + BEYOND_WHAT_WAS_LOST,
                false => last,
            },
            owner: None,
            longest_ttl: max_ttl,
        }
    }

    /// Returns whether the era of `highest` has room for a voter that lost its disk. If not, a new era is due.
    pub const fn can_replace(highest: u64) -> bool {
        counter::last_of_era(highest) - highest > BEYOND_WHAT_WAS_LOST
    }

    /// Whether it promised this very ballot.
    pub fn is_promise_of(&self, ballot: Ballot) -> bool {
        self.counter == ballot.counter && self.owner == Some(ballot.owner)
    }
}
