//! The length of a round: as configured, and longer if replies arrive late.
//!
//! A late reply is lost to its round, and the next round would lose it as well. So as soon as a
//! reply is late, rounds last as long as it took and a quarter more. The rounds of the next
//! election last as long as the slowest reply of this one and a quarter more.

use crate::Duration;

/// The greatest length of a round, in configured rounds: the centre does not wait for a host that
/// was asleep.
const LONGEST: u64 = 16;

/// The length of rounds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RoundTimeout {
    /// The length beyond the configured one; else zero.
    wait: Duration,
    /// The slowest reply since the last election.
    slowest: Duration,
}

impl RoundTimeout {
    /// The length of a round that is configured as `round`.
    pub(super) fn of(&self, round: Duration) -> Duration {
        self.wait.max(round)
    }

    /// Notes a reply that took `took`. Returns true if rounds are longer now.
    pub(super) fn note(&mut self, took: Duration, round: Duration) -> bool {
        self.slowest = self.slowest.max(took);
        let is_late = took > self.of(round);
        let wait = with_margin(took, round);
        let lasts_longer = is_late && wait > self.of(round);
        if lasts_longer {
            self.wait = wait;
        }
        lasts_longer
    }

    /// Notes the end of an election.
    pub(super) fn end(&mut self, round: Duration) {
        self.wait = with_margin(std::mem::take(&mut self.slowest), round);
    }
}

fn with_margin(took: Duration, round: Duration) -> Duration {
    (took + Duration(took.0 / 4)).min(round * LONGEST)
}

#[cfg(test)]
mod tests {
    use super::RoundTimeout;
    use crate::Duration;

    #[test]
    fn rounds_grow_with_slow_replies_up_to_a_limit() {
        const ROUND: Duration = Duration(100);
        let mut round_timeout = RoundTimeout::default();
        assert!(!round_timeout.note(Duration(99), ROUND));
        assert_eq!(round_timeout.of(ROUND), ROUND);
        assert!(round_timeout.note(Duration(200), ROUND));
        assert_eq!(round_timeout.of(ROUND), Duration(250));
        assert!(!round_timeout.note(Duration(240), ROUND), "that is in time now");
        round_timeout.end(ROUND);
        assert_eq!(round_timeout.of(ROUND), Duration(300));
        assert!(!round_timeout.note(Duration(40), ROUND));
        round_timeout.end(ROUND);
        assert_eq!(round_timeout.of(ROUND), ROUND, "the network is fast again");
        assert!(round_timeout.note(Duration(1_000_000), ROUND));
        assert_eq!(round_timeout.of(ROUND), Duration(1_600));
    }
}
