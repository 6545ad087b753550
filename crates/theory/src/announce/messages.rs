//! The cost of an election in messages (section 5.3.3; claims L8, L9, L11, L18).
//!
//! Exact without loss and with correlated loss, for every `N`, delay, interval and wake-up
//! distribution; the chapter has the first round only. The argument, which the chapter gives for
//! the first round, holds for all. If a process is silenced by a better one, then that announcement
//! got through to every process, so it silenced all that the silenced one could have silenced.
//! Hence a process announces at time `u` exactly if every announcement that any better process
//! *would have made* before `u - D` is lost, and better processes are independent. One better
//! process that wakes at `s` and announces every `T_A` would have made `floor((u-D-s)/T_A) + 1`
//! announcements by then, so it has stayed unheard with probability
//!
//! ```text
//! G(u) = 1 - (1-l) sum over m >= 0 of l^m P(u - D - m T_A)
//! ```
//!
//! and `q_k`, with `k` better ones, makes its announcement number `j` with probability `G(t_k + j
//! T_A)^k`.
//!
//! Integrals are taken over the probability `v = P(t)` to be awake, in which `P(t - D)` is linear
//! for both wake-up distributions. The quadrature errs by less than 1e-11 of the value for a
//! million members.

use super::quadrature::integral;
use super::repeats_until_heard::rounds;
use super::{AnnounceModel, MulticastLoss, Variant, in_step, recurrence};
use crate::binomial::{any_of, complement_to};

/// A sum over announcements ends when the remainder is below this part of it.
const NEGLIGIBLE: f64 = 1e-14;

/// Messages of the first round, `E[number messages in T_S]` (claims L8, L9): the number of
/// processes that announce at all, at their wake-up.
///
/// Without loss and with correlated loss:
/// - LE-A, AL: `N`.
/// - LE-S: the integral of `p(t) (1 - G(t)^N) / (1 - G(t))`. If `T_A >= T_S - D`: `N P(D) +
///   integral from D of p (1 - (1 - (1-l) P(t-D))^N) / ((1-l) P(t-D))`.
/// - LE-M: `N` times the integral of `p(t) G(t)^(N-1)`. If `T_A >= T_S - D`, as SUP.
/// - SUP: `N P(D) + N` times the integral from `D` of `p (1 - (1-l) P(t-D))^(N-1)`.
///
/// Uniform wake-up, times in units of `T_S`, `x = (1-l)(1-D)`: SUP `N D + (1 - (1-x)^N)/(1-l)`, and
/// LE-S `N D + sum over k = 1..N of (1 - (1-x)^k)/k / (1-l)`, or the harmonic number `H_N` without
/// loss and delay.
///
/// Uncorrelated loss: only with `D = 0` and `T_A >= T_S`, by [`recurrence`], or with two members,
/// as correlated loss. Otherwise `None`; also where the recurrence is unreliable
/// ([`recurrence::has_mean`]) or too long.
///
/// # Panics
/// If the model is invalid.
pub fn first_round_messages(algorithm: Variant, model: &AnnounceModel) -> Option<f64> {
    model.check();
    let (members, loss) = (model.members, model.loss.probability());
    let repeats = model.announce_interval < model.suppress_interval;
    match (algorithm, model.shared_loss()) {
        (Variant::LeA | Variant::Al, _) => Some(members as f64),
        (Variant::LeS, Some(loss)) => {
            Some(Timing::of(model, loss).announcements_of_le_s(0, Counted::Everybody))
        }
        (Variant::LeM, Some(loss)) => Some(Timing::of(model, loss).first_round_of_le_m()),
        (Variant::Sup, Some(loss)) => {
            Some(Timing::of(model, loss).without_repeats().first_round_of_le_m())
        }
        (_, None) if model.delay > 0.0 || (repeats && algorithm != Variant::Sup) => None,
        (Variant::LeS, None) => {
            recurrence::has_mean(members, loss).then(|| recurrence::mean_messages(members, loss))
        }
        (Variant::LeM | Variant::Sup, None) => recurrence::suppression_is_short(members, loss)
            .then(|| recurrence::mean_messages_of_suppression(members, loss)),
    }
}

