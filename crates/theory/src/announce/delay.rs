//! The end of the election (sections 5.3.1, 5.4.1 to 5.4.3).

use super::quadrature::integral;
use super::repeats_until_heard::surplus_announcements;
use super::{AnnounceModel, MulticastLoss, Variant};
use crate::binomial::{any_of, complement_to};

/// Leadership delay (section 5.3.1; claims L1, L2, L3): from the start until every process has
/// heard the leader.
///
/// The sum of the leader's first announcement, `T_A` for each further one it takes, and `D` for the
/// last to arrive:
///
/// | loss | LE-A | LE-S |
/// |---|---|---|
/// | none | `D` | `E[t_s] + D` |
/// | correlated | `D + T_A l/(1-l)` | `E[t_s] + D + T_A l/(1-l)` |
/// | uncorrelated | `D + T_A sum` | `E[t_s] + D + T_A sum` |
///
/// with the sum of [`surplus_announcements`] for `N - 1` receivers. LE-M has the mean of the
/// earliest wake-up for `E[t_s]`. Without loss and with correlated loss neither LE-A nor LE-S
/// depends on `N`.
///
/// `None`: SUP with uncorrelated loss among three or more, see [`last_send`].
///
/// # Panics
/// If the model is invalid.
pub fn leadership_delay(algorithm: Variant, model: &AnnounceModel) -> Option<f64> {
    Some(last_send(algorithm, model)? + model.delay)
}

/// `tmax` of table 5.1: the time of the announcement after which every process has heard the
/// leader; the leadership delay without the last `D`. For SUP, the time of its last message.
///
/// AL beats LE-S by `E[t_s]` for every `N`: without collisions there is no crossing (claim L15).
///
/// `None`: SUP with uncorrelated loss among three or more; no formula is known.
///
/// # Panics
/// If the model is invalid.
pub fn last_send(algorithm: Variant, model: &AnnounceModel) -> Option<f64> {
    model.check();
    match algorithm {
        Variant::LeA | Variant::LeS | Variant::LeM | Variant::Al => {
            let surplus = surplus_announcements(model.loss, model.receivers());
            Some(model.first_announcement(algorithm) + model.announce_interval * surplus)
        }
        Variant::Sup => Some(last_of_suppression(model, model.shared_loss()?)),
    }
}

/// The time of the last first-round message, where the first round is the first announcement of
/// each process (figure 5.12; claim L16). It is 0 for LE-A and AL, and the same for LE-M as for
/// SUP, as long as no process announces twice while others still sleep, `T_A >= T_S - D`.
///
/// `None` for LE-S, for uncorrelated loss among three or more, and for LE-M with a shorter `T_A`
/// and loss: no formula is known.
///
/// # Panics
/// If the model is invalid.
pub fn last_send_of_first_round(algorithm: Variant, model: &AnnounceModel) -> Option<f64> {
    model.check();
    match algorithm {
        Variant::LeA | Variant::Al => Some(0.0),
        Variant::LeS => None,
        Variant::LeM => {
            let loss = model.shared_loss()?;
            let repeats = model.announce_interval < model.suppress_interval - model.delay;
            (loss == 0.0 || !repeats).then(|| last_of_suppression(model, loss))
        }
        Variant::Sup => Some(last_of_suppression(model, model.shared_loss()?)),
    }
}

