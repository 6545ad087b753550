//! The smallest `K` for a wanted success (section 3.2).
//!
//! "The initial value of `K` can be calculated from the required success probability, view
//! probabilities, process and message delivery failure probabilities": here from those that were
//! measured. The success is that of [`success_corrected`](super::success::success_corrected), which
//! is a lower bound for any choice function. The product as printed is not usable for this: it has
//! a peak, at the parameters of Figure 4 below 0.64, where rounds succeed in 99 of 100 cases.

use super::Model;
use super::success::Success;

/// Up to here every `K` is tried: for few relay members the success may fall as `K` grows. Beyond,
/// it rises as soon as it is considerable.
const TRIED_ONE_BY_ONE: u64 = 64;

/// A round with some `K`, and a lower bound of its success.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prospect {
    /// `K`.
    pub k: u64,
    /// The lower bound of the probability of success.
    pub success: f64,
}

/// No `K` reaches the target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutOfReach {
    /// The limit for any `K`: the leader itself fails with `p_fail`, and no member notices in the
    /// round.
    pub ceiling: f64,
    /// The best that this group can reach.
    pub best: Prospect,
}

/// The smallest `K` with which a round succeeds with probability `target` at least.
///
/// # Errors
/// If there is none: the target is not below `1 - p_fail`, or even all members together do not
/// reach it.
///
/// # Panics
/// If the model is invalid, or the target is not above 0 and below 1.
pub fn smallest_k(model: &Model, target: f64) -> Result<Prospect, OutOfReach> {
    assert!(target > 0.0 && target < 1.0, "target {target}: need above 0, below 1");
    model.check(1.0);
    let success = Success::new(model, model.members);
    let prospect = |k: u64| Prospect { k, success: success.of_any_choice(k as f64) };
    let ceiling = 1.0 - model.crash;
    let is_enough = |prospect: &Prospect| prospect.success >= target && target < ceiling;

    let mut best = prospect(1);
    let mut too_small = 0;
    for k in rising(model.members) {
        let next = prospect(k);
        if is_enough(&next) {
            return Ok(least_between(too_small, next, prospect, is_enough));
        }
        if next.success > best.success {
            best = next;
        }
        too_small = k;
    }
    Err(OutOfReach { ceiling, best })
}

/// Every number at first, then each twice the one before, and finally `most`.
fn rising(most: u64) -> impl Iterator<Item = u64> {
    let next = move |k: &u64| match *k {
        k if k >= most => None,
        k if k < TRIED_ONE_BY_ONE => Some(k + 1),
        k => Some(k.saturating_mul(2).min(most)),
    };
    std::iter::successors(Some(1), next)
}

/// The least `K` that is enough, where `too_small` is not and `enough` is.
fn least_between(
    mut too_small: u64,
    mut enough: Prospect,
    prospect: impl Fn(u64) -> Prospect,
    is_enough: impl Fn(&Prospect) -> bool,
) -> Prospect {
    while enough.k - too_small > 1 {
        let middle = prospect(u64::midpoint(too_small, enough.k));
        if is_enough(&middle) {
            enough = middle;
        } else {
            too_small = middle.k;
        }
    }
    enough
}
