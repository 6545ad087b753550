//! The probability that a failed round is noticed (Theorem 2; claim P5).
//!
//! More than one leader was elected, and at most `3K_2/2` final multicasts were sent. A member that
//! does not fail and gets them all has seen two leaders. The rest depends on the rule for
//! re-initiation.

use super::Model;
use super::factors::e1;
use crate::binomial::{any_of, complement_to};

/// `Pr_lb[E1] (1 - (1 - (1 - p_fail) (1 - p_mcastl)^(3K_2/2))^N)`: at least one of the `N` members
/// has seen them all. The paper derives this; it holds if every member that notices re-initiates,
/// at once or after a random delay.
///
/// # Panics
/// If the model or `K` is invalid.
pub fn detection_bound(model: &Model, k: f64) -> f64 {
    e1(model, k) * any_of(sees_all(model, k), model.members as f64)
}

/// As [`detection_bound`], for the rule of Figure 3, by which a member that notices re-initiates
/// only if its hash is below `K/N`:
///
/// ```text
/// Pr_lb[E1] (1 - (1 - (K/N) (1 - p_fail) (1 - p_mcastl)^(3K_2/2))^N)
/// ```
///
/// It does *not* go to 1 as `N` grows, but to `1 - e^(-K (1 - p_fail) (1 - p_mcastl)^(3K_2/2))`.
///
/// # Panics
/// If the model or `K` is invalid.
pub fn detection_bound_by_hash(model: &Model, k: f64) -> f64 {
    let members = model.members as f64;
    e1(model, k) * any_of(k / members * sees_all(model, k), members)
}

/// Theorem 2 as printed, with misplaced exponents:
///
/// ```text
/// Pr_lb[E1] (1 - (1 - (1 - p_fail) (1 - p_mcastl))^(3K_2/2))^N
/// ```
///
/// It goes to 0 as `N` grows, although the theorem says 1.
///
/// # Panics
/// If the model or `K` is invalid.
pub fn detection_bound_printed(model: &Model, k: f64) -> f64 {
    let lost = model.crash + (1.0 - model.crash) * model.multicast_loss;
    let all_lost = lost.powf(most_final_multicasts(model, k));
    e1(model, k) * complement_to(all_lost, model.members as f64)
}

/// The probability that a member does not fail and gets the maximum number of final multicasts.
fn sees_all(model: &Model, k: f64) -> f64 {
    let all = complement_to(model.multicast_loss, most_final_multicasts(model, k));
    (1.0 - model.crash) * all
}

fn most_final_multicasts(model: &Model, k: f64) -> f64 {
    1.5 * model.final_senders(k)
}
