//! The parameters with which a member asks for tenure, and their defaults, each with its reason.

use hustings_protocol::Duration;
use hustings_protocol::config::ConfigError;
use hustings_protocol::tenure::drift;

use super::era;

/// The time for which tenure is granted. The holder renews it three times per ttl, with one small
/// datagram to each voter and one back. After a host is lost, the group has no leader for this
/// long.
pub const TTL: Duration = Duration::from_secs(2);

/// The assumed clock drift in parts per million: twice that of the worst oscillators in servers.
pub const DRIFT_PPM: u32 = 200;

/// The fraction of a ttl that a nominee waits for a voter's answer: 1/6. A renewal may fail twice
/// before tenure ends.
pub const ANSWERS_IN_A_TTL: u64 = 6;

/// The fraction of a ttl that bounds the random back-off before a nominee tries again: 1/30. The
/// back-off delays the new leader after a host is lost, and collisions between two nominees are
/// rare.
pub const BACK_OFFS_IN_A_TTL: u64 = 30;
/// The upper bound of the back-off. Two attempts take far less time than this, whatever the ttl.
pub const LONGEST_BACK_OFF: Duration = Duration::from_secs(1);

/// The permitted range of a ttl. A shorter ttl would expire during the ordinary pauses of a busy
/// host. With a longer one the group would have no leader for more than an hour after a host is
/// lost.
pub const TTL_BOUNDS: Bounds = Bounds {
    shortest: Duration::from_millis(100),
    longest: Duration::from_secs(3600),
    in_words: "100ms to 1h",
};

/// The permitted range of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The shortest permitted interval.
    pub shortest: Duration,
    /// The longest permitted interval.
    pub longest: Duration,
    /// The range as text for messages: `1ms to 1h`.
    pub in_words: &'static str,
}

impl Bounds {
    /// Returns `span` if it is within the range.
    ///
    /// # Errors
    /// Returns a message that names the permitted range.
    pub fn check(self, span: Duration) -> Result<Duration, String> {
        let what = match span {
            _ if span < self.shortest => "too short",
            _ if span > self.longest => "too long",
            _ => return Ok(span),
        };
        Err(format!("{what}: choose from {}", self.in_words))
    }
}

/// The number of `answer_within` that must fit into a ttl. A tenure is renewed after a third of it,
/// and two more attempts fit in before its end.
const ANSWERS_IN_A_TENURE: u64 = 3;

/// The parameters with which a member asks a store for tenure of a group. `group`, `drift_ppm` and
/// `era` must be the same on all members of the group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreTerms {
    /// The name of the member that asks. Other members see it.
    pub member: String,
    /// The group whose tenure is asked for.
    pub group: String,
    /// The time for which tenure is granted.
    pub ttl: Duration,
    /// The time to wait for an answer, connecting included.
    pub answer_within: Duration,
    /// The bound in parts per million on the rate error of any clock, the store's included.
    pub drift_ppm: u32,
    /// The high bits of each fence: see [`era`].
    pub era: u16,
}

impl StoreTerms {
    /// Checks that the parameters can work together.
    ///
    /// # Errors
    /// Names the first parameter that cannot work.
    pub fn check(&self) -> Result<(), ConfigError> {
        drift::check(self.drift_ppm)?;
        if self.era > era::LAST {
            return Err(ConfigError::OutOfRange { field: "era", range: "at most 32767" });
        }
        if self.answer_within == Duration::ZERO {
            return Err(ConfigError::Zero { field: "answer_within" });
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
    fn invalid_terms_are_refused_by_field_name() {
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
        check(|it| it.era = 32_768, "era is out of range: choose at most 32767");
        check(|it| it.answer_within = Duration::ZERO, "answer_within is 0s: raise answer_within");
        check(
            |it| (it.drift_ppm, it.ttl) = (0, Duration::from_secs(8)),
            "ttl 8s is below 3 x answer_within and the drift 9s: raise ttl",
        );
    }
}
