//! Who votes, for how long tenure lasts, and what is assumed of clocks and the network.

use super::drift;
use crate::config::{ConfigError, require_some_time};
use crate::{Duration, MemberId};

/// The most voters: each question's answers are counted in the bits of one word.
pub const MOST_VOTERS: usize = 63;
/// The longest that a nominee waits because a voter tells it to. To ask a voter that has to be silent for longer costs
/// little; and a span that somebody made up must not keep a nominee silent for ever.
pub const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// What must fit into a tenure, in `answer_within`: a renewal, and the two round trips of a greater
/// ballot if it fails.
const ANSWERS_IN_A_TENURE: u64 = 3;

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
        drift::check(self.drift_ppm)?;
        require_some_time("answer_within", Some(self.answer_within))?;
        require_some_time("back_off", Some(self.back_off))?;
        let least = drift::stretched(self.answer_within * ANSWERS_IN_A_TENURE, self.drift_ppm);
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

    /// How much of a grant for `ttl` its holder may use, by its own clock: see [`drift::usable`].
    pub fn usable(&self, ttl: Duration) -> Duration {
        drift::usable(ttl, self.drift_ppm)
    }
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
}
