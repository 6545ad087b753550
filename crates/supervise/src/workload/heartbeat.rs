//! Detects a watcher that no longer works, by pings.
//!
//! A guardian or warden that is stopped (STOP) or hangs would not notice the end of the command,
//! and tenure would be renewed for ever while no command works. So the agent pings both once a
//! second. It sends CONT to a watcher that leaves three pings unanswered, and kills one that leaves
//! eight unanswered.
//!
//! Pings are counted, not seconds: if the whole machine was suspended, agent and watchers were
//! suspended together, and only one ping went unanswered.

use std::time::Duration;

/// The interval of pings.
pub(super) const PING_EVERY: Duration = Duration::from_secs(1);

/// The number of unanswered pings, and its multiples, after which a watcher gets CONT because it
/// may be stopped. CONT does no harm to a busy process.
const CONTINUED_AFTER: u32 = 3;
/// The number of unanswered pings after which a watcher hangs and is killed.
const KILLED_AFTER: u32 = 8;
/// The same number for a watcher that has never answered. Processes start slowly on a busy host,
/// and the executable may be on a slow disk.
const KILLED_AFTER_AT_FIRST: u32 = 30;

/// The unanswered pings of one watcher.
#[derive(Debug, Default)]
pub(super) struct Heartbeat {
    unanswered: u32,
    has_answered: bool,
}

/// The reaction to a silent watcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Remedy {
    Wait,
    /// Sends it CONT.
    Continue,
    /// Kills it.
    Kill,
}

impl Heartbeat {
    /// Counts another ping. Returns the reaction to the silence since the last answer.
    pub(super) fn on_ping(&mut self) -> Remedy {
        let silence = self.unanswered;
        self.unanswered += 1;
        let killed_after = if self.has_answered { KILLED_AFTER } else { KILLED_AFTER_AT_FIRST };
        match silence {
            0 => Remedy::Wait,
            _ if silence >= killed_after => Remedy::Kill,
            _ if silence.is_multiple_of(CONTINUED_AFTER) => Remedy::Continue,
            _ => Remedy::Wait,
        }
    }

    /// Records an answer of the watcher.
    pub(super) fn on_answer(&mut self) {
        self.unanswered = 0;
        self.has_answered = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remedies(heartbeat: &mut Heartbeat, pings: usize) -> Vec<Remedy> {
        (0..pings).map(|_| heartbeat.on_ping()).collect()
    }

    #[test]
    fn silent_watcher_is_continued_and_then_killed() {
        use Remedy::{Continue, Kill, Wait};
        let mut heartbeat = Heartbeat::default();
        let slow = remedies(&mut heartbeat, 30);
        assert_eq!(slow[..5], [Wait, Wait, Wait, Continue, Wait]);
        assert!(!slow.contains(&Kill), "it is coming up");
        assert_eq!(heartbeat.on_ping(), Kill);
        heartbeat.on_answer();
        let stopped = remedies(&mut heartbeat, 10);
        let expected = [Wait, Wait, Wait, Continue, Wait, Wait, Continue, Wait, Kill, Kill];
        assert_eq!(stopped, expected);
    }

    #[test]
    fn answer_resets_the_count_of_unanswered_pings() {
        let mut heartbeat = Heartbeat::default();
        heartbeat.on_answer();
        for _ in 0..10 {
            assert_eq!(remedies(&mut heartbeat, 3), [Remedy::Wait; 3]);
            heartbeat.on_answer();
        }
    }
}
