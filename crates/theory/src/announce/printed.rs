//! The formulas of section 5.3 as printed, where the chapter is wrong.
//!
//! Kept to compare each claim with its correction. Each function names its correction and serves no
//! other purpose. `N` is [`AnnounceModel::members`] here as in the chapter.

use super::messages::first_round_messages;
use super::recurrence::assert_group;
use super::repeats_until_heard::surplus_announcements;
use super::{AnnounceModel, MulticastLoss, Variant, check_interval};

/// Entries of a distribution below this are dropped.
const NEGLIGIBLE: f64 = 1e-30;

/// `E[# consecutive lost]_uc` of section 5.3.1.3, `sum over i = 1..N of (-1)^(i+1) C(N,i)/(1 -
/// l^i)`, by a stable equivalent (claim L3).
///
/// It is the mean number of *attempts* until all `N` have received, one more than the number lost;
/// and the leader has `N - 1` receivers: see [`surplus_announcements`].
///
/// # Panics
/// Unless the loss is 0 or more and below 1.
pub fn consecutive_lost_uncorrelated(loss: f64, n: u64) -> f64 {
    1.0 + surplus_announcements(MulticastLoss::Uncorrelated(loss), n)
}

/// The same sum term by term as printed: in doubles correct up to `N` of about 30, noise from about
/// 50 on, because the terms grow like `2^N` and cancel.
///
/// # Panics
/// Unless the loss is 0 or more and below 1.
pub fn alternating_sum(loss: f64, n: u64) -> f64 {
    MulticastLoss::Uncorrelated(loss).check();
    let mut sum = 0.0;
    let mut choose = 1.0;
    for i in 1..=n {
        choose *= (n - i + 1) as f64 / i as f64;
        let sign = if i % 2 == 1 { 1.0 } else { -1.0 };
        sum += sign * choose / (1.0 - loss.powf(i as f64));
    }
    sum
}

/// Leadership delay (section 5.3.1): with uncorrelated loss one `T_A` too long, and for one
/// receiver too many (claim L3); otherwise right. LE-A and LE-S; `None` for others, which section
/// 5.3 does not treat.
///
/// Corrected: [`leadership_delay`](super::delay::leadership_delay).
///
/// # Panics
/// If the model is invalid.
pub fn leadership_delay(algorithm: Variant, model: &AnnounceModel) -> Option<f64> {
    let first = model.first_of_le_a_or_s(algorithm)?;
    Some(
        first + model.delay + model.announce_interval * consecutive_lost(model.loss, model.members),
    )
}

/// Re-establishment after the leader's departure (section 5.3.2): `T_L + 2D + E[t_s] - E[t_d]` for
/// all three loss models of LE-S; wrong for uncorrelated loss (claim L5).
///
/// Corrected: [`leader_departure`](super::reestablishment::leader_departure).
///
/// # Panics
/// If the model is invalid, or the listen interval is not above 0.
pub fn leader_departure(model: &AnnounceModel, listen_interval: f64, departed: f64) -> f64 {
    check_interval("listen", listen_interval);
    let first = model.first_announcement(Variant::LeS);
    listen_interval + 2.0 * model.delay + first - departed
}

/// False departure (section 5.3.2): `T_A (E[# consecutive lost] + 1) - T_L`. An unconditional mean,
/// negative as soon as `T_L` is chosen well (claim L6).
///
/// Corrected: [`false_departure`](super::reestablishment::false_departure).
///
/// # Panics
/// If the model is invalid, or the listen interval is not above 0.
pub fn false_departure(model: &AnnounceModel, listen_interval: f64) -> f64 {
    model.check();
    check_interval("listen", listen_interval);
    model.announce_interval * (consecutive_lost(model.loss, model.members) + 1.0) - listen_interval
}

/// Inconsistent state by false departures (section 5.3.4): `1 - T_L/(T_A (E[# consecutive lost] +
/// 1))`. Negative where the above is (claim L6).
///
/// Corrected: [`inconsistent_fraction`](super::reestablishment::inconsistent_fraction).
///
/// # Panics
/// If the model is invalid, or the listen interval is not above 0.
pub fn inconsistent_fraction(model: &AnnounceModel, listen_interval: f64) -> f64 {
    let reached = model.announce_interval * (consecutive_lost(model.loss, model.members) + 1.0);
    false_departure(model, listen_interval) / reached
}

