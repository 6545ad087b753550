//! Delays after a departure or a late joiner (sections 5.3.2 and 5.3.4; claims L5, L6, L7).
//!
//! The group is in a steady state: every process follows a leader that has announced every `T_A`
//! for a long time. [`AnnounceModel::members`] counts the processes that must agree in the end: the
//! ones left after a departure, or the group with its joiner.

use super::repeats_until_heard::surplus_announcements;
use super::{AnnounceModel, MulticastLoss, Variant, check_interval};
use crate::binomial::any_of;

/// A sum over announcements ends when the remainder is below this part of one.
const NEGLIGIBLE: f64 = 1e-15;

/// Re-establishment delay after the leader has left (claim L5): from its departure until all `N`
/// remaining processes have heard their best. LE-A and LE-S.
///
/// `listen_interval` is `T_L`; `departed` is `E[t_d]`, the mean time from the leader's last
/// announcement to its departure, `T_A/2` if all times are equally likely.
///
/// No loss and correlated loss: `T_L + 2D + E[t_s] - E[t_d]`. All timers expire `T_L + D` after the
/// last announcement that was heard, `T_A l/(1-l)` earlier if the last ones were lost, and the
/// successor needs as many announcements more.
///
/// Uncorrelated loss: longer, by `T_A (E[n] - l/(1-l))`. Let the successor have missed the last `J`
/// announcements of the old leader and another process the last `J'`, geometric. The other process
/// ignores the successor while its own timer runs, `J - J'` intervals longer, of which `f =
/// floor((t_s + D)/T_A)` have passed when it hears the first announcement. So it takes `max(0, J -
/// J' - f)` announcements that cannot be heard and then a geometric number that are lost; `n` is
/// the largest such number for the `N - 1` others.
///
/// Departures that are detected before they happen are not counted: exact for `l^(T_L/T_A) << 1`.
///
/// `None` for algorithms other than LE-A and LE-S, and for uncorrelated loss above 0.98.
///
/// # Panics
/// If the model is invalid, or the listen interval is not above 0.
pub fn leader_departure(
    algorithm: Variant,
    model: &AnnounceModel,
    listen_interval: f64,
    departed: f64,
) -> Option<f64> {
    check_interval("listen", listen_interval);
    let first = model.first_of_le_a_or_s(algorithm)?;
    let without_loss = listen_interval + 2.0 * model.delay + first - departed;
    match model.loss {
        MulticastLoss::None | MulticastLoss::Correlated(_) => Some(without_loss),
        MulticastLoss::Uncorrelated(loss) if loss > GREATEST_LOSS => None,
        MulticastLoss::Uncorrelated(loss) => {
            let surplus = until_all_accept(algorithm, model, loss) - loss / (1.0 - loss);
            Some(without_loss + model.announce_interval * surplus)
        }
    }
}

/// The greatest uncorrelated loss for which [`leader_departure`] is summed: beyond it the sums are
/// too long.
const GREATEST_LOSS: f64 = 0.98;

/// `E[n]` of [`leader_departure`]: the sum over `n` of the probability that a process needs more
/// than `n`.
///
/// The others miss no announcement if `J <= f`, and the first `d` if `J = d + f`, which has the
/// probability `(1-l) l^d E[l^f]`.
fn until_all_accept(algorithm: Variant, model: &AnnounceModel, loss: f64) -> f64 {
    let passed = intervals_passed(algorithm, model);
    let mean_power = |more: f64| -> f64 {
        let terms = passed.iter();
        terms.map(|(f, chance)| chance * loss.powf(f + more)).sum()
    };
    let others = model.receivers() as f64;
    let mut mean = (1.0 - mean_power(1.0)) * slowest(0.0, loss, others);
    let mut deaf_to = (1.0 - loss) * mean_power(1.0);
    for deaf in 1_u32.. {
        if deaf_to < NEGLIGIBLE * (1.0 - loss) {
            break;
        }
        mean += deaf_to * slowest(f64::from(deaf), loss, others);
        deaf_to *= loss;
    }
    mean
}

/// The distribution of `f = floor((t_s + D)/T_A)`.
fn intervals_passed(algorithm: Variant, model: &AnnounceModel) -> Vec<(f64, f64)> {
    let interval = model.announce_interval;
    let first = (model.delay / interval).floor();
    if algorithm == Variant::LeA {
        return vec![(first, 1.0)];
    }
    let last = ((model.suppress_interval + model.delay) / interval).floor();
    let awake_by = |passed: f64| {
        let time = passed * interval - model.delay;
        model.wake.cdf(time / model.suppress_interval)
    };
    let intervals = (last - first) as u32;
    (0..=intervals)
        .map(|i| first + f64::from(i))
        .map(|passed| (passed, awake_by(passed + 1.0) - awake_by(passed)))
        .collect()
}

/// Mean announcements lost on the slowest of `others`, each of which ignores the first `deaf - J'`.
fn slowest(deaf: f64, loss: f64, others: f64) -> f64 {
    let mut mean = 0.0;
    for n in 0_u32.. {
        let missing = any_of(still_missing(f64::from(n), deaf, loss), others);
        mean += missing;
        if f64::from(n) > deaf && missing < NEGLIGIBLE * (1.0 - loss) {
            break;
        }
    }
    mean
}

