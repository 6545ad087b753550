//! What a member asks of a store, whatever the store is.

use hustings_protocol::Duration;
use hustings_protocol::config::ConfigError;
use hustings_protocol::tenure::drift;

use super::era;

/// What must fit into a tenure, in `answer_within`: it is renewed when a third is over, and two more
/// tries fit in before the end.
const ANSWERS_IN_A_TENURE: u64 = 3;

/// On which terms a member asks a store for tenure of a group. All members of a group must have the
/// same `group`, `drift_ppm` and `era`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreTerms {
    /// Who asks: the name that others are told.
    pub member: String,
    /// For tenure of which group.
    pub group: String,
    /// For how long.
    pub ttl: Duration,
    /// How long it waits for an answer, connecting included.
    pub answer_within: Duration,
    /// By how many parts in a million the rate of any clock may be off real time, the store's too.
    pub drift_ppm: u32,
    /// The high bits of each fence: see [`era`].
    pub era: u16,
}

impl StoreTerms {
    /// Whether they can work.
    ///
    /// # Errors
    /// Names the first that cannot.
    pub fn check(&self) -> Result<(), ConfigError> {
        drift::check(self.drift_ppm)?;
        if self.era > era::LAST {
            return Err(ConfigError::OutOfRange {
                field: "era",
                range: "at most 32767",
            });
        }
        if self.answer_within == Duration::ZERO {
            return Err(ConfigError::Zero {
                field: "answer_within",
            });
        }
        let least = drift::stretched(self.answer_within * ANSWERS_IN_A_TENURE, self.drift_ppm);
        if self.ttl < least {
            return Err(ConfigError::Below {
                field: "ttl",
                value: self.ttl,
                bound: "3 x answer_within and the drift",
                least,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::StoreTerms;
    use hustings_protocol::Duration;

    #[test]
    fn what_cannot_work_is_refused_by_name() {
        let good = StoreTerms {
            member: "m0".to_owned(),
            group: "g".to_owned(),
            ttl: Duration::from_secs(10),
            answer_within: Duration::from_secs(3),
            drift_ppm: 200,
            era: 0,
        };
        assert_eq!(good.check(), Ok(()));
        let check = |change: fn(&mut StoreTerms), error: &str| {
            let mut terms = good.clone();
            change(&mut terms);
            assert_eq!(terms.check().unwrap_err().to_string(), error);
        };
        check(
            |it| it.drift_ppm = 1_000_000,
            "drift is out of range: choose less than 1000000 parts in a million",
        );
        check(
            |it| it.era = 32_768,
            "era is out of range: choose at most 32767",
        );
        check(
            |it| it.answer_within = Duration::ZERO,
            "answer_within is 0s: raise answer_within",
        );
        check(
            |it| (it.drift_ppm, it.ttl) = (0, Duration::from_secs(8)),
            "ttl 8s is below 3 x answer_within and the drift 9s: raise ttl",
        );
    }
}
