//! What a round costs in messages and time (Theorems 3, 4 and 5; claim P6).
//!
//! None of it depends on the size of the group, but for the time that it takes to look for relay members in a view.

use super::Model;

/// At most as many unicasts as the paper allows, with probability `Pr_lb[E1]`: `m^3/2` for the `m = 3K_1/2` members that
/// then enter the relay phase at most.
///
/// A member makes a new choice only for a better one. Whose first choice is the `r`-th best of `m` tells all others at
/// most `r` times, so new choices cost `m(m+1)/2 (m-1) < m^3/2` unicasts, whatever the order in which they arrive. Answers to
/// who has a worse choice come on top: with them `m^3/2` is an order, not a bound. It is not reached by far, since most members
/// prefer the same to begin with. Not counted are unicasts to members that passed the filter and missed the initiation.
///
/// # Panics
/// If the model or `K` is none.
#[must_use]
pub fn unicasts_bound(model: &Model, k: f64) -> f64 {
    most_relay_members(model, k).powi(3) / 2.0
}

/// Theorem 4: the mean of `m^3/2`, for the binomial `m` of `N` with `p = K_1/N`:
/// `(N(N-1)(N-2) p^3 + 3 N(N-1) p^2 + N p)/2`.
///
/// # Panics
/// If the model or `K` is none.
#[must_use]
pub fn mean_unicasts_bound(model: &Model, k: f64) -> f64 {
    let mean = model.relay_members(k);
    let part = 1.0 / model.members as f64;
    let pairs = mean.powi(2) * (1.0 - part);
    let triples = pairs * mean * (1.0 - 2.0 * part);
    (triples + 3.0 * pairs + mean) / 2.0
}

/// How many unicasts tell first choices, on average: each relay member's to all that it knows and that pass the filter,
/// whether or not the initiation reached them, `K_1 K view (N-1)/N`. The least that a round costs.
///
/// # Panics
/// If the model or `K` is none.
#[must_use]
pub fn first_unicasts(model: &Model, k: f64) -> f64 {
    let others = 1.0 - 1.0 / model.members as f64;
    model.relay_members(k) * k * model.view * others
}

/// Theorem 3: at most so many multicasts, with probability `Pr_lb[E1]`: the initiation, and a final multicast by each of
/// `3K_1/2` relay members. Those that initiate the next round are its own.
///
/// # Panics
/// If the model or `K` is none.
#[must_use]
pub fn multicasts_bound(model: &Model, k: f64) -> f64 {
    1.0 + most_relay_members(model, k)
}

/// Theorem 4: the mean number of multicasts, `1 + K_1`, if nobody fails before its final multicast; else less.
///
/// # Panics
/// If the model or `K` is none.
#[must_use]
pub fn mean_multicasts_bound(model: &Model, k: f64) -> f64 {
    1.0 + model.relay_members(k)
}

/// Section 3.3: how many unicasts in a row a choice may need to come to all relay members, `3K/2`, rounded up. Times the
/// greatest delay it is `Time_Out_2`.
///
/// # Panics
/// Unless `K` is above 0.
#[must_use]
pub fn longest_path(k: f64) -> u64 {
    assert!(k > 0.0, "K {k}: need above 0");
    (1.5 * k).ceil() as u64
}

/// Theorem 5: a round takes time of the order of `N m + N` for `m = 3K_1/2` relay members, in a network in which a message
/// takes a time of the order of `N`.
///
/// # Panics
/// If the model or `K` is none.
#[must_use]
pub fn time_order(model: &Model, k: f64) -> f64 {
    model.members as f64 * (most_relay_members(model, k) + 1.0)
}

/// `3K_1/2`.
fn most_relay_members(model: &Model, k: f64) -> f64 {
    1.5 * model.relay_members(k)
}
