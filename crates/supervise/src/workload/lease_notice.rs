//! The agent's notices of its tenure, and the orders that reach the guardian before the command
//! starts.

use std::os::fd::AsFd;

use hustings_protocol::{Duration, Instant};
use rustix::process::Signal;

use super::deadline::Deadline;
use super::ipc::Order;
use crate::line_reader::LineReader;
use crate::processes::Ending;
use hustings_authority::LastWill;

/// The last notice of the tenure.
#[derive(Debug, Default)]
pub(super) struct LeaseNotice {
    /// `None` without tenure: leadership is advisory.
    pub(super) deadline: Option<Deadline>,
    pub(super) last_will: LastWill,
}

impl LeaseNotice {
    /// The time at which a command that may take `grace` to stop gets TERM.
    pub(super) fn stop_at(&self, grace: Duration) -> Option<Instant> {
        self.deadline.map(|deadline| deadline.stop_at(grace))
    }
}

/// The orders that arrived before the command starts.
#[derive(Debug, Default)]
pub(super) struct Early {
    pub(super) lease_notice: LeaseNotice,
    /// Signals for the command.
    pub(super) passed: Vec<Signal>,
    /// The exit status of a command that need not be started: leadership may be lost, or the agent
    /// may end, while the watchers start.
    pub(super) called_off: Option<Ending>,
}

impl Early {
    pub(super) fn listen(agent: &mut LineReader<impl AsFd>) -> Self {
        let mut early = Self::default();
        for line in agent.arrived() {
            match line.parse() {
                Ok(Order::Stop(signal)) => early.call_off(signal),
                Ok(Order::Pass(signal)) => early.passed.push(signal),
                Ok(Order::Until(deadline)) => early.lease_notice.deadline = Some(deadline),
                Ok(Order::LastWill(last_will)) => early.lease_notice.last_will = last_will,
                // The report that the command has started answers a ping.
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
        Early::listen(&mut LineReader::new(guardian))
    }

    #[test]
    fn command_stopped_before_its_start_is_not_started() {
        assert_eq!(after("").called_off, None);
        assert_eq!(after("pass 10\n").called_off, None);
        let early = after("pass 10\nuntil 5 5\nstop 15\nstop 2\n");
        assert_eq!(early.called_off, Some(Ending::Killed(15)));
    }

    #[test]
    fn command_whose_agent_has_ended_is_not_started() {
        let (agent, guardian) = UnixStream::pair().expect("sockets can be had");
        drop(agent);
        let early = Early::listen(&mut LineReader::new(guardian));
        assert_eq!(early.called_off, Some(Ending::Killed(9)));
    }

    #[test]
    fn early_signals_and_last_will_are_kept() {
        let early = after("pass 10\nwords 127.0.0.1:4101 00 .\npass 12\n");
        assert_eq!(early.passed, [Signal::USR1, Signal::USR2]);
        assert_eq!(early.lease_notice.last_will.0.len(), 1);
    }

    #[test]
    fn last_notice_of_the_end_of_tenure_counts() {
        let until = |said| after(said).lease_notice.deadline.map(Deadline::until);
        assert_eq!(until("until 1 9\nuntil 2 9\n"), Some(Instant(2)));
        assert_eq!(until(""), None, "without a tenure there is no end");
    }
}