/// The probability that a process has not accepted any of the announcements `0..=n`.
///
/// `J'` at least `deaf`: lost all `n+1`. Below that: it ignores all of them if `J' < deaf - n`,
/// otherwise it lost the `n+1 - (deaf - J')` that it could hear.
fn still_missing(n: f64, deaf: f64, loss: f64) -> f64 {
    let all_deaf_below = (deaf - n).max(0.0);
    let always_deaf = 1.0 - loss.powf(all_deaf_below);
    let never_deaf = loss.powf(deaf + n + 1.0);
    // The sum over j from all_deaf_below to deaf - 1 of (1-l) l^j l^(n+1-deaf+j); the exponent is
    // >= 1.
    let from = loss.powf(n + 1.0 - deaf + 2.0 * all_deaf_below);
    let upto = loss.powf(n + 1.0 + deaf);
    let partly_deaf = (from - upto) / (1.0 + loss);
    always_deaf + never_deaf + partly_deaf
}

/// False departure (claim L6): the time from the expiry of a listener's timer until it hears the
/// leader, which never left: `T_A (floor(T_L/T_A) + 1/(1-l)) - T_L`.
///
/// The timer expires because `k = floor(T_L/T_A)` announcements after the last one heard were lost;
/// then the listener hears each further one with probability `1-l`. (One that arrives in the
/// instant of the expiry is in time.) The same for every loss model: one listener is one receiver.
/// Without loss only possible if `T_L < T_A`, and then `T_A - T_L`.
///
/// # Panics
/// If the model is invalid, or the listen interval is not above 0.
pub fn false_departure(model: &AnnounceModel, listen_interval: f64) -> f64 {
    model.check();
    check_interval("listen", listen_interval);
    let heard = 1.0 - model.loss.probability();
    let survived = whole_intervals(model, listen_interval);
    model.announce_interval * (survived + 1.0 / heard) - listen_interval
}

/// Inconsistent state (section 5.3.4; claim L6): the fraction of time that a listener spends in
/// false departures, `l^k (1 - (1-l) (T_L/T_A - k))` with `k = floor(T_L/T_A)`; `l^k` for `T_L = k
/// T_A`.
///
/// The product of rate and duration. One listener's timer expires under a healthy leader with the
/// rate at which announcements are heard, one every `T_A/(1-l)`, of which the part `l^k` is
/// followed by an expiry. Without loss `1 - T_L/T_A` if `T_L < T_A`, as printed, and
/// else 0.
///
/// # Panics
/// If the model is invalid, or the listen interval is not above 0.
pub fn inconsistent_fraction(model: &AnnounceModel, listen_interval: f64) -> f64 {
    let duration = false_departure(model, listen_interval);
    let loss = model.loss.probability();
    let survived = whole_intervals(model, listen_interval);
    let rate = loss.powf(survived) * (1.0 - loss) / model.announce_interval;
    rate * duration
}

/// The fraction of time in which any of the `N - 1` listeners is in a false departure: that of one
/// without loss and with correlated loss, `1 - (1 - fraction)^(N-1)` with uncorrelated.
///
/// # Panics
/// If the model is invalid, or the listen interval is not above 0.
pub fn inconsistent_fraction_of_any(model: &AnnounceModel, listen_interval: f64) -> f64 {
    let one = inconsistent_fraction(model, listen_interval);
    match model.loss {
        MulticastLoss::None | MulticastLoss::Correlated(_) => one,
        MulticastLoss::Uncorrelated(_) => any_of(one, model.receivers() as f64),
    }
}

/// Late joiner that is better than all (claim L7): from its arrival until the others have heard it.
/// As the leadership delay: it wakes, and announces until all `N - 1` others have heard. LE-A and
/// LE-S.
///
/// `None` for algorithms other than these two.
///
/// # Panics
/// If the model is invalid.
pub fn greater_joiner(algorithm: Variant, model: &AnnounceModel) -> Option<f64> {
    let first = model.first_of_le_a_or_s(algorithm)?;
    let surplus = surplus_announcements(model.loss, model.receivers());
    Some(first + model.announce_interval * surplus + model.delay)
}

/// Late joiner that is worse than the leader (claim L7): from its arrival until it has heard the
/// leader, `T_A/2 + T_A l/(1-l)`, for any delay and loss model, because it is one receiver.
///
/// The chapter has `T_A E[ceil((t_a - D)/T_A)] + D - E[t_a]` for the first term. With an arrival
/// `t_a` uniform in an interval `E[ceil]` is `1 - D/T_A`, and all but `T_A/2` cancels.
///
/// # Panics
/// If the model is invalid.
pub fn lesser_joiner(model: &AnnounceModel) -> f64 {
    model.check();
    let surplus = surplus_announcements(model.loss, 1);
    model.announce_interval * (0.5 + surplus)
}

fn whole_intervals(model: &AnnounceModel, listen_interval: f64) -> f64 {
    (listen_interval / model.announce_interval).floor()
}