/// Mean time of the last message of SUP, without loss or with correlated loss.
///
/// Mark each process whose message would get through, probability `1-l`, and let `s` be the
/// earliest wake-up of a marked one: `Pr[s > t] = (1 - (1-l) P(t))^N`. Every process that wakes
/// before `s + D` sends, and none after. So the last message is sent at the latest wake-up if no
/// process is marked, and otherwise at `s` plus the distance to the last of the other wake-ups in
/// `(s, s + D]`.
///
/// A double integral: within 1e-9 of the closed form for uniform wake-ups, up to 10^6 members.
fn last_of_suppression(model: &AnnounceModel, loss: f64) -> f64 {
    let n = model.members as f64;
    let got_through = 1.0 - loss;
    let wake = model.wake;
    let nobody_marked = loss.powf(n);
    // The mean of s, cut off at 1 if no process is marked, and then the latest wake-up instead of
    // that 1.
    let first_heard = integral(&[0.0, 1.0], |time| complement_to(got_through * wake.cdf(time), n));
    let latest = nobody_marked * (wake.mean_of_latest(model.members) - 1.0);
    let delay = (model.delay / model.suppress_interval).min(1.0);
    let full_delay_until = wake.cdf(1.0 - delay);
    let overtime = integral(&[0.0, full_delay_until, 1.0], |chance| {
        let first = wake.quantile(chance);
        n * got_through * mean_overtime(model, chance, first, delay.min(1.0 - first), got_through)
    });
    model.suppress_interval * (first_heard + latest + overtime)
}

/// The mean time from `first` to the last of the other wake-ups before `first + window`, if none of
/// the others is marked and earlier than `first`; times the probability of that.
///
/// The integral over `y` of `Pr[a process wakes between first + window - y and first + window]`.
fn mean_overtime(
    model: &AnnounceModel,
    chance: f64,
    first: f64,
    window: f64,
    got_through: f64,
) -> f64 {
    let others = model.receivers() as f64;
    let unmarked_before = got_through * chance;
    let end = model.wake.cdf(first + window);
    let not_before = complement_to(unmarked_before, others);
    // The processes that are not both marked and early; of them, the part that wakes within y of
    // the end.
    let rest = 1.0 - unmarked_before;
    integral(&[0.0, window], |y| {
        let share = ((end - model.wake.cdf(first + window - y)) / rest).min(1.0);
        any_of(share, others)
    }) * not_before
}

/// Claim L15: the loss at which AL would be as slow as LE-S with the loss of the model.
///
/// Figure 5.11 has LE-S overtake AL at `N = 200`, on the ground that the simultaneous messages of
/// AL are lost more often. Solved for the loss by bisection, to 1e-12. [`airtime_for_loss`] starts
/// from it too.
///
/// # Panics
/// If the model is invalid.
pub fn loss_that_slows_al_to_le_s(model: &AnnounceModel) -> f64 {
    model.check();
    let lag = model.first_announcement(Variant::LeS) / model.announce_interval;
    let target = surplus_announcements(model.loss, model.receivers()) + lag;
    let with = |loss| match model.loss {
        MulticastLoss::None | MulticastLoss::Correlated(_) => MulticastLoss::Correlated(loss),
        MulticastLoss::Uncorrelated(_) => MulticastLoss::Uncorrelated(loss),
    };
    let (mut low, mut high) = (model.loss.probability(), 1.0 - 1e-6);
    while high - low > 1e-12 {
        let middle = f64::midpoint(low, high);
        if surplus_announcements(with(middle), model.receivers()) < target {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// A simple collision model for claim L15: the time that a message must occupy the medium, if each
/// of the `N` processes of AL sends at its own uniform time in every `T_A` and messages that
/// overlap are lost.
///
/// A message survives if none of the `N - 1` others starts within an airtime `x` before or after
/// it: `1 - l' = (1-l) (1 - 2x/T_A)^(N-1)`; solved for `x`, in the unit of the model.
///
/// # Panics
/// If the model is invalid, or the loss is not between that of the model and 1.
pub fn airtime_for_loss(model: &AnnounceModel, loss: f64) -> f64 {
    model.check();
    let alone = model.loss.probability();
    assert!(
        alone <= loss && loss < 1.0,
        "loss {loss} with collisions, {alone} without: need no less, and below 1"
    );
    let collided = (loss - alone) / (1.0 - alone);
    let others = model.receivers() as f64;
    model.announce_interval * any_of(collided, 1.0 / others) / 2.0
}
