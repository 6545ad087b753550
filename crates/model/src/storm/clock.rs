//! Clocks: what a member's own shows at a moment of real time, and when it will show something.

use hustings_protocol::Instant;

/// A moment of real time, or a span of it: microseconds since the storm began.
pub(super) type Micros = u64;

/// Rates are in parts of a million.
pub(super) const MILLION: u64 = 1_000_000;

/// A clock whose rate may change. It counts in millionths of a microsecond, so that nothing is ever
/// rounded but what it shows: whole units, which may be coarse.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    since: Micros,
    /// What it had counted by then.
    counted: u64,
    /// How much it counts in a microsecond.
    rate_ppm: u64,
    /// How much makes a unit.
    unit: u64,
}

impl Clock {
    /// A clock that shows units of `unit` microseconds and has counted something already.
    pub(super) fn new(unit: Micros, counted: Micros) -> Self {
        Self {
            since: 0,
            counted: counted * MILLION,
            rate_ppm: MILLION,
            unit: unit * MILLION,
        }
    }

    pub(super) fn shows(&self, now: Micros) -> Instant {
        Instant(self.count(now) / self.unit)
    }

    /// The first moment at which it shows this, or more, as long as its rate does not change; the last
    /// of all moments if no clock ever does.
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
    fn a_clock_shows_something_at_the_moment_at_which_it_will_and_not_before() {
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
    fn what_no_clock_shows_is_never() {
        let clock = Clock::new(1_000, 0);
        assert_eq!(clock.when(Instant(u64::MAX)), u64::MAX);
    }
}