/// `num_msgs` of table 5.1: messages sent until every process has heard the leader, including those
/// in flight at that moment.
///
/// Without loss and with correlated loss:
/// - LE-S: `1/(1-l)` of the leader, and of the others the sum over `j >= 0` and `k = 1..N-1` of the
///   integral of `p(t) G(t + j T_A)^k`.
/// - LE-M: `1/(1-l)`, and the sum over `j` of `N` times the integral of `p (B_j^(N-1) -
///   (1-P)^(N-1))`.
/// - LE-A: `1/(1-l) + sum over k = 1..N-1 of 1/(1 - l^k)`.
/// - AL: `N` for each round.
/// - SUP: only its first round.
///
/// and `floor(D/T_A)` more of each process that announces meanwhile. `B_j` is the probability that
/// one other process wakes later than `t`, or earlier and stays unheard until `t + j T_A`. LE-S
/// with two members, `D = 0` and `T_A >= T_S`: `2/(1-l) - 1/2` (claim L11), for any wake-up
/// distribution.
///
/// Uncorrelated loss: AL; LE-A if `D < T_A`; two members, as with correlated loss. Otherwise
/// `None`; also for LE-S and LE-M if `T_A` is less than a twentieth of `T_S` or the loss is above
/// 0.99.
///
/// # Panics
/// If the model is invalid.
pub fn messages_until_heard(algorithm: Variant, model: &AnnounceModel) -> Option<f64> {
    model.check();
    let under_way = (model.delay / model.announce_interval).floor();
    match algorithm {
        Variant::Al => Some(model.members as f64 * (rounds(model) + under_way)),
        Variant::LeA => messages_of_le_a(model, under_way),
        Variant::LeS | Variant::LeM => {
            let timing = Timing::of(model, model.shared_loss()?).with_repeats()?;
            let others = falling_sum(timing.loss, |j| match algorithm {
                Variant::LeM => timing.announcements_of_others_of_le_m(j),
                _ => timing.announcements_of_le_s(j, Counted::OthersUntilHeard),
            });
            Some(rounds(model) + under_way + others)
        }
        Variant::Sup => first_round_messages(algorithm, model),
    }
}

/// As [`messages_until_heard`] for LE-S, counted only until the leader *sends* the announcement
/// that all hear: for the leader the delay in `G` is 0.
///
/// `None` for uncorrelated loss among three or more, and if `T_A` is less than a twentieth of `T_S`
/// or the loss is above 0.99.
///
/// # Panics
/// If the model is invalid.
pub fn messages_of_le_s_until_sent(model: &AnnounceModel) -> Option<f64> {
    model.check();
    let timing = Timing::of(model, model.shared_loss()?).with_repeats()?;
    let others =
        falling_sum(timing.loss, |j| timing.announcements_of_le_s(j, Counted::OthersUntilSent));
    Some(rounds(model) + others)
}

/// LE-A: all processes announce in step.
///
/// Correlated: `q_k` is in round `c` if each of the `k` better ones was lost `c` times, `l^(kc)`.
///
/// Uncorrelated: of `a` announcers the one in place `p` continues if it misses all `p` before it,
/// `l^p` counting from 0. So the number of announcers alone is a Markov chain, and the messages of
/// all but the leader are `w(a) = a - 1 + E[w(next)]`, `w(1) = 0`: see [`in_step`].
fn messages_of_le_a(model: &AnnounceModel, under_way: f64) -> Option<f64> {
    let others = model.receivers() as f64;
    match model.loss {
        MulticastLoss::None => Some(model.members as f64 * (1.0 + under_way)),
        MulticastLoss::Correlated(loss) => {
            // The minimum that the others send, and the addition by loss.
            let at_least = others * (1.0 + under_way);
            let (mut silenced, mut more) = (loss, 0.0);
            for _ in 1..model.members {
                if silenced < f64::EPSILON * NEGLIGIBLE {
                    break;
                }
                more += silenced / (1.0 - silenced);
                silenced *= loss;
            }
            Some(rounds(model) + under_way + at_least + more)
        }
        MulticastLoss::Uncorrelated(_) if under_way > 0.0 => None,
        MulticastLoss::Uncorrelated(loss) => {
            Some(rounds(model) + in_step::messages_of_others(model.receivers(), loss))
        }
    }
}

/// The sum of terms that fall at least as fast as the powers of `loss`, from some point on.
fn falling_sum(loss: f64, term: impl Fn(u32) -> f64) -> f64 {
    let mut sum = 0.0;
    for j in 0.. {
        let next = term(j);
        sum += next;
        if next <= NEGLIGIBLE * (1.0 - loss) * sum {
            break;
        }
    }
    sum
}

/// The announcements that are counted.
#[derive(Clone, Copy)]
enum Counted {
    /// All announcements, including the leader's.
    Everybody,
    /// Announcements of all but the leader, until they hear it.
    OthersUntilHeard,
    /// Announcements of all but the leader, until it sends the one that they will hear.
    OthersUntilSent,
}

/// The shortest `T_A`, in units of `T_S`, for which messages are summed.
const FINEST_ANNOUNCE_INTERVAL: f64 = 0.05;
/// The greatest loss for which messages are summed: beyond it the sum over announcements is too
/// long.
const GREATEST_LOSS: f64 = 0.99;

/// The model in units of `T_S`, without loss or with correlated loss.
struct Timing {
    members: f64,
    announce_interval: f64,
    delay: f64,
    loss: f64,
    wake: super::Wake,
}

impl Timing {
    fn of(model: &AnnounceModel, loss: f64) -> Self {
        Self {
            members: model.members as f64,
            announce_interval: model.announce_interval / model.suppress_interval,
            delay: model.delay / model.suppress_interval,
            loss,
            wake: model.wake,
        }
    }

