//! The wake-up of a member within the suppression interval.

use rand_core::Rng;

use crate::config::{ConfigError, require};
use crate::mix64::unit;
use crate::{Duration, Priority};

/// The distribution of the time that a member waits before it announces itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wake {
    /// Uniform over the interval.
    Uniform,
    /// Density proportional to e^(rate t / interval): most members wake late, few early.
    Exponential {
        /// The steepness. Not zero.
        rate: f64,
    },
    /// Better members wake earlier, so that the best is the first.
    ByPriority(PriorityScale),
}

/// The mapping of priorities to the interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PriorityScale {
    /// The priority that waits for the whole interval; lower ones do too.
    pub worst: Priority,
    /// The priority that waits least; higher ones do too.
    pub best: Priority,
    /// The random share of the interval, 0 to 1. It keeps members of equal priority from waking
    /// together.
    pub chance: f64,
}

impl Wake {
    /// Checks that the parameters give a distribution.
    pub(crate) fn check(self) -> Result<(), ConfigError> {
        let (field, range, holds) = match self {
            Self::Uniform => return Ok(()),
            Self::Exponential { rate } => {
                ("wake-up rate", "-100 to 100, but not 0", rate != 0.0 && rate.abs() <= 100.0)
            }
            Self::ByPriority(scale) => {
                ("chance in the wake-up", "0 to 1", (0.0..=1.0).contains(&scale.chance))
            }
        };
        require(holds, field, range)
    }

    /// Draws the waiting time of a member with priority `priority`, at most `interval`.
    pub fn draw(self, interval: Duration, priority: Priority, rng: &mut impl Rng) -> Duration {
        if interval == Duration::ZERO {
            return Duration::ZERO;
        }
        let share = match self {
            Self::Uniform => unit(rng.next_u64()),
            Self::Exponential { rate } => (unit(rng.next_u64()) * rate.exp_m1()).ln_1p() / rate,
            Self::ByPriority(scale) => scale.share(priority, unit(rng.next_u64())),
        };
        interval.mul_f64(share.clamp(0.0, 1.0))
    }
}

impl PriorityScale {
    /// For priorities from 0 to `best`, with a random tenth of the interval.
    pub const fn up_to(best: Priority) -> Self {
        Self { worst: Priority(0), best, chance: 0.1 }
    }

    /// The share of the interval that a member with priority `priority` waits, given a random `luck`
    /// from 0 to 1.
    fn share(self, priority: Priority, luck: f64) -> f64 {
        let range = self.best.0.saturating_sub(self.worst.0).max(1);
        let behind = self.best.0.saturating_sub(priority.0).min(range);
        let by_priority = behind as f64 / range as f64;
        by_priority * (1.0 - self.chance) + luck * self.chance
    }
}

#[cfg(test)]
mod tests {
    use super::{PriorityScale, Wake};
    use crate::{Duration, Priority};
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    const INTERVAL: Duration = Duration::from_secs(1);

    fn mean(wake: Wake) -> f64 {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let draws = 100_000;
        let draw = |_| wake.draw(INTERVAL, Priority(3), &mut rng).as_secs_f64();
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
    fn better_members_wake_earlier_up_to_the_random_share() {
        let scale = PriorityScale { worst: Priority(10), best: Priority(20), chance: 0.1 };
        assert_eq!(scale.share(Priority(20), 0.0), 0.0);
        assert_eq!(scale.share(Priority(99), 0.0), 0.0);
        assert_eq!(scale.share(Priority(10), 1.0), 1.0);
        assert_eq!(scale.share(Priority(0), 1.0), 1.0);
        assert!(scale.share(Priority(15), 0.999) < scale.share(Priority(13), 0.0));
    }

    #[test]
    fn an_empty_interval_gives_no_wait_and_draws_nothing() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let before = rng.clone();
        let wait = Wake::Uniform.draw(Duration::ZERO, Priority(0), &mut rng);
        assert_eq!((wait, rng), (Duration::ZERO, before));
    }
}
