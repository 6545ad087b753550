//! How often members go, as far as one member can tell: so many departures in so much time of so many that it watched.
//!
//! Where a failure detector looks after all it is of all; of a group that nobody knows whole, of its leaders, whose deaths all
//! hear of. A failure detector does not tell whether somebody crashed, left in good order or was only taken for dead: in a
//! round each is as much missed.

use hustings_protocol::{Duration, Instant};

/// What was seen so long ago counts half.
const HALF_LIFE: Duration = Duration::from_secs(600);

/// With less than this, of one member or of several together, there is no telling.
const LEAST: Duration = Duration::from_secs(60);

/// What has been seen of members' lives.
#[derive(Debug, Default)]
pub(super) struct Mortality {
    departures: f64,
    /// Seconds of lives.
    watched: f64,
    /// When it was brought up to date.
    at: Option<Instant>,
}

impl Mortality {
    /// Since the last time, so many members were watched.
    pub(super) fn watch(&mut self, now: Instant, members: usize) {
        if let Some(at) = self.at.replace(now) {
            let passed = (now - at).as_secs_f64();
            let left = (-passed / HALF_LIFE.as_secs_f64()).exp2();
            self.departures *= left;
            self.watched = self.watched * left + passed * members as f64;
        }
    }

    /// One that was watched is gone.
    pub(super) fn departed(&mut self) {
        self.departures += 1.0;
    }

    /// How likely a member goes within `span`; none before enough lives have been watched.
    pub(super) fn within(&self, span: Duration) -> Option<f64> {
        let rate = self.departures / self.watched;
        (self.watched >= LEAST.as_secs_f64()).then(|| -(-rate * span.as_secs_f64()).exp_m1())
    }
}

#[cfg(test)]
mod tests {
    use super::{HALF_LIFE, LEAST, Mortality};
    use hustings_protocol::{Duration, Instant};

    const SECOND: Duration = Duration::from_secs(1);

    /// Of ten members one goes every ten seconds: each lives a hundred.
    fn seen(seconds: u64) -> Mortality {
        let mut seen = Mortality::default();
        for second in 0..=seconds {
            seen.watch(Instant::START + SECOND * second, 10);
            if second % 10 == 9 {
                seen.departed();
            }
        }
        seen
    }

    #[test]
    fn it_is_how_many_went_of_those_that_were_watched() {
        let rate = seen(1_000).within(SECOND).unwrap();
        assert!((rate - 0.01).abs() < 0.001, "{rate}");
        let long = seen(1_000).within(SECOND * 100).unwrap();
        assert!(
            (long - 0.632).abs() < 0.03,
            "as lives have no memory: {long}"
        );
    }

    #[test]
    fn there_is_no_telling_before_enough_was_seen() {
        let soon = LEAST.as_secs_f64() as u64 / 10;
        assert_eq!(seen(soon - 1).within(SECOND), None);
        assert!(seen(soon + 1).within(SECOND).is_some());
    }

    #[test]
    fn what_is_long_past_counts_little() {
        let mut seen = seen(1_000);
        let before = seen.within(SECOND).unwrap();
        seen.watch(Instant::START + SECOND * 1_000 + HALF_LIFE * 5, 10);
        let after = seen.within(SECOND).unwrap();
        assert!(after < before / 10.0, "{before}, {after}");
    }
}
