//! The distribution of the wake-up time (the suppression timer), `p(t)` and `P(t)` of chapters 2
//! and 5.
//!
//! Times are in units of the suppression interval `T_S`, so they run from 0 to 1.

use super::quadrature::integral;
use crate::binomial::complement_to;

/// Below this rate the mean of the exponential distribution is taken from its series.
const SERIES_BELOW: f64 = 1e-2;
/// The greatest rate: beyond it `e^lambda` overflows.
const RATE_LIMIT: f64 = 700.0;

/// The distribution of the wake-up time on `[0, 1]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wake {
    /// Uniform: `P(t) = t`.
    Uniform,
    /// Truncated exponential, density proportional to `e^(rate t)`: most wake late, few early, so
    /// that the first have time to suppress the others (section 5.4.3; claim L18). `P(t) = (e^(rate
    /// t) - 1)/(e^rate - 1)`.
    Exponential {
        /// `lambda`, above 0 and at most 700.
        rate: f64,
    },
}

impl Wake {
    /// `P(t)`: the probability to be awake by `time`; 0 before 0, 1 after 1.
    pub fn cdf(self, time: f64) -> f64 {
        let time = time.clamp(0.0, 1.0);
        match self {
            Self::Uniform => time,
            Self::Exponential { rate } => (rate * time).exp_m1() / rate.exp_m1(),
        }
    }

    /// The time by which a process is awake with probability `chance`: the inverse of
    /// [`cdf`](Self::cdf).
    pub fn quantile(self, chance: f64) -> f64 {
        let chance = chance.clamp(0.0, 1.0);
        match self {
            Self::Uniform => chance,
            Self::Exponential { rate } => (chance * rate.exp_m1()).ln_1p() / rate,
        }
    }

    /// `E[t_s]`: uniform `1/2`; exponential `1/(1 - e^-rate) - 1/rate`.
    pub fn mean(self) -> f64 {
        match self {
            Self::Uniform => 0.5,
            // The two terms would cancel; the series leaves out rate^5/30240, below 1e-14.
            Self::Exponential { rate } if rate < SERIES_BELOW => {
                0.5 + rate / 12.0 - rate.powi(3) / 720.0
            }
            Self::Exponential { rate } => -1.0 / (-rate).exp_m1() - 1.0 / rate,
        }
    }

    /// The mean of the earliest of `members` wake-ups: uniform `1/(n+1)`; exponential the integral
    /// of `(1 - P(t))^n`.
    ///
    /// # Panics
    /// If there are no members.
    pub fn mean_of_earliest(self, members: u64) -> f64 {
        assert!(members >= 1, "the earliest wake-up of 0 members: need one or more");
        let n = members as f64;
        match self {
            Self::Uniform => 1.0 / (n + 1.0),
            Self::Exponential { .. } => {
                integral(&[0.0, 1.0], |time| complement_to(self.cdf(time), n))
            }
        }
    }

    /// The mean of the latest of `members` wake-ups: uniform `n/(n+1)`; exponential 1 minus the
    /// integral of `P(t)^n`.
    ///
    /// # Panics
    /// If there are no members.
    pub fn mean_of_latest(self, members: u64) -> f64 {
        assert!(members >= 1, "the latest wake-up of 0 members: need one or more");
        let n = members as f64;
        match self {
            Self::Uniform => n / (n + 1.0),
            // From the upper end, where the power is concentrated.
            Self::Exponential { .. } => {
                1.0 - integral(&[0.0, 1.0], |left| self.cdf(1.0 - left).powf(n))
            }
        }
    }

    pub(super) fn check(self) {
        match self {
            Self::Uniform => {}
            Self::Exponential { rate } => assert!(
                rate > 0.0 && rate <= RATE_LIMIT,
                "wake-up rate {rate}: need above 0 and at most {RATE_LIMIT}"
            ),
        }
    }
}
