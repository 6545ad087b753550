//! The guardian: the parent process of the command, which adopts its orphans and ends after all of
//! them.
//!
//! Assumes   that the machine schedules it within the margin of [`Deadline`]. While it is stopped
//!           (STOP), the agent and the warden do its work, and send it CONT
//! Promises  - Nothing of the command is left when its tenure ends, even if the agent cannot give
//!             the order.
//!           - The agent's last will is sent only when nothing of the command is left and the agent
//!             is dead.
//!           - Without a warden nothing of the command continues, because no process would kill
//!             what a killed guardian leaves behind.
//!
//! A machine that was suspended wakes all its processes at once. The guardian kills a command whose
//! tenure has ended meanwhile as soon as it is scheduled, but the command may be scheduled first.
//! The command's requests then carry an old fence, by which the resource refuses them.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::time::Duration as StdDuration;

use hustings_protocol::{Duration, Instant};
use rustix::process::{
    Pid, Signal, getpid, getppid, kill_process_group, set_parent_process_death_signal,
};

use super::deadline::Deadline;
use super::ipc::{KillReason, Order, Report, tell};
use super::stages::{EXEC, stage_command};
use crate::fd_passing::Handed;
use crate::line_reader::LineReader;
use crate::processes::{Ending, SWEEP_EVERY, Sweep, descendants, has_ended, reap, send};
use crate::watcher::{self, Watcher};
use crate::{fd_passing, last_will};
use hustings_authority::LastWill;
use hustings_system::clock;

/// The time for which the command's first process may be stopped (STOP, or TTIN if it reads from a
/// terminal). Then it is killed: a member whose command does not work must not keep other members
/// from working.
const STOPPED_AT_MOST: Duration = Duration::from_secs(5);

/// The guardian's view of the two processes above it.
struct Above {
    /// The frame of this process. Its peer is the agent.
    watcher: Watcher,
    warden: Option<Pid>,
}

struct Guardian {
    /// The command's first process, which leads its process group.
    command: Pid,
    grace: Duration,
    lease_notice: LeaseNotice,
    phase: Phase,
    /// True if the process group was sent TERM. It may ignore other signals: shells make background
    /// jobs ignore INT.
    group_was_sent_term: bool,
    /// The exit status of the first process, if it has ended.
    ending: Option<Ending>,
    /// The time at which the first process was stopped, if it is.
    stopped_since: Option<Instant>,
    /// The reason why a running command was killed, if it was.
    killed_because: Option<KillReason>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// All processes of the group were told to end.
    Stopping {
        kill_at: Instant,
    },
    Killing(Sweep),
}

/// Runs the command, obeys the agent, and returns when neither the command nor any descendant of it
/// is left.
pub(super) fn run_guardian(grace_millis: u64, command: &[OsString]) -> io::Result<()> {
    let grace = Duration::from_millis(grace_millis);
    let poller = watcher::begin(c"hustings-guard")?;
    let Handed { socket, input, witness } = fd_passing::receive()?;
    // This signal ends the poller's wait, as the end of a child does.
    set_parent_process_death_signal(Some(Signal::CHILD))?;
    let mut above = Above { watcher: Watcher::new(poller, socket), warden: getppid() };
    let pid = getpid().as_raw_nonzero().get();
    above.report(Report::Up { pid })?;
    let Early { lease_notice, passed, called_off } = Early::listen(&mut above.watcher.peer);

    let launched = match called_off {
        Some(ending) => Err(vec![Report::Ended(ending)]),
        None => launch(input, command, lease_notice.stop_at(grace))?,
    };
    let (lease_notice, reports) = match launched {
        Ok(command) => {
            let pid = command.as_raw_nonzero().get();
            above.report(Report::Started { pid })?;
            for signal in passed {
                send(command, signal);
            }
            let guardian = Guardian {
                command,
                grace,
                lease_notice,
                phase: Phase::Running,
                group_was_sent_term: false,
                ending: None,
                stopped_since: None,
                killed_because: None,
            };
            guardian.watch(&mut above)?
        }
        Err(reports) => {
            above.watcher.clear_up()?;
            (lease_notice, reports)
        }
    };
    for report in reports {
        above.report(report)?;
    }
    send_last_will(&mut above, witness, lease_notice)
}

