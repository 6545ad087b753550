//! How long the centre waits for the replies of a round: as it was told, and longer where they come late.
//!
//! A reply that comes late is lost to its round, and the next would be as deaf. So as soon as one does, rounds last as long as it
//! took and a quarter more; and those of the next election, as long as the slowest reply to this one took and a quarter more.

use crate::Duration;

/// Rounds last no longer than so many of those that the centre was told to have: one host that was asleep is not waited for.
const LONGEST: u64 = 16;

/// How long rounds last.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pace {
    /// Longer than was told; else nothing.
    wait: Duration,
    /// The slowest reply since the last election.
    slowest: Duration,
}

impl Pace {
    /// How long a round lasts that is to last for `round`.
    pub(super) fn of(&self, round: Duration) -> Duration {
        self.wait.max(round)
    }

    /// A reply took so long. Whether rounds last longer now.
    pub(super) fn note(&mut self, took: Duration, round: Duration) -> bool {
        self.slowest = self.slowest.max(took);
        let is_late = took > self.of(round);
        let wait = with_room(took, round);
        let lasts_longer = is_late && wait > self.of(round);
        if lasts_longer {
            self.wait = wait;
        }
        lasts_longer
    }

    /// An election is over.
    pub(super) fn end(&mut self, round: Duration) {
        self.wait = with_room(std::mem::take(&mut self.slowest), round);
    }
}

fn with_room(took: Duration, round: Duration) -> Duration {
    (took + Duration(took.0 / 4)).min(round * LONGEST)
}

#[cfg(test)]
mod tests {
    use super::Pace;
    use crate::Duration;

    #[test]
    fn rounds_are_as_long_as_replies_take_but_not_for_ever() {
        const ROUND: Duration = Duration(100);
        let mut pace = Pace::default();
        assert!(!pace.note(Duration(99), ROUND));
        assert_eq!(pace.of(ROUND), ROUND);
        assert!(pace.note(Duration(200), ROUND));
        assert_eq!(pace.of(ROUND), Duration(250));
        assert!(!pace.note(Duration(240), ROUND), "that is in time now");
        pace.end(ROUND);
        assert_eq!(pace.of(ROUND), Duration(300));
        assert!(!pace.note(Duration(40), ROUND));
        pace.end(ROUND);
        assert_eq!(pace.of(ROUND), ROUND, "the network is fast again");
        assert!(pace.note(Duration(1_000_000), ROUND));
        assert_eq!(pace.of(ROUND), Duration(1_600));
    }
}
