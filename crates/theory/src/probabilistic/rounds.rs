//! Upper bounds of the mean rounds and messages of an election (section 3.2).
//!
//! Another round follows only if a member noticed that the last one failed. No member does if the
//! relay members came to one choice and all members hear of it (E3 and E4), even if the leader
//! fails in that very round. So another round follows with at most
//!
//! ```text
//! q(K) = 1 - Pr[success]/(1 - p_fail)
//! ```
//!
//! and round `l` takes place with at most the product of `q` over the rounds before it. Members
//! that failed are not replaced: of `K` that pass the filter in round `l`, `K (1 - p_fail)^(l-1)`
//! are left on average. The success is that of [`success_of_best_known`], a lower bound, so these
//! are upper bounds. They are reached if every failure is noticed, as when no multicast is lost and
//! every member that notices reports it.

use super::Model;
use super::cost::{mean_multicasts_bound, mean_unicasts_bound};
use super::success::success_of_best_known;

/// An upper bound of the probability of each round, for the `K` of all possible rounds. The first
/// is certain.
///
/// # Panics
/// If the model or a `K` is invalid.
pub fn reached_bound(model: &Model, ks: &[u32]) -> Vec<f64> {
    let surviving = 1.0 - model.crash;
    let mut left = 1.0;
    let mut reached = vec![1.0; ks.len().min(1)];
    for (&k, before) in ks.iter().zip(0..ks.len().saturating_sub(1)) {
        model.check(k.into());
        let drawn = f64::from(k) * left;
        let another = if drawn > 0.0 && surviving > 0.0 {
            1.0 - success_of_best_known(model, drawn) / surviving
        } else {
            1.0
        };
        reached.push(reached[before] * another.max(0.0));
        left *= surviving;
    }
    reached
}

/// The mean number of rounds, at most.
///
/// # Panics
/// If the model or a `K` is invalid.
pub fn mean_rounds_bound(model: &Model, ks: &[u32]) -> f64 {
    reached_bound(model, ks).iter().sum()
}

/// An upper bound of the mean number of messages in all rounds: for each that takes place,
/// the number that Theorem 4 allows.
///
/// Several members may call a later round, `K` of them on average by the hash rule, and then hardly
/// any member misses the call: so it is taken to reach all. This is an order rather than an
/// estimate, as `m^3/2` is: see [`unicasts_bound`](super::cost::unicasts_bound).
///
/// # Panics
/// If the model or a `K` is invalid.
pub fn mean_messages_bound(model: &Model, ks: &[u32]) -> f64 {
    let heard_by_all = Model { multicast_loss: 0.0, ..*model };
    let cost = |(round, &k): (usize, &u32)| {
        let k = f64::from(k);
        if round == 0 {
            mean_unicasts_bound(model, k) + mean_multicasts_bound(model, k)
        } else {
            mean_unicasts_bound(&heard_by_all, k) + 2.0 * k
        }
    };
    let costs = ks.iter().enumerate().map(cost);
    let reached = reached_bound(model, ks);
    costs.zip(reached).map(|(cost, reached)| cost * reached).sum()
}