/// Starts the command, and waits until it runs: a signal for it must not hit the process that is
/// about to become it. Starts nothing at `latest` or later, and does not wait beyond, because the
/// executable may be on a disk that hangs. If the command does not run, the inner error has the
/// reports for the agent.
fn launch(
    input: OwnedFd,
    command: &[OsString],
    latest: Option<Instant>,
) -> io::Result<Result<Pid, Vec<Report>>> {
    let left = latest.map(|latest| latest - clock::now());
    let too_late = vec![Report::Expired, Report::Ended(Ending::killed_by(Signal::KILL))];
    if left.is_some_and(|left| left.0 == 0) {
        return Ok(Err(too_late));
    }
    let (mut socket, theirs) = fd_passing::pair(input.as_fd(), None)?;
    drop(input);
    let guardian = u64::from(getpid().as_raw_nonzero().get().unsigned_abs());
    let mut child =
        stage_command(EXEC, guardian, command).stdin(theirs).process_group(0).spawn()?;
    socket.set_read_timeout(left.map(|left| StdDuration::from_nanos(left.0)))?;
    let mut errno = String::new();
    if let Err(error) = socket.read_to_string(&mut errno) {
        if error.kind() != io::ErrorKind::WouldBlock {
            return Err(error);
        }
        // The process may have become the command at this moment. The caller kills what that has
        // started.
        child.kill()?;
        return Ok(Err(too_late));
    }
    Ok(match errno.parse() {
        Ok(errno) => Err(vec![Report::Refused { errno }]),
        Err(_) => Ok(Pid::from_child(&child)),
    })
}

/// Sends the agent's last will if the agent is dead. Nothing is left of the command by now.
///
/// The closed socket is no proof: an agent may close it and live. The witness is a proof: this
/// pidfd reports the end of that very process, even if its id is reused. The wait for it ends when
/// the tenure is over or the last will is empty.
fn send_last_will(
    above: &mut Above,
    witness: Option<OwnedFd>,
    mut lease_notice: LeaseNotice,
) -> io::Result<()> {
    for line in above.watcher.peer.arrived() {
        lease_notice.last_will = match line.parse() {
            Ok(Order::LastWill(last_will)) => last_will,
            Ok(Order::Stop(_) | Order::Pass(_) | Order::Until(_) | Order::Ping) => continue,
            Ok(Order::SoftLimit(_)) => continue,
            Err(_) => LastWill::default(),
        };
    }
    let (true, Some(witness)) = (above.watcher.peer.has_ended, witness) else {
        return Ok(());
    };
    let until = lease_notice.deadline.map_or(Instant::START, |it| it.until);
    while !has_ended(&witness)? {
        if lease_notice.last_will.0.is_empty() || until <= clock::now() {
            return Ok(());
        }
        above.watcher.wait_for(&witness, until)?;
    }
    last_will::send(&lease_notice.last_will);
    Ok(())
}

impl Above {
    /// True if the agent has gone, which gives orders, or the warden, which kills what this process
    /// leaves behind.
    fn are_left_alone(&self) -> bool {
        // An orphan has another parent.
        self.watcher.peer.has_ended || getppid() != self.warden
    }

    /// Sends a report to the agent. If the agent has ended, reading from its socket shows it.
    fn report(&mut self, report: Report) -> io::Result<()> {
        let line = format!("{report}\n");
        match self.watcher.peer.socket.write_all(line.as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            done => done,
        }
    }

    /// Sends a report to the agent, unless it does not read: a stopped agent must not block the
    /// guardian.
    fn mention(&self, report: Report) {
        tell(&self.watcher.peer.socket, &report);
    }
}

// Handlers: they decide.
impl Guardian {
    /// Returns when nothing is left of the command, with the reports for the agent.
    fn watch(mut self, above: &mut Above) -> io::Result<(LeaseNotice, Vec<Report>)> {
        while self.reap(above)? {
            above.watcher.wait(self.wake_at())?;
            for line in above.watcher.peer.arrived() {
                self.on_line(&line, above);
            }
            if above.are_left_alone() {
                // An agent that has ended reads no reason.
                self.kill_because(KillReason::WardenLost);
            }
            if self.on_time(clock::now()) {
                above.report(Report::Expired)?;
            }
        }
        let ending = self.ending.ok_or(io::ErrorKind::NotFound)?;
        // It may have ended by itself at that moment.
        let was_killed = ending == Ending::killed_by(Signal::KILL);
        let killed = self.killed_because.filter(|_| was_killed).map(Report::Killed);
        Ok((self.lease_notice, killed.into_iter().chain([Report::Ended(ending)]).collect()))
    }

    /// Reaps children. Returns false if no child is left.
    fn reap(&mut self, above: &Above) -> io::Result<bool> {
        let reaped = reap()?;
        for (pid, signal) in reaped.stops {
            if pid == self.command {
                self.stopped_since = signal.map(|_| clock::now());
                if let Some(signal) = signal {
                    above.mention(Report::Stopped { signal });
                }
            }
        }
        for (pid, status) in reaped.ended {
            if pid == self.command {
                self.ending = Ending::of(status);
                // The search for descendants takes milliseconds, which the next holder of tenure
                // would wait too.
                if reaped.others {
                    self.stop_the_rest();
                }
            }
        }
        if let Phase::Killing(sweep) = &mut self.phase
            && reaped.others
        {
            sweep.go();
        }
        Ok(reaped.others)
    }

