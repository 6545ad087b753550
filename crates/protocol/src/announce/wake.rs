//! When a member wakes up within the suppression interval.

use rand_core::Rng;

use crate::config::ConfigError;
use crate::{Duration, Merit};

/// How the time is drawn that a member waits before it announces itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wake {
    /// Any time of the interval, equally likely.
    Uniform,
    /// Density proportional to e^(rate t / interval): most wake late, few early.
    Exponential {
        /// How steep. Not zero.
        rate: f64,
    },
    /// Better members wake earlier, so that the best is the first.
    ByMerit(MeritScale),
}

/// How merits are spread over the interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeritScale {
    /// The merit that waits for the whole interval; lower ones do too.
    pub worst: Merit,
    /// The merit that waits least; higher ones do too.
    pub best: Merit,
    /// The part of the interval, 0 to 1, that chance decides: it keeps members of equal merit from
    /// waking together.
    pub chance: f64,
}

impl Wake {
    /// Whether it is a distribution.
    pub(crate) fn check(self) -> Result<(), ConfigError> {
        let (field, range, holds) = match self {
            Self::Uniform => return Ok(()),
            Self::Exponential { rate } => (
                "wake-up rate",
                "-100 to 100, but not 0",
                rate != 0.0 && rate.abs() <= 100.0,
            ),
            Self::ByMerit(scale) => (
                "chance in the wake-up",
                "0 to 1",
                (0.0..=1.0).contains(&scale.chance),
            ),
        };
        match holds {
            true => Ok(()),
            false => Err(ConfigError::OutOfRange { field, range }),
        }
    }

    /// How long a member of `merit` waits, at most `interval`.
    pub fn draw(self, interval: Duration, merit: Merit, rng: &mut impl Rng) -> Duration {
        if interval == Duration::ZERO {
            return Duration::ZERO;
        }
        let share = match self {
            Self::Uniform => unit(rng),
            Self::Exponential { rate } => (unit(rng) * rate.exp_m1()).ln_1p() / rate,
            Self::ByMerit(scale) => scale.share(merit, unit(rng)),
        };
        interval.mul_f64(share.clamp(0.0, 1.0))
    }
}

impl MeritScale {
    /// For merits from 0 to `best`, with a tenth of the interval left to chance.
    pub const fn up_to(best: Merit) -> Self {
        Self {
            worst: Merit(0),
            best,
            chance: 0.1,
        }
    }

    /// The share of the interval that a member of `merit` waits, given its luck from 0 to 1.
    fn share(self, merit: Merit, luck: f64) -> f64 {
        let range = self.best.0.saturating_sub(self.worst.0).max(1);
        let behind = self.best.0.saturating_sub(merit.0).min(range);
        let by_merit = behind as f64 / range as f64;
        by_merit * (1.0 - self.chance) + luck * self.chance
    }
}

/// A number from 0 up to but not including 1.
fn unit(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

#[cfg(test)]
mod tests {
    use super::{MeritScale, Wake};
    use crate::{Duration, Merit};
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    const INTERVAL: Duration = Duration::from_secs(1);

    fn mean(wake: Wake) -> f64 {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let draws = 100_000;
        let draw = |_| wake.draw(INTERVAL, Merit(3), &mut rng).as_secs_f64();
        (0..draws).map(draw).sum::<f64>() / f64::from(draws)
    }

    #[test]
    fn uniform_and_exponential_times_have_their_means() {
        assert!((mean(Wake::Uniform) - 0.5).abs() < 0.005);
        // 1 / (1 - e^-10) - 1/10
        let exponential = mean(Wake::Exponential { rate: 10.0 });
        assert!((exponential - 0.900_045).abs() < 0.002, "{exponential}");
    }

    #[test]
    fn the_better_the_earlier_but_for_what_is_left_to_chance() {
        let scale = MeritScale {
            worst: Merit(10),
            best: Merit(20),
            chance: 0.1,
        };
        assert_eq!(scale.share(Merit(20), 0.0), 0.0);
        assert_eq!(scale.share(Merit(99), 0.0), 0.0);
        assert_eq!(scale.share(Merit(10), 1.0), 1.0);
        assert_eq!(scale.share(Merit(0), 1.0), 1.0);
        assert!(scale.share(Merit(15), 0.999) < scale.share(Merit(13), 0.0));
    }

    #[test]
    fn no_interval_no_wait_and_no_chance_used() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let before = rng.clone();
        let wait = Wake::Uniform.draw(Duration::ZERO, Merit(0), &mut rng);
        assert_eq!((wait, rng), (Duration::ZERO, before));
    }
}
