//! Whether a watcher still does its work: it answers pings.
//!
//! A guardian or warden that is stopped (STOP) or hangs would not notice that the command has ended, and tenure would be
//! renewed for ever while no command works. So the agent pings both once a second. One that leaves three pings unanswered is
//! continued, one that leaves eight unanswered is killed.
//!
//! Pings are counted, not seconds: where the whole machine stood still, agent and watchers did so together, and only one
//! ping went unanswered.

use std::time::Duration;

/// How often the agent pings.
pub(super) const PING_EVERY: Duration = Duration::from_secs(1);

/// A watcher that has left this number of pings unanswered, or a multiple of it, may be stopped: it is continued. That does no
/// harm to one that is busy.
const CONTINUED_AFTER: u32 = 3;
/// A watcher that has left this number of pings unanswered hangs: it is killed.
const KILLED_AFTER: u32 = 8;
/// The same, for a watcher that has never answered: processes come up slowly on a busy host, and the file that is to be
/// executed may lie on a slow disk.
const KILLED_AFTER_AT_FIRST: u32 = 30;

/// The pings that a watcher owes answers to.
#[derive(Debug, Default)]
pub(super) struct Heartbeat {
    unanswered: u32,
    has_answered: bool,
}

/// What to do about a watcher that is silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Remedy {
    Wait,
    /// Send it CONT.
    Continue,
    /// Kill it.
    Kill,
}

impl Heartbeat {
    /// Another ping is due. Returns what the silence since the last answer calls for.
    pub(super) fn on_ping(&mut self) -> Remedy {
        let silence = self.unanswered;
        self.unanswered += 1;
        let killed_after = match self.has_answered {
            true => KILLED_AFTER,
            false => KILLED_AFTER_AT_FIRST,
        };
        match silence {
            0 => Remedy::Wait,
            _ if silence >= killed_after => Remedy::Kill,
            _ if silence.is_multiple_of(CONTINUED_AFTER) => Remedy::Continue,
            _ => Remedy::Wait,
        }
    }

    /// The watcher has answered.
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
    fn a_silent_watcher_is_continued_and_then_killed() {
        use Remedy::{Continue, Kill, Wait};
        let mut heartbeat = Heartbeat::default();
        let slow = remedies(&mut heartbeat, 30);
        assert_eq!(slow[..5], [Wait, Wait, Wait, Continue, Wait]);
        assert!(!slow.contains(&Kill), "it is coming up");
        assert_eq!(heartbeat.on_ping(), Kill);
        heartbeat.on_answer();
        let stopped = remedies(&mut heartbeat, 10);
        let expected = [
            Wait, Wait, Wait, Continue, Wait, Wait, Continue, Wait, Kill, Kill,
        ];
        assert_eq!(stopped, expected);
    }

    #[test]
    fn an_answer_makes_good_for_earlier_silence() {
        let mut heartbeat = Heartbeat::default();
        heartbeat.on_answer();
        for _ in 0..10 {
            assert_eq!(remedies(&mut heartbeat, 3), [Remedy::Wait; 3]);
            heartbeat.on_answer();
        }
    }
}
