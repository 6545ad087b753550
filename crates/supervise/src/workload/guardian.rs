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
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use hustings_protocol::{Duration, Instant};
use rustix::process::{
    Pid, Signal, getpid, getppid, kill_process_group, set_parent_process_death_signal,
};

use super::deadline::Deadline;
use super::ipc::{Order, Report, tell};
use super::launch::launch;
use super::lease_notice::{Early, LeaseNotice};
use super::signals::meant_for_the_command;
use crate::fd_passing::Handed;
use crate::line_reader::LineReader;
use crate::poller::Poller;
use crate::processes::{Ending, SWEEP_EVERY, Sweep, descendants, has_ended, reap, send};
use crate::{fd_passing, last_will};
use hustings_authority::LastWill;
use hustings_system::clock;

/// The time for which the command's first process may be stopped (STOP, or TTIN if it reads from a
/// terminal). Then it is killed: a member whose command does not work must not keep other members
/// from working.
const STOPPED_AT_MOST: Duration = Duration::from_secs(5);

/// The event sources of the guardian.
struct GuardianInput {
    poller: Poller,
    agent: LineReader<UnixStream>,
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
pub(super) fn guard(grace: Duration, command: &[OsString]) -> io::Result<()> {
    // The agent handles signals for the command, so this process ignores them.
    let poller = Poller::begin(meant_for_the_command()?)?;
    let Handed { socket, input, witness } = fd_passing::receive()?;
    let agent = LineReader::new(socket);
    // This signal ends the poller's wait, as the end of a child does.
    set_parent_process_death_signal(Some(Signal::CHILD))?;
    let mut events = GuardianInput { poller, agent, warden: getppid() };
    let pid = getpid().as_raw_nonzero().get();
    events.report(Report::Up { pid })?;
    let Early { lease_notice, passed, called_off } = Early::listen(&mut events.agent);

    let launched = match called_off {
        Some(ending) => Err(vec![Report::Ended(ending)]),
        None => launch(input, command, lease_notice.stop_at(grace))?,
    };
    let (lease_notice, reports) = match launched {
        Ok(command) => {
            let pid = command.as_raw_nonzero().get();
            events.report(Report::Started { pid })?;
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
            };
            let (lease_notice, ending) = guardian.watch(&mut events)?;
            (lease_notice, vec![Report::Ended(ending)])
        }
        Err(reports) => {
            events.clear_up()?;
            (lease_notice, reports)
        }
    };
    for report in reports {
        events.report(report)?;
    }
    send_last_will(&mut events, witness, lease_notice)
}

/// Sends the agent's last will if the agent is dead. Nothing is left of the command by now.
///
/// The closed socket is no proof: an agent may close it and live. The witness is a proof: this
/// pidfd reports the end of that very process, even if its id is reused. The wait for it ends when
/// the tenure is over or the last will is empty.
fn send_last_will(
    events: &mut GuardianInput,
    witness: Option<OwnedFd>,
    mut lease_notice: LeaseNotice,
) -> io::Result<()> {
    for line in events.agent.arrived() {
        lease_notice.last_will = match line.parse() {
            Ok(Order::LastWill(words)) => words,
            Ok(Order::Stop(_) | Order::Pass(_) | Order::Until(_) | Order::Ping) => continue,
            Ok(Order::SoftLimit(_)) => continue,
            Err(_) => LastWill::default(),
        };
    }
    let (true, Some(witness)) = (events.agent.has_ended, witness) else {
        return Ok(());
    };
    let until = lease_notice.deadline.map_or(Instant::START, Deadline::until);
    while !has_ended(&witness)? {
        if lease_notice.last_will.0.is_empty() || until <= clock::now() {
            return Ok(());
        }
        events.poller.wait(&[witness.as_fd()], Some(until))?;
        events.poller.sent();
    }
    last_will::send(&lease_notice.last_will);
    Ok(())
}

impl GuardianInput {
    /// Waits until there is something to read or to do.
    fn wait(&mut self, moment: Option<Instant>) -> io::Result<()> {
        let agent = Some(self.agent.socket.as_fd()).filter(|_| !self.agent.has_ended);
        let files: Vec<BorrowedFd<'_>> = agent.into_iter().collect();
        self.poller.wait(&files, moment)?;
        self.poller.sent();
        Ok(())
    }

    /// Kills every descendant of this process, and returns when none is left.
    fn clear_up(&mut self) -> io::Result<()> {
        let mut sweep = Sweep::begin();
        while reap()?.others {
            sweep.go();
            self.poller.wait(&[], Some(clock::now() + SWEEP_EVERY))?;
            self.poller.sent();
        }
        Ok(())
    }

    /// True if the agent has gone, which gives orders, or the warden, which kills what this process
    /// leaves behind.
    fn are_left_alone(&self) -> bool {
        // An orphan has another parent.
        self.agent.has_ended || getppid() != self.warden
    }

    /// Sends a report to the agent. If the agent has ended, reading from its socket shows it.
    fn report(&mut self, report: Report) -> io::Result<()> {
        let line = format!("{report}\n");
        match self.agent.socket.write_all(line.as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            done => done,
        }
    }

    /// Sends a report to the agent, unless it does not read: a stopped agent must not block the
    /// guardian.
    fn mention(&self, report: Report) {
        tell(&self.agent.socket, &report);
    }
}

// Handlers: they decide.
impl Guardian {
    /// Returns when nothing is left of the command.
    fn watch(mut self, events: &mut GuardianInput) -> io::Result<(LeaseNotice, Ending)> {
        while self.reap(events)? {
            events.wait(self.wake_at())?;
            for line in events.agent.arrived() {
                self.on_line(&line, events);
            }
            if events.are_left_alone() {
                self.kill();
            }
            if self.on_time(clock::now()) {
                events.report(Report::Expired)?;
            }
        }
        let ending = self.ending.ok_or(io::ErrorKind::NotFound)?;
        Ok((self.lease_notice, ending))
    }

    /// Reaps children. Returns false if no child is left.
    fn reap(&mut self, events: &GuardianInput) -> io::Result<bool> {
        let reaped = reap()?;
        for (pid, signal) in reaped.stops {
            if pid == self.command {
                self.stopped_since = signal.map(|_| clock::now());
                if let Some(signal) = signal {
                    events.mention(Report::Stopped { signal });
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

    fn on_line(&mut self, line: &str, events: &GuardianInput) {
        match line.parse() {
            Ok(Order::Ping) => events.mention(Report::Alive),
            Ok(Order::SoftLimit(_)) => {} // for the warden
            Ok(Order::Stop(signal)) => self.stop(signal),
            Ok(Order::Pass(signal)) if self.ending.is_none() => send(self.command, signal),
            Ok(Order::Pass(_)) => {}
            Ok(Order::Until(deadline)) => self.lease_notice.deadline = Some(deadline),
            Ok(Order::LastWill(words)) => self.lease_notice.last_will = words,
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
            Phase::Running if self.kill_stopped_at().is_some_and(|time| time <= now) => self.kill(),
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

    fn is_killing(&self) -> bool {
        matches!(self.phase, Phase::Killing(_))
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

    fn kill(&mut self) {
        if !self.is_killing() {
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
