//! Clocks: the reading of a member's clock at a moment of real time, and the moment of a given
//! reading.

use hustings_protocol::Instant;

/// A moment of real time, or a duration: microseconds since the storm began.
pub(super) type Micros = u64;

/// Rates are in parts per million.
pub(super) const MILLION: u64 = 1_000_000;

/// A clock whose rate may change. It counts in millionths of a microsecond, so that only its
/// reading is rounded: to whole units, which may be coarse.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    since: Micros,
    /// The count at `since`.
    counted: u64,
    /// The count per microsecond.
    rate_ppm: u64,
    /// The count per unit.
    unit: u64,
}

impl Clock {
    /// A clock that shows units of `unit` microseconds and starts at `counted`.
    pub(super) fn new(unit: Micros, counted: Micros) -> Self {
        Self { since: 0, counted: counted * MILLION, rate_ppm: MILLION, unit: unit * MILLION }
    }

    pub(super) fn shows(&self, now: Micros) -> Instant {
        Instant(self.count(now) / self.unit)
    }

    /// The first moment at which it shows `shown` or more, at its present rate; the last of all
    /// moments if that overflows.
    pub(super) fn when(&self, shown: Instant) -> Micros {
        let Some(count) = shown.0.checked_mul(self.unit) else {
            return Micros::MAX;
        };
        let missing = count.saturating_sub(self.counted);
        self.since.saturating_add(missing.div_ceil(self.rate_ppm))
    }

    pub(super) fn change_rate(&mut self, now: Micros, rate_ppm: u64) {
        self.counted = self.count(now);
        self.since = now;
        self.rate_ppm = rate_ppm;
    }

    fn count(&self, now: Micros) -> u64 {
        self.counted + (now - self.since) * self.rate_ppm
    }
}

#[cfg(test)]
mod tests {
    use super::Clock;
    use hustings_protocol::Instant;

    #[test]
    fn clock_shows_a_reading_first_at_the_computed_moment() {
        let mut clock = Clock::new(7, 3);
        for (at, rate_ppm) in [(0, 900_000), (10_000, 1_100_000), (10_001, 333_333)] {
            clock.change_rate(at, rate_ppm);
            let next = clock.shows(at).0 + 1;
            for shown in (next..next + 50).map(Instant) {
                let when = clock.when(shown);
                assert_eq!(clock.shows(when), shown, "{rate_ppm} at {when}");
                assert!(clock.shows(when - 1) < shown, "{rate_ppm} at {when}");
            }
        }
    }

    #[test]
    fn changes_of_rate_lose_nothing() {
        let (mut steady, mut restless) = (Clock::new(1, 0), Clock::new(1, 0));
        steady.change_rate(0, 999_999);
        for at in 0..3_000_000 {
            restless.change_rate(at, 999_999);
        }
        assert_eq!(restless.shows(3_000_000), steady.shows(3_000_000));
    }

    #[test]
    fn reading_beyond_the_range_is_never_shown() {
        let clock = Clock::new(1_000, 0);
        assert_eq!(clock.when(Instant(u64::MAX)), u64::MAX);
    }
}
