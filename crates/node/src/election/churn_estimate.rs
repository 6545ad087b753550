//! Estimates how often members depart, from what one member observes.
//!
//! Purpose     provides the departure probability from which K of a probabilistic election is
//!             computed
//! Inputs      the number of watched members over time, and each departure among them
//! Outputs     the probability that a member departs within a given time
//! Owns        the departures and the watched time, both decaying with [`HALF_LIFE`]
//! Invariants  no estimate before [`LEAST`] of watched time
//!
//! With a failure detector all members are watched. With partial views only the leader is, because
//! all members learn of its death. A failure detector does not distinguish a crash, an orderly
//! leave and a false suspicion. In a round each of them is missing alike.

use hustings_protocol::{Duration, Instant};

/// The age at which an observation counts half.
const HALF_LIFE: Duration = Duration::from_secs(600);

/// The least watched time, summed over members, for an estimate.
const LEAST: Duration = Duration::from_secs(60);

/// The observed departures and the time of observation.
#[derive(Debug, Default)]
pub(super) struct ChurnEstimate {
    departures: f64,
    /// Watched seconds, summed over members.
    watched: f64,
    /// The time of the last update.
    at: Option<Instant>,
}

impl ChurnEstimate {
    /// Notes that `members` members were watched since the last call.
    pub(super) fn watch(&mut self, now: Instant, members: usize) {
        if let Some(at) = self.at.replace(now) {
            let passed = (now - at).as_secs_f64();
            let left = (-passed / HALF_LIFE.as_secs_f64()).exp2();
            self.departures *= left;
            self.watched = self.watched * left + passed * members as f64;
        }
    }

    /// Notes that a watched member has departed.
    pub(super) fn departed(&mut self) {
        self.departures += 1.0;
    }

    /// Returns the probability that a member departs within `span`; `None` before enough time has
    /// been watched.
    pub(super) fn within(&self, span: Duration) -> Option<f64> {
        let rate = self.departures / self.watched;
        (self.watched >= LEAST.as_secs_f64()).then(|| -(-rate * span.as_secs_f64()).exp_m1())
    }
}

#[cfg(test)]
mod tests {
    use super::{ChurnEstimate, HALF_LIFE, LEAST};
    use hustings_protocol::{Duration, Instant};

    const SECOND: Duration = Duration::from_secs(1);

    /// Ten members of which one departs every ten seconds: each stays for a hundred on average.
    fn seen(seconds: u64) -> ChurnEstimate {
        let mut seen = ChurnEstimate::default();
        for second in 0..=seconds {
            seen.watch(Instant::START + SECOND * second, 10);
            if second % 10 == 9 {
                seen.departed();
            }
        }
        seen
    }

    #[test]
    fn rate_is_departures_per_watched_time() {
        let rate = seen(1_000).within(SECOND).unwrap();
        assert!((rate - 0.01).abs() < 0.001, "{rate}");
        let long = seen(1_000).within(SECOND * 100).unwrap();
        assert!((long - 0.632).abs() < 0.03, "as lives have no memory: {long}");
    }

    #[test]
    fn no_estimate_before_enough_watched_time() {
        let soon = LEAST.as_secs_f64() as u64 / 10;
        assert_eq!(seen(soon - 1).within(SECOND), None);
        assert!(seen(soon + 1).within(SECOND).is_some());
    }

    #[test]
    fn old_observations_decay() {
        let mut seen = seen(1_000);
        let before = seen.within(SECOND).unwrap();
        seen.watch(Instant::START + SECOND * 1_000 + HALF_LIFE * 5, 10);
        let after = seen.within(SECOND).unwrap();
        assert!(after < before / 10.0, "{before}, {after}");
    }
}