    fn on_line(&mut self, line: &str, above: &Above) {
        match line.parse() {
            Ok(Order::Ping) => above.mention(Report::Alive),
            Ok(Order::SoftLimit(_)) => {} // for the warden
            Ok(Order::Stop(signal)) => self.stop(signal),
            Ok(Order::Pass(signal)) if self.ending.is_none() => send(self.command, signal),
            Ok(Order::Pass(_)) => {}
            Ok(Order::Until(deadline)) => self.lease_notice.deadline = Some(deadline),
            Ok(Order::LastWill(last_will)) => self.lease_notice.last_will = last_will,
            // Without valid orders no process knows whether this member leads, nor whether the last
            // will was withdrawn.
            Err(_) => {
                self.lease_notice.last_will = LastWill::default();
                self.kill();
            }
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        let deadline = self.lease_notice.deadline;
        match self.phase {
            Phase::Running => {
                let stop_at = self.lease_notice.stop_at(self.grace);
                let kill_at = self.kill_stopped_at();
                stop_at.into_iter().chain(kill_at).min()
            }
            Phase::Stopping { kill_at } => {
                let enforced = deadline.map_or(kill_at, Deadline::kill_at);
                Some(kill_at.min(enforced))
            }
            Phase::Killing(_) => Some(clock::now() + SWEEP_EVERY),
        }
    }

    /// Does what is due. Returns true if it stops the command because its tenure is about to
    /// end. A later renewal does not take that back, but only leaves the command more of its grace.
    fn on_time(&mut self, now: Instant) -> bool {
        if self.wake_at().is_none_or(|time| now < time) {
            return false;
        }
        match self.phase {
            Phase::Running if self.kill_stopped_at().is_some_and(|time| time <= now) => {
                self.kill_because(KillReason::Stopped);
            }
            Phase::Running => {
                self.stop(Signal::TERM);
                return true;
            }
            Phase::Stopping { .. } => self.kill(),
            // `reap` repeats the sweep.
            Phase::Killing(_) => {}
        }
        false
    }

    /// The time at which a command that is stopped is killed.
    fn kill_stopped_at(&self) -> Option<Instant> {
        self.stopped_since.map(|since| since + STOPPED_AT_MOST)
    }
}

// Transitions: they act, and are the only code that writes the phase.
impl Guardian {
    fn stop(&mut self, signal: Signal) {
        self.begin_grace();
        self.group_was_sent_term |= signal == Signal::TERM;
        self.send_to_group(signal);
        // A stopped process does not handle the signal before it continues.
        self.send_to_group(Signal::CONT);
    }

    /// Tells the other processes to end after the first process has. No process gets TERM twice,
    /// because some treat a second signal as a demand to quit at once. Processes that are not found
    /// now are killed after the grace.
    fn stop_the_rest(&mut self) {
        self.begin_grace();
        for process in descendants().unwrap_or_default() {
            if !(self.group_was_sent_term && process.group == self.command) {
                let _ = process.signal(&[Signal::TERM, Signal::CONT]);
            }
        }
    }

    fn begin_grace(&mut self) {
        if self.phase == Phase::Running {
            let kill_at = clock::now() + self.grace;
            self.phase = Phase::Stopping { kill_at };
        }
    }

    /// Kills the command. The reason counts if the command runs, and was not told to stop.
    fn kill_because(&mut self, reason: KillReason) {
        if self.phase == Phase::Running {
            self.killed_because = Some(reason);
        }
        self.kill();
    }

    fn kill(&mut self) {
        if !matches!(self.phase, Phase::Killing(_)) {
            self.phase = Phase::Killing(Sweep::begin());
            self.send_to_group(Signal::KILL);
        }
    }

    /// Signals the process group. While the first process has not been reaped, no other group can
    /// have its id.
    fn send_to_group(&self, signal: Signal) {
        if self.ending.is_none() {
            // An error means that all processes of the group have ended, which `reap` shows.
            let _ = kill_process_group(self.command, signal);
        }
    }
}

/// The last notice of the tenure.
#[derive(Debug, Default)]
struct LeaseNotice {
    /// `None` without tenure: leadership is advisory.
    deadline: Option<Deadline>,
    last_will: LastWill,
}

impl LeaseNotice {
    /// The time at which a command that may take `grace` to stop gets TERM.
    fn stop_at(&self, grace: Duration) -> Option<Instant> {
        self.deadline.map(|deadline| deadline.stop_at(grace))
    }
}

/// The orders that arrived before the command starts.
#[derive(Debug, Default)]
struct Early {
    lease_notice: LeaseNotice,
    /// Signals for the command.
    passed: Vec<Signal>,
    /// The exit status of a command that need not be started: leadership may be lost, or the agent
    /// may end, while the watchers start.
    called_off: Option<Ending>,
}

impl Early {
    fn listen(agent: &mut LineReader<impl AsFd>) -> Self {
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
        let until = |said| after(said).lease_notice.deadline.map(|it| it.until);
        assert_eq!(until("until 1 9\nuntil 2 9\n"), Some(Instant(2)));
        assert_eq!(until(""), None, "without a tenure there is no end");
    }
}
