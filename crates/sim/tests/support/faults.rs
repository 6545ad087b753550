//! Random faults, of which storms consist.

use hustings_sim::{Verb, Who};
use rand_core::Rng;

use super::{below, happens};

/// The maximum drift of clocks.
pub(crate) const DRIFT: f64 = 0.01;

/// A member restarts, with or without its disk, with equal probability.
pub(crate) fn restart(member: u32, rng: &mut impl Rng) -> Verb {
    Verb::Restart { who: Who::one(member), keep_state: happens(50, rng) }
}

/// A partition with each member on a random side.
pub(crate) fn cut(members: u32, rng: &mut impl Rng) -> Verb {
    let side = (0..members).filter(|_| happens(50, rng)).collect();
    Verb::Cut(vec![Who::Members(side)])
}

/// No message from `from` reaches one of the members any more.
pub(crate) fn cut_one_way(from: Who, members: u32, rng: &mut impl Rng) -> Verb {
    let to = Who::one(below(u64::from(members), rng) as u32);
    Verb::CutOneWay { from, to }
}

/// A clock runs fast or slow, by [`DRIFT`] at most.
pub(crate) fn drift(who: Who, rng: &mut impl Rng) -> Verb {
    let rate = 1.0 - DRIFT + 2.0 * DRIFT * (below(101, rng) as f64 / 100.0);
    Verb::Drift { who, rate }
}
