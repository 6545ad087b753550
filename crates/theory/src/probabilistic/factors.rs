//! The five factors of section 4, and their product: the curves of Figure 4 (claims P1, P3).
//!
//! As printed, with two exceptions: a bound below 0 says nothing and is 0, and a tree has no fewer
//! than 0 edges. Both concern a `K` of three or four and less.

use std::f64::consts::PI;

use super::Model;
use super::relay_agreement::connected_printed;
use crate::binomial::{complement_to, law};

/// `Pr_lb[E1]`: between `K_1/2` and `3K_1/2` members enter the relay phase, and between `K_2/2` and
/// `3K_2/2` of them send a final multicast.
///
/// ```text
/// 1 - 2 sqrt(2/(pi K_1)) e^(-K_1/8) - 2 sqrt(2/(pi K_2)) e^(-K_2/8)
/// ```
///
/// The tails of two normal distributions. The true distributions are binomial, and not independent:
/// see [`e1_exact`].
///
/// # Panics
/// If the model or `K` is invalid.
pub fn e1(model: &Model, k: f64) -> f64 {
    let tails = |mean: f64| 2.0 * (2.0 / (PI * mean)).sqrt() * (-mean / 8.0).exp();
    let outside = tails(model.relay_members(k)) + tails(model.final_senders(k));
    (1.0 - outside).max(0.0)
}

/// `Pr[E1]` exactly: the number that enter is binomial, of `N` with `K_1/N`, and of those that
/// enter each sends a final multicast with `1 - p_fail`.
///
/// At the parameters of Figure 4 it is above [`e1`] within the figure, and below from some `K =
/// 100` on: a binomial distribution has more beyond `3K_1/2` than a normal one.
///
/// # Panics
/// If the model or `K` is invalid.
pub fn e1_exact(model: &Model, k: f64) -> f64 {
    let (entering, finishing) = (model.relay_members(k), model.final_senders(k));
    let is_near = |number: u64, mean: f64| {
        let number = number as f64;
        mean / 2.0 <= number && number <= 1.5 * mean
    };
    let near_finishing = |entered: u64| -> f64 {
        let law = law(entered, 1.0 - model.crash);
        let near = law.iter().filter(|(number, _)| is_near(*number, finishing));
        near.map(|(_, weight)| weight).sum()
    };
    law(model.members, model.chance_to_relay(k))
        .iter()
        .filter(|(number, _)| is_near(*number, entering))
        .map(|(number, weight)| weight * near_finishing(*number))
        .sum()
}

/// `Pr_lb[E2|E1]`: the relay members that do not fail are connected. [`connected_printed`] for
/// `K_2/2` members and an edge with probability `view_prob`; in truth an edge has
/// [`passage_probability`](super::relay_agreement::passage_probability).
///
/// # Panics
/// If the model or `K` is invalid.
pub fn e2(model: &Model, k: f64) -> f64 {
    connected_printed(model.final_senders(k) / 2.0, model.view)
}

/// `Pr_lb[E3|E1, E2]`: they have chosen the same leader; `(1 - p_fail) (1 - p_ucastl)^(3K_2/2 -
/// 1)`.
///
/// The member with the best choice does not fail, and no unicast is lost along a tree that spans
/// the maximum number of relay members. This falls with `K`, and is why the product has a peak.
///
/// # Panics
/// If the model or `K` is invalid.
pub fn e3(model: &Model, k: f64) -> f64 {
    let edges = (1.5 * model.final_senders(k) - 1.0).max(0.0);
    (1.0 - model.crash) * complement_to(model.unicast_loss, edges)
}

/// `Pr_lb[E4|E1, E2, E3]`: each member fails or gets one of `K_2/2` final multicasts;
/// `(p_fail + (1 - p_fail) (1 - p_mcastl^(K_2/2)))^N`.
///
/// The only factor that depends on `N`: see [`log10_of_group_limit`].
///
/// # Panics
/// If the model or `K` is invalid.
pub fn e4(model: &Model, k: f64) -> f64 {
    all_hear(model, model.final_senders(k) / 2.0)
}

/// `Pr[E5|E1, E2, E3, E4]`: the elected leader does not fail; `1 - p_fail`.
///
/// # Panics
/// If the model or `K` is invalid.
pub fn e5(model: &Model, k: f64) -> f64 {
    model.check(k);
    1.0 - model.crash
}

/// `Pr_lb[E1, E2, E3, E4, E5]`: the product of the five, in the paper a lower bound of the success
/// of a round. Its peak at the parameters of Figure 4 is 0.639, at `K = 24`.
///
/// # Panics
/// If the model or `K` is invalid.
pub fn success_bound(model: &Model, k: f64) -> f64 {
    e1(model, k) * e2(model, k) * e3(model, k) * e4(model, k) * e5(model, k)
}

/// Claim P3: the logarithm of the group size up to which [`e4`] stays near 1, `N <<
/// p_mcastl^(-K_2/2)`. Infinite if no multicast is lost.
///
/// # Panics
/// If the model or `K` is invalid.
pub fn log10_of_group_limit(model: &Model, k: f64) -> f64 {
    -model.final_senders(k) / 2.0 * model.multicast_loss.log10()
}

/// The same as printed, `p_mcastl^(-3K_2/2)`. For Figure 4 and `K = 40` the paper says 107, and
/// this gives 117.6.
///
/// # Panics
/// If the model or `K` is invalid.
pub fn log10_of_group_limit_printed(model: &Model, k: f64) -> f64 {
    3.0 * log10_of_group_limit(model, k)
}

/// The probability that each member fails or gets one of `senders` final multicasts.
pub(super) fn all_hear(model: &Model, senders: f64) -> f64 {
    let left_out = (1.0 - model.crash) * model.multicast_loss.powf(senders);
    complement_to(left_out, model.members as f64)
}
