//! The voters, the length of a tenure, and the assumptions about clocks and the network.

use super::drift;
use crate::config::{ConfigError, require, require_at_least, require_some_time};
use crate::{Duration, MemberId};

/// The greatest number of voters: the answers to a question are counted in the bits of one word.
pub const MOST_VOTERS: usize = 63;
/// The longest time that a nominee waits because of a voter's answer. To ask a quarantined voter
/// too early costs little, and a forged duration must not keep a nominee silent for ever.
pub const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// The number of `answer_within` that must fit into a tenure: a renewal, and the two round trips of
/// a greater ballot if it fails.
const ANSWERS_IN_A_TENURE: u64 = 3;

/// All members of a group must have the same voters and drift. `ttl` may differ; so may `max_ttl`,
/// as long as no `ttl` is above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The voters: an odd number of members, fixed for the lifetime of the group.
    pub voters: Vec<MemberId>,
    /// The time for which a nominee requests tenure.
    pub ttl: Duration,
    /// The longest ttl that a voter grants. A restarted voter stays in quarantine for this time.
    pub max_ttl: Duration,
    /// The bound on the rate error of any clock, in parts per million.
    pub drift_ppm: u32,
    /// Time to wait for answers: more than a round trip and a voter's write to disk.
    pub answer_within: Duration,
    /// The longest random wait between attempts. More than a few round trips, so that two colliding
    /// nominees do not collide again.
    pub back_off: Duration,
}

impl Config {
    /// For a network where most answers arrive within `answer_within`, and clocks with an error of
    /// 200 parts per million at most: twice that of the worst oscillators in servers.
    pub fn field(voters: Vec<MemberId>, ttl: Duration, answer_within: Duration) -> Self {
        Self { voters, ttl, max_ttl: ttl, drift_ppm: 200, answer_within, back_off: answer_within }
    }

    /// Checks that this configuration can work.
    ///
    /// # Errors
    /// Names the first option that cannot work.
    pub fn check(&self) -> Result<(), ConfigError> {
        let voters = self.voters.len();
        let is_odd = !voters.is_multiple_of(2) && voters <= MOST_VOTERS;
        require(is_odd, "number of voters", "an odd number from 1 to 63")?;
        let is_twice = |(at, voter)| self.voters[..at].contains(voter);
        let differ = !self.voters.iter().enumerate().any(is_twice);
        require(differ, "list of voters", "members that differ")?;
        drift::check(self.drift_ppm)?;
        require_some_time("answer_within", Some(self.answer_within))?;
        require_some_time("back_off", Some(self.back_off))?;
        let least = drift::stretched(self.answer_within * ANSWERS_IN_A_TENURE, self.drift_ppm);
        require_at_least("ttl", self.ttl, ("3 x answer_within and the drift", least))?;
        require_at_least("max_ttl", self.max_ttl, ("ttl", self.ttl))
    }

    /// The least number of voters that is a majority.
    pub fn majority(&self) -> u32 {
        self.voters.len() as u32 / 2 + 1
    }

    /// The index of a voter in [`Config::voters`].
    pub fn place(&self, id: MemberId) -> Option<usize> {
        self.voters.iter().position(|voter| *voter == id)
    }

    /// The share of a grant for `ttl` that its holder may use, by its own clock: see
    /// [`drift::usable`].
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
    fn an_invalid_option_is_refused_by_name() {
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
        check(|it| it.answer_within = Duration::ZERO, "answer_within is 0s: raise answer_within");
        check(|it| it.back_off = Duration::ZERO, "back_off is 0s: raise back_off");
        check(
            |it| (it.drift_ppm, it.answer_within) = (0, Duration::from_secs(1)),
            "ttl 2s is below 3 x answer_within and the drift 3s: raise ttl",
        );
    }
}
