//! The probability that a round succeeds: all members that do not fail have the same nominee, and
//! it does not fail.
//!
//! The number `S` of members that send final multicasts is binomial, of `N` with `K_2/N`. Given it,
//!
//! ```text
//! Pr[success] = (1 - p_fail) sum over s >= 1 of Pr[S = s] A(s) (1 - (1 - p_fail) p_mcastl^s)^N
//! ```
//!
//! where `A(s)` is the probability that they come to one choice: the events E5, E3 and E4 of the
//! paper, averaged where E1 only bounds. Unicasts of members that fail later only help: the best
//! choice that reaches any member that does not fail then spreads like any other. The possibility
//! that the leader is one of the relay members is left out, and on the order of `1/N`.

use super::Model;
use super::factors::all_hear;
use super::relay_agreement::{Spread, agreement_by, passage_probability};
use crate::binomial::law;

/// The success of a round for any choice function: `A(s)` is
/// [`agreement_bound`](super::relay_agreement::agreement_bound), a lower bound that assumes that all first
/// choices differ.
///
/// It corrects [`success_bound`](super::factors::success_bound) in four points: the exact
/// distribution of the relay members for the tails of normal distributions, an edge if one member
/// knows the other, connectedness for its limit, and for the unicasts of a given tree the
/// probability that there is *some* path. It has no peak: as `K` grows it rises to `1 - p_fail`,
/// unless the group ends before.
///
/// # Panics
/// If the model or `K` is invalid.
pub fn success_corrected(model: &Model, k: f64) -> f64 {
    model.check(k);
    Success::new(model, most_final_senders(model, k)).of_any_choice(k)
}

/// The success of a round if all prefer the best member that they know, as in the paper's
/// simulation: `A(s)` is [`agreement`](super::relay_agreement::agreement). Close to the simulator's value for
/// a single round; a lower bound if unicasts are lost.
///
/// # Panics
/// If the model or `K` is invalid.
pub fn success_of_best_known(model: &Model, k: f64) -> f64 {
    model.check(k);
    let most = most_final_senders(model, k);
    let passage = passage_probability(model.view, model.unicast_loss);
    let spread = Spread::new(model.view, passage, most);
    success(model, k, |senders| agreement_by(&spread, senders))
}

/// The success of rounds with one model and any `K`.
pub(super) struct Success<'a> {
    model: &'a Model,
    spread: Spread,
}

impl<'a> Success<'a> {
    /// Fast for up to `most_senders` final multicasts.
    pub(super) fn new(model: &'a Model, most_senders: u64) -> Self {
        let passage = passage_probability(model.view, model.unicast_loss);
        let spread = Spread::new(passage, passage, most_senders);
        Self { model, spread }
    }

    /// [`success_corrected`].
    pub(super) fn of_any_choice(&self, k: f64) -> f64 {
        success(self.model, k, |senders| self.spread.reaches(senders - 1))
    }
}

/// The sum above.
fn success(model: &Model, k: f64, agreement: impl Fn(u64) -> f64) -> f64 {
    let senders = law(model.members, model.chance_to_finish(k));
    let sum: f64 = senders
        .iter()
        .filter(|(number, _)| *number >= 1)
        .map(|(number, weight)| weight * agreement(*number) * all_hear(model, *number as f64))
        .fold(0.0, |sum, it| sum + it); // `sum` of nothing is -0.0
    (1.0 - model.crash) * sum.min(1.0)
}

/// The practical maximum of the number of members that send a final multicast.
fn most_final_senders(model: &Model, k: f64) -> u64 {
    let senders = law(model.members, model.chance_to_finish(k));
    senders.iter().map(|(number, _)| *number).max().unwrap_or(0)
}