    /// `None` if announcements are so frequent that the integrand has too many kinks, or if the
    /// loss is so great that the sum is too long.
    fn with_repeats(self) -> Option<Self> {
        let is_feasible =
            self.announce_interval >= FINEST_ANNOUNCE_INTERVAL && self.loss <= GREATEST_LOSS;
        is_feasible.then_some(self)
    }

    fn without_repeats(self) -> Self {
        Self { announce_interval: f64::INFINITY, ..self }
    }

    /// Mean number of processes that make their announcement number `j` of LE-S.
    fn announcements_of_le_s(&self, j: u32, counted: Counted) -> f64 {
        let others = self.members - 1.0;
        self.integral_over_wake_ups(|time| {
            let now = self.announcement(time, j);
            let heard = self.heard(now - self.delay);
            match counted {
                Counted::Everybody => powers_below(heard, self.members),
                Counted::OthersUntilHeard => (1.0 - heard) * powers_below(heard, others),
                Counted::OthersUntilSent => (1.0 - self.heard(now)) * powers_below(heard, others),
            }
        })
    }

    /// Mean number of processes that announce at their wake-up in LE-M, in which all processes
    /// already awake are better.
    fn first_round_of_le_m(&self) -> f64 {
        let others = self.members - 1.0;
        let unheard = |time: f64| complement_to(self.heard(time - self.delay), others);
        self.members * self.integral_over_wake_ups(unheard)
    }

    /// Mean number of processes other than the leader that make their announcement number `j` of
    /// LE-M.
    fn announcements_of_others_of_le_m(&self, j: u32) -> f64 {
        let others = self.members - 1.0;
        let follows_unheard = |time: f64| {
            let leads = complement_to(self.wake.cdf(time), others);
            complement_to(self.heard_of_earlier(time, j), others) - leads
        };
        self.members * self.integral_over_wake_ups(follows_unheard)
    }

    fn announcement(&self, wake_up: f64, j: u32) -> f64 {
        // Avoids 0 times infinity.
        if j == 0 { wake_up } else { wake_up + f64::from(j) * self.announce_interval }
    }

    /// `1 - G`: the probability that a process has got through an announcement that it made up to
    /// `now`.
    fn heard(&self, now: f64) -> f64 {
        self.heard_if_awake_by(f64::INFINITY, now)
    }

    /// `1 - B_j`: the probability that another process woke before `wake_up`, and got an
    /// announcement through in time to silence announcement number `j` of the process that wakes at
    /// `wake_up`.
    fn heard_of_earlier(&self, wake_up: f64, j: u32) -> f64 {
        self.heard_if_awake_by(wake_up, self.announcement(wake_up, j) - self.delay)
    }

    /// `(1-l) sum over m of l^m P(min(latest, now - m T_A))`. While the minimum does not depend on
    /// `m`, or all processes are awake, the terms are a geometric series.
    fn heard_if_awake_by(&self, latest: f64, now: f64) -> f64 {
        let settled = latest.min(1.0);
        let mut at = now;
        let mut weight = 1.0;
        let mut heard = 0.0;
        if at >= settled {
            let full = ((at - settled) / self.announce_interval).floor() + 1.0;
            weight = self.loss.powf(full);
            heard = (1.0 - weight) * self.wake.cdf(settled);
            at -= full * self.announce_interval;
        }
        while at > 0.0 && weight > 0.0 {
            heard += (1.0 - self.loss) * weight * self.wake.cdf(at);
            weight *= self.loss;
            at -= self.announce_interval;
        }
        heard
    }

    /// The integral of `p(t) f(t)`, over the probability to be awake, split at the times at which
    /// an announcement of a process that wakes at 0 or at 1 would arrive.
    fn integral_over_wake_ups(&self, f: impl Fn(f64) -> f64) -> f64 {
        let first = ((-1.0 - self.delay) / self.announce_interval).ceil();
        let last = ((1.0 - self.delay) / self.announce_interval).floor();
        let mut ends = vec![0.0, 1.0];
        let mut step = first;
        while step <= last {
            let shift = if step == 0.0 { 0.0 } else { step * self.announce_interval };
            for at in [shift, shift + 1.0] {
                ends.extend([at, at + self.delay]);
            }
            step += 1.0;
        }
        ends.retain(|end| (0.0..=1.0).contains(end));
        ends.sort_by(f64::total_cmp);
        let ends: Vec<f64> = ends.into_iter().map(|end| self.wake.cdf(end)).collect();
        integral(&ends, |chance| f(self.wake.quantile(chance)))
    }
}

/// `sum over k = 0..n-1 of (1 - heard)^k`.
fn powers_below(heard: f64, n: f64) -> f64 {
    if heard == 0.0 { n } else { any_of(heard, n) / heard }
}
