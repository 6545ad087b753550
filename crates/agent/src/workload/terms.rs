//! What the agent has told the guardian of its tenure, and what it told it before the command was started.

use std::os::fd::AsFd;

use hustings_protocol::{Duration, Instant};
use rustix::process::Signal;

use super::deadline::Deadline;
use super::lines::Order;
use crate::authority::last_words::LastWords;
use crate::inbox::Inbox;
use crate::processes::Ending;

/// What the agent has said of the tenure.
#[derive(Debug, Default)]
pub(super) struct Terms {
    /// None: there is no tenure, leadership is advisory.
    pub(super) deadline: Option<Deadline>,
    pub(super) last_words: LastWords,
}

impl Terms {
    /// When a command that may take `grace` to stop is told to.
    pub(super) fn stop_at(&self, grace: Duration) -> Option<Instant> {
        self.deadline.map(|deadline| deadline.stop_at(grace))
    }
}

/// What the agent has said before the command is started.
#[derive(Debug, Default)]
pub(super) struct Early {
    pub(super) terms: Terms,
    /// Signals for the command.
    pub(super) passed: Vec<Signal>,
    /// How a command ends that need not be started: leadership may be lost, or the agent end, while the processes
    /// come up that watch over it.
    pub(super) called_off: Option<Ending>,
}

impl Early {
    pub(super) fn listen(agent: &mut Inbox<impl AsFd>) -> Self {
        let mut early = Self::default();
        for line in agent.arrived() {
            match line.parse() {
                Ok(Order::Stop(signal)) => early.call_off(signal),
                Ok(Order::Pass(signal)) => early.passed.push(signal),
                Ok(Order::Until(deadline)) => early.terms.deadline = Some(deadline),
                Ok(Order::LastWords(words)) => early.terms.last_words = words,
                // The answer to a ping is that the command has started.
                Ok(Order::Ping | Order::SoftLimit(_)) => {}
                Err(_) => early.call_off(Signal::KILL),
            }
        }
        if agent.has_ended {
            early.call_off(Signal::KILL);
        }
        early
    }

    fn call_off(&mut self, signal: Signal) {
        self.called_off.get_or_insert(Ending::killed_by(signal));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn after(said: &str) -> Early {
        let (mut agent, guardian) = UnixStream::pair().expect("sockets can be had");
        agent.write_all(said.as_bytes()).expect("it is open");
        Early::listen(&mut Inbox::new(guardian))
    }

    #[test]
    fn a_command_that_is_stopped_before_it_has_started_need_not_be() {
        assert_eq!(after("").called_off, None);
        assert_eq!(after("pass 10\n").called_off, None);
        let early = after("pass 10\nuntil 5 5\nstop 15\nstop 2\n");
        assert_eq!(early.called_off, Some(Ending::Killed(15)));
    }

    #[test]
    fn nor_one_whose_agent_has_ended() {
        let (agent, guardian) = UnixStream::pair().expect("sockets can be had");
        drop(agent);
        let early = Early::listen(&mut Inbox::new(guardian));
        assert_eq!(early.called_off, Some(Ending::Killed(9)));
    }

    #[test]
    fn what_is_meant_for_the_command_is_kept_for_it() {
        let early = after("pass 10\nwords 127.0.0.1:4101 00 .\npass 12\n");
        assert_eq!(early.passed, [Signal::USR1, Signal::USR2]);
        assert_eq!(early.terms.last_words.0.len(), 1);
    }

    #[test]
    fn the_last_word_on_the_end_of_tenure_counts() {
        let until = |said| after(said).terms.deadline.map(Deadline::until);
        assert_eq!(until("until 1 9\nuntil 2 9\n"), Some(Instant(2)));
        assert_eq!(until(""), None, "without a tenure there is no end");
    }
}