/// Late joiner better than the leader, LE-S (section 5.3.2): as the leadership delay, `N` being the
/// group *before* it joins, [`AnnounceModel::receivers`]. So here the number of receivers is right,
/// and one `T_A` too much remains for uncorrelated loss (claim L7).
///
/// Corrected: [`greater_joiner`](super::reestablishment::greater_joiner).
///
/// # Panics
/// If the model is invalid.
pub fn greater_joiner(model: &AnnounceModel) -> f64 {
    let first = model.first_announcement(Variant::LeS);
    first + model.delay + model.announce_interval * consecutive_lost(model.loss, model.receivers())
}

/// Late joiner worse than the leader (section 5.3.2), brackets read as ceilings: for uncorrelated
/// loss with the sum for all of the group, although the joiner alone must hear (claim L7). `N` as
/// in [`greater_joiner`].
///
/// Corrected: [`lesser_joiner`](super::reestablishment::lesser_joiner).
///
/// # Panics
/// If the model is invalid.
pub fn lesser_joiner(model: &AnnounceModel) -> f64 {
    model.check();
    model.announce_interval * (0.5 + consecutive_lost(model.loss, model.receivers()))
}

/// First-round messages of LE-S with correlated loss (section 5.3.3.2): `N P(D)/(1-l)` plus the
/// integral from `D` of `p (1 - (1 - (1-l) P(t-D))^N) / P(t-D)`. The `1/(1-l)` belongs to the
/// integral (claim L9).
///
/// `None` for uncorrelated loss. Assumes a long `T_A`, `T_S` or more.
///
/// Corrected: [`first_round_messages`].
///
/// # Panics
/// If the model is invalid.
pub fn first_round_messages_of_le_s(model: &AnnounceModel) -> Option<f64> {
    let heard = match model.loss {
        MulticastLoss::None => 1.0,
        MulticastLoss::Correlated(loss) => 1.0 - loss,
        MulticastLoss::Uncorrelated(_) => return None,
    };
    let without_repeats = AnnounceModel {
        announce_interval: model.announce_interval.max(model.suppress_interval),
        ..*model
    };
    let corrected = first_round_messages(Variant::LeS, &without_repeats)?;
    let awake = model.wake.cdf(model.delay / model.suppress_interval);
    let at_once = model.members as f64 * awake;
    Some(at_once / heard + (corrected - at_once) * heard)
}

/// `Q(., n)` by the recurrence of section 5.3.3.3 (claim L10), entry `i` the probability of `i`
/// messages:
///
/// ```text
/// Q(i, n) = Q(i-1, n-1) g(i-1) + Q(i, n-1) (1 - g(i)),   g(i) = (1 - l^(i+1)) / ((i+1)(1-l))
/// ```
///
/// `g(i)` is the integral of `(l + (1-l)(1 - P(t)))^i`. It treats the wake-up times of the `i`
/// senders as those of any `i`, but senders tend to be early. Correct for `n = 1, 2`; too large
/// from 3 on, with a growing error: the mean grows like `sqrt(2n/(1-l))`, the correct one like `ln
/// n`.
///
/// Entries below 1e-30 count as 0: a million members take about half a second.
///
/// Corrected: [`law_of_messages`](super::recurrence::law_of_messages).
///
/// # Panics
/// Unless `n >= 1` and the loss is 0 or more and below 1.
pub fn law_of_messages(n: u64, loss: f64) -> Vec<f64> {
    assert_group(n, loss);
    let n = n as usize;
    let unheard = chances_unheard(n, loss);
    let mut law = vec![0.0; n + 1];
    law[1] = 1.0;
    let (mut low, mut high) = (1, 1);
    for _ in 1..n {
        high += 1;
        for i in (low..=high).rev() {
            let sent_less = if i > low { law[i - 1] } else { 0.0 };
            law[i] = sent_less * unheard[i - 1] + law[i] * (1.0 - unheard[i]);
        }
        while law[high] < NEGLIGIBLE {
            law[high] = 0.0;
            high -= 1;
        }
        while law[low] < NEGLIGIBLE {
            law[low] = 0.0;
            low += 1;
        }
    }
    law
}

