//! Stalling: all active members flip alike, stage after stage, and no member is ever elected.
//!
//! Theorem 2 (a) says that cheaters cannot prevent the election. One cannot. Two neighbours that
//! cooperate can. If all active members are theirs, or theirs and one whose flip they see before
//! they must show their own, they make every stage an equal one, and no message is wrong
//! ([`endless`]).
//!
//! **The repair.** After [`StallLimit`] equal stages in a row every honest member reports a fault.
//! The report blames no member, because equal flips may be chance: `q = 2^(1-m)` in a stage among
//! `m`, so `q^limit` in a row. Its cost for an honest ring is this false alarm
//! ([`DrawCost::false_alarm`](super::election::DrawCost)), nearly all of it at two active members:
//! about `0.7 x 2^-limit`, for any size of the ring. Cheaters still gain time, [`longest`], and the
//! veto that they have anyway.

use super::check_ring;
use super::election::{Chain, equal_flips};

/// The number of equal stages in a row that counts as a fault. One or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StallLimit(u32);

impl StallLimit {
    /// Creates a limit of `equal_stages`.
    ///
    /// # Panics
    /// If it is 0.
    pub fn new(equal_stages: u32) -> Self {
        assert!(equal_stages >= 1, "limit of 0 equal stages: need 1 or more");
        Self(equal_stages)
    }

    /// The number of equal stages.
    pub fn equal_stages(self) -> u32 {
        self.0
    }

    /// The probability that honest members, `active` of them, reach it before a stage that is not
    /// equal.
    pub(super) fn reached_by_chance(self, active: usize) -> f64 {
        equal_flips(active).powf(f64::from(self.0))
    }
}

/// The probability that an honest ring of `n` reports a fault.
///
/// # Panics
/// If `n < 2`.
pub fn false_alarm(n: usize, limit: StallLimit) -> f64 {
    check_ring(n);
    Chain::new(n, Some(limit)).alarms()[n]
}

/// The least limit with which an honest ring of `n` reports a fault with probability `at_most` or
/// less.
///
/// # Panics
/// If `n < 2`, or unless `0 < at_most < 1`.
pub fn least_limit(n: usize, at_most: f64) -> StallLimit {
    assert!(at_most > 0.0 && at_most < 1.0, "false alarm {at_most}: need above 0, below 1");
    // This limit is always enough: the sizes from two on have 2^-limit, 4^-limit, and so on.
    let enough = (1.0 - at_most.log2()).ceil() as u32;
    let (mut too_few, mut limit) = (0, enough);
    while limit - too_few > 1 {
        let between = too_few + (limit - too_few) / 2;
        if false_alarm(n, StallLimit(between)) > at_most {
            too_few = between;
        } else {
            limit = between;
        }
    }
    StallLimit(limit)
}

/// The maximum number of stages of an election without a fault, for any behaviour of cheaters: the
/// limit at each size.
///
/// # Panics
/// If `n < 2`.
pub fn longest(n: usize, limit: StallLimit) -> f64 {
    check_ring(n);
    (n - 1) as f64 * f64::from(limit.0)
}

/// The greatest probability with which a segment of `cheaters` makes an election of `n` endless,
/// unnoticed, if there is no limit, and if they see the flips of their two neighbours before they
/// choose all of their own at once.
///
/// 0 for one cheater: alone with a neighbour it sees nothing, by (L), step 3, and among more than
/// two honest flips differ sooner or later. From two on `(cheaters + 2) / n`. No more: among the
/// active members, the share of cheaters and their neighbours is a martingale, as (S) is fair, and
/// no other member, whose flip is unknown, may be left in the end. No less: they flip as their
/// neighbours if those are equal, and else let one of them go with each neighbour, the far one, so
/// that the pair are not adjacent. Then all of them stay together, or some that can stall.
///
/// Cheaters that show their flips one by one see more. By dynamic programming over all that they
/// can know, on rings of up to ten, the best that they can do is `2 cheaters / n`, for two or more:
/// as much for two, and more for three.
///
/// # Panics
/// Unless the ring has members left: `cheaters + 2 <= n`.
pub fn endless(n: usize, cheaters: usize) -> f64 {
    check_ring(n);
    assert!(
        cheaters + 2 <= n,
        "{cheaters} cheaters on a ring of {n}: need two honest members or more"
    );
    match cheaters {
        0 | 1 => 0.0,
        _ => (cheaters + 2) as f64 / n as f64,
    }
}
