//! Who votes, for how long tenure lasts, and what is assumed of clocks and the network.

use crate::config::{ConfigError, require_some_time};
use crate::{Duration, MemberId};

/// The most voters: each question's answers are counted in the bits of one word.
const MOST_VOTERS: usize = 63;
/// What must fit into a tenure, in `answer_within`: a renewal, and the two round trips of a greater
/// ballot if it fails.
const ANSWERS_IN_A_TENURE: u64 = 3;
const MILLION: u128 = 1_000_000;

/// All members of a group must have the same voters and drift. `ttl` may differ; so may `max_ttl`,
/// as long as no `ttl` is above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Who votes: an odd number of members, fixed for the life of the group.
    pub voters: Vec<MemberId>,
    /// For how long a nominee asks for tenure.
    pub ttl: Duration,
    /// The most that a voter grants. A voter that restarts keeps silent for so long.
    pub max_ttl: Duration,
    /// By how many parts in a million the rate of any clock may be off real time.
    pub drift_ppm: u32,
    /// How long a nominee waits for answers: more than a round trip and a voter's write to disk.
    pub answer_within: Duration,
    /// The most that a nominee waits, at random, between attempts. More than a few round trips: two that
    /// collide must not collide again.
    pub back_off: Duration,
}

impl Config {
    /// For a network where most answers come within `answer_within`, and clocks that are off by 200
    /// parts in a million at most: twice what the worst oscillators of servers are.
    pub fn field(voters: Vec<MemberId>, ttl: Duration, answer_within: Duration) -> Self {
        Self {
            voters,
            ttl,
            max_ttl: ttl,
            drift_ppm: 200,
            answer_within,
            back_off: answer_within,
        }
    }

    /// Whether it can work.
    ///
    /// # Errors
    /// Names the first option that cannot.
    pub fn check(&self) -> Result<(), ConfigError> {
        let voters = self.voters.len();
        if voters.is_multiple_of(2) || voters > MOST_VOTERS {
            return Err(ConfigError::OutOfRange {
                field: "number of voters",
                range: "an odd number from 1 to 63",
            });
        }
        let is_twice = |(at, voter)| self.voters[..at].contains(voter);
        if self.voters.iter().enumerate().any(is_twice) {
            return Err(ConfigError::OutOfRange {
                field: "list of voters",
                range: "members that differ",
            });
        }
        if u128::from(self.drift_ppm) >= MILLION {
            return Err(ConfigError::OutOfRange {
                field: "drift",
                range: "less than 1000000 parts in a million",
            });
        }
        require_some_time("answer_within", Some(self.answer_within))?;
        require_some_time("back_off", Some(self.back_off))?;
        let least = self.stretched(self.answer_within * ANSWERS_IN_A_TENURE);
        if self.ttl < least {
            return Err(ConfigError::Below {
                field: "ttl",
                value: self.ttl,
                bound: "3 x answer_within and the drift",
                least,
            });
        }
        if self.max_ttl < self.ttl {
            return Err(ConfigError::Below {
                field: "max_ttl",
                value: self.max_ttl,
                bound: "ttl",
                least: self.ttl,
            });
        }
        Ok(())
    }

    /// How many voters are more than half of them.
    pub fn majority(&self) -> u32 {
        self.voters.len() as u32 / 2 + 1
    }

    /// The place of a voter among the voters.
    pub fn place(&self, id: MemberId) -> Option<usize> {
        self.voters.iter().position(|voter| *voter == id)
    }

    /// How much of a grant for `ttl` its holder may use, by its own clock: ttl (1 - e)/(1 + e), so that a
    /// slow holder's clock ends it before a fast voter's does. Rounded down.
    pub fn usable(&self, ttl: Duration) -> Duration {
        Duration(scale(ttl, self.slowest(), self.fastest()))
    }

    /// The least ttl of which `span` is usable.
    fn stretched(&self, span: Duration) -> Duration {
        let down = Duration(scale(span, self.fastest(), self.slowest()));
        match self.usable(down) < span {
            true => down + Duration(1),
            false => down,
        }
    }

    fn slowest(&self) -> u128 {
        MILLION.saturating_sub(u128::from(self.drift_ppm))
    }

    fn fastest(&self) -> u128 {
        MILLION + u128::from(self.drift_ppm)
    }
}

/// `span` times `by`/`of`, rounded down; what no clock can show is as long as one can.
fn scale(span: Duration, by: u128, of: u128) -> u64 {
    let scaled = (u128::from(span.0) * by).checked_div(of);
    scaled.map_or(u64::MAX, |nanos| u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::Config;
    use crate::{Duration, MemberId};

    fn voters(ids: &[u64]) -> Vec<MemberId> {
        ids.iter().copied().map(MemberId).collect()
    }

    fn good() -> Config {
        let (ttl, answer) = (Duration::from_secs(2), Duration::from_millis(100));
        Config::field(voters(&[1, 2, 3]), ttl, answer)
    }

    #[test]
    fn what_cannot_work_is_refused_by_name() {
        let check = |change: fn(&mut Config), error: &str| {
            let mut config = good();
            change(&mut config);
            assert_eq!(config.check().unwrap_err().to_string(), error);
        };
        assert_eq!(good().check(), Ok(()));
        let odd = "number of voters is out of range: choose an odd number from 1 to 63";
        check(|it| it.voters = voters(&[]), odd);
        check(|it| it.voters = voters(&[1, 2]), odd);
        check(|it| it.voters = (0..65).map(MemberId).collect(), odd);
        check(
            |it| it.voters = voters(&[1, 2, 1]),
            "list of voters is out of range: choose members that differ",
        );
        check(
            |it| it.drift_ppm = 1_000_000,
            "drift is out of range: choose less than 1000000 parts in a million",
        );
        check(
            |it| it.max_ttl = Duration::from_secs(1),
            "max_ttl 1s is below ttl 2s: raise max_ttl",
        );
        check(
            |it| it.answer_within = Duration::ZERO,
            "answer_within is 0s: raise answer_within",
        );
        check(
            |it| it.back_off = Duration::ZERO,
            "back_off is 0s: raise back_off",
        );
        check(
            |it| (it.drift_ppm, it.answer_within) = (0, Duration::from_secs(1)),
            "ttl 2s is below 3 x answer_within and the drift 3s: raise ttl",
        );
    }

    #[test]
    fn the_holder_uses_less_than_the_voter_grants_and_rounds_down() {
        let usable = |drift_ppm, ttl| {
            let config = Config {
                drift_ppm,
                ..good()
            };
            config.usable(Duration(ttl)).0
        };
        assert_eq!(usable(0, 7), 7);
        assert_eq!(usable(200_000, 3), 2);
        assert_eq!(usable(200_000, 4), 2);
        assert_eq!(usable(200, 2_000_000_000), 1_999_200_159);
        assert_eq!(usable(200, u64::MAX), 18_439_366_851_524_504_803);
    }

    #[test]
    fn the_least_ttl_leaves_room_for_three_answers_and_a_shorter_one_does_not() {
        for drift_ppm in [0, 1, 200, 333_333, 999_999] {
            let config = Config {
                drift_ppm,
                ..good()
            };
            let span = config.answer_within * 3;
            let least = config.stretched(span);
            assert!(config.usable(least) >= span, "{drift_ppm}");
            assert!(config.usable(Duration(least.0 - 1)) < span, "{drift_ppm}");
        }
    }
}