/// The mean of [`law_of_messages`].
///
/// Beyond 20,000 members only mean, variance and third moment are carried on, in constant time for
/// each member: by then `g` is nearly linear over the width of the distribution. Within 1e-6 of the
/// mean of the distribution, as measured at 60,000 members.
///
/// # Panics
/// Unless `n >= 1` and the loss is 0 or more and below 1.
pub fn mean_messages(n: u64, loss: f64) -> f64 {
    let law = law_of_messages(n.min(WHOLE_LAW_UP_TO), loss);
    let mut moments = Moments::of(&law);
    for _ in WHOLE_LAW_UP_TO..n {
        moments.add_one(loss);
    }
    moments.mean
}

/// Up to this size [`mean_messages`] uses the whole distribution.
const WHOLE_LAW_UP_TO: u64 = 20_000;

/// The mean of a number of messages, and the second and third moments about it.
struct Moments {
    mean: f64,
    second: f64,
    third: f64,
}

impl Moments {
    fn of(law: &[f64]) -> Self {
        let about = |centre: f64, power: i32| -> f64 {
            let terms = law.iter().enumerate();
            terms.map(|(i, p)| p * (i as f64 - centre).powi(power)).sum()
        };
        let mean = about(0.0, 1);
        Self { mean, second: about(mean, 2), third: about(mean, 3) }
    }

    /// Adds a member that wakes, and sends with the probability `g` of the number sent before. `g`
    /// is approximated by a parabola.
    fn add_one(&mut self, loss: f64) {
        let Self { mean, second, third } = *self;
        let fourth = 3.0 * second * second;
        // g one below the mean, at it and one above.
        let power = loss.powf(mean);
        let [below, here, above] = [0.0, 1.0, 2.0].map(|more| {
            let missed_all = power * loss.powf(more);
            (1.0 - missed_all) / ((mean + more) * (1.0 - loss))
        });
        let slope = (above - below) / 2.0;
        let bend = f64::midpoint(above, below) - here;
        // The means of g, and of g times the first and second power of the distance from the mean.
        let sends = here + bend * second;
        let with_first = slope * second + bend * third;
        let with_second = here * second + slope * third + bend * fourth;
        self.mean = mean + sends;
        self.second = second + 2.0 * with_first + sends - sends * sends;
        // The third moment of the sum about the old mean, and then about the new one.
        let about_old = third + 3.0 * with_second + 3.0 * with_first + sends;
        let square_about_old = second + 2.0 * with_first + sends;
        self.third = about_old - 3.0 * sends * square_about_old + 2.0 * sends.powi(3);
    }
}

/// `g(i)` of [`law_of_messages`] for `i = 0..=n`.
fn chances_unheard(n: usize, loss: f64) -> Vec<f64> {
    let mut power = 1.0;
    (1..=n + 1)
        .map(|i| {
            power *= loss;
            (1.0 - power) / (i as f64 * (1.0 - loss))
        })
        .collect()
}

/// `E[# consecutive lost]` with `n` for `N`.
fn consecutive_lost(loss: MulticastLoss, n: u64) -> f64 {
    match loss {
        MulticastLoss::None | MulticastLoss::Correlated(_) => surplus_announcements(loss, n),
        MulticastLoss::Uncorrelated(loss) => consecutive_lost_uncorrelated(loss, n),
    }
}

#[cfg(test)]
mod tests {
    use super::{Moments, law_of_messages, mean_messages};

    #[test]
    fn moments_agree_with_the_whole_distribution() {
        for loss in [0.0, 0.4, 0.9, 0.99, 0.999_9, 0.999_999] {
            let whole = Moments::of(&law_of_messages(60_000, loss)).mean;
            let got = mean_messages(60_000, loss);
            assert!((got / whole - 1.0).abs() < 1e-6, "{loss}: {got}, {whole}");
        }
    }
}
