//! The cost of a round in messages and time (Theorems 3, 4 and 5; claim P6).
//!
//! It does not depend on the size of the group, except for the time to look for relay members in a
//! view.

use super::Model;

/// The maximum number of unicasts according to the paper, with probability `Pr_lb[E1]`: `m^3/2` for
/// the `m = 3K_1/2` members that then enter the relay phase at most.
///
/// A member makes a new choice only for a better one. A member whose first choice is the `r`-th
/// best of `m` informs all others at most `r` times, so new choices cost `m(m+1)/2 (m-1) < m^3/2`
/// unicasts, for any order of arrival. Answers to members with a worse choice are additional: with
/// them `m^3/2` is an order, not a bound. It is not reached by far, because most members prefer the
/// same candidate to begin with. Unicasts to members that passed the filter and missed the
/// initiation are not counted.
///
/// # Panics
/// If the model or `K` is invalid.
pub fn unicasts_bound(model: &Model, k: f64) -> f64 {
    most_relay_members(model, k).powi(3) / 2.0
}

/// Theorem 4: the mean of `m^3/2`, for the binomial `m` of `N` with `p = K_1/N`:
/// `(N(N-1)(N-2) p^3 + 3 N(N-1) p^2 + N p)/2`.
///
/// # Panics
/// If the model or `K` is invalid.
pub fn mean_unicasts_bound(model: &Model, k: f64) -> f64 {
    let mean = model.relay_members(k);
    let part = 1.0 / model.members as f64;
    let pairs = mean.powi(2) * (1.0 - part);
    let triples = pairs * mean * (1.0 - 2.0 * part);
    (triples + 3.0 * pairs + mean) / 2.0
}

/// The mean number of unicasts for first choices: each relay member's to all that it knows and that
/// pass the filter, even if the initiation did not reach them, `K_1 K view (N-1)/N`. This is the
/// least cost of a round.
///
/// # Panics
/// If the model or `K` is invalid.
pub fn first_unicasts(model: &Model, k: f64) -> f64 {
    let others = 1.0 - 1.0 / model.members as f64;
    model.relay_members(k) * k * model.view * others
}

/// Theorem 3: the maximum number of multicasts, with probability `Pr_lb[E1]`: the initiation, and a
/// final multicast by each of `3K_1/2` relay members. Initiations of the next round count there.
///
/// # Panics
/// If the model or `K` is invalid.
pub fn multicasts_bound(model: &Model, k: f64) -> f64 {
    1.0 + most_relay_members(model, k)
}

/// Theorem 4: the mean number of multicasts, `1 + K_1`, if no member fails before its final
/// multicast; else less.
///
/// # Panics
/// If the model or `K` is invalid.
pub fn mean_multicasts_bound(model: &Model, k: f64) -> f64 {
    1.0 + model.relay_members(k)
}

/// Section 3.3: the maximum number of consecutive unicasts for a choice to reach all relay members,
/// `3K/2`, rounded up. Times the greatest delay it is `Time_Out_2`.
///
/// # Panics
/// Unless `K` is above 0.
pub fn longest_path(k: f64) -> u64 {
    assert!(k > 0.0, "K {k}: need above 0");
    (1.5 * k).ceil() as u64
}

/// `3K_1/2`.
fn most_relay_members(model: &Model, k: f64) -> f64 {
    1.5 * model.relay_members(k)
}
