//! The guardian: the process that has the command for a child, adopts its orphans, and outlives none of them.
//!
//! Assumes   that the machine gives it a turn within the margin of [`Deadline`]. While it is stopped (STOP), the agent and
//!           the warden do its work, and continue it
//! Promises  nothing of the command is left when its tenure ends, whether or not the agent can say so;
//!           the agent's last words are sent only when nothing of the command is left and the agent is dead;
//!           without a warden nothing of the command goes on: what a killed guardian leaves would be nobody's
//!
//! A machine that was suspended wakes up all its processes at once: the guardian kills a command whose tenure
//! ended meanwhile as soon as it has its turn, and the command may have had one before. What the command says then
//! bears an old fence, by which the resource knows it.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use hustings_protocol::{Duration, Instant};
use rustix::process::{
    Pid, Signal, getpid, getppid, kill_process_group, set_parent_process_death_signal,
};

use super::deadline::Deadline;
use super::launch::launch;
use super::lines::{Order, Report, tell};
use super::signals::meant_for_the_command;
use super::terms::{Early, Terms};
use crate::authority::last_words::LastWords;
use crate::handover::Handed;
use crate::inbox::Inbox;
use crate::processes::{Ending, SWEEP_EVERY, Sweep, descendants, has_ended, reap, send};
use crate::vigil::Vigil;
use crate::{clock, handover, obituary};

/// How long the command's first process may be stopped (STOP, or TTIN if it reads from a terminal). Then it is killed: a
/// member whose command does not work must not keep others from it.
const STOPPED_AT_MOST: Duration = Duration::from_secs(5);

/// What the guardian listens to.
struct Ears {
    vigil: Vigil,
    agent: Inbox<UnixStream>,
    warden: Option<Pid>,
}

struct Guardian {
    /// The command's first process, which leads its process group.
    command: Pid,
    grace: Duration,
    terms: Terms,
    phase: Phase,
    /// Whether the process group was sent TERM. Others it may ignore, as shells make background jobs ignore INT.
    group_was_sent_term: bool,
    /// How the first process ended, if it has.
    ending: Option<Ending>,
    /// Since when the first process has been stopped, if it is.
    stopped_since: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// All have been asked to end.
    Stopping {
        kill_at: Instant,
    },
    Killing(Sweep),
}

/// Runs the command, obeys the agent, and returns when neither the command nor any descendant of it is left.
pub(super) fn guard(grace: Duration, command: &[OsString]) -> io::Result<()> {
    // Signals that reach this process are the command's and the agent's affair.
    let vigil = Vigil::begin(meant_for_the_command()?)?;
    let Handed {
        socket,
        input,
        witness,
    } = handover::receive()?;
    let agent = Inbox::new(socket);
    // Wakes the vigil, as the end of a child does.
    set_parent_process_death_signal(Some(Signal::CHILD))?;
    let mut ears = Ears {
        vigil,
        agent,
        warden: getppid(),
    };
    let pid = getpid().as_raw_nonzero().get();
    ears.report(Report::Up { pid })?;
    let Early {
        terms,
        passed,
        called_off,
    } = Early::listen(&mut ears.agent);

    let launched = match called_off {
        Some(ending) => Err(vec![Report::Ended(ending)]),
        None => launch(input, command, terms.stop_at(grace))?,
    };
    let (terms, reports) = match launched {
        Ok(command) => {
            let pid = command.as_raw_nonzero().get();
            ears.report(Report::Started { pid })?;
            for signal in passed {
                send(command, signal);
            }
            let guardian = Guardian {
                command,
                grace,
                terms,
                phase: Phase::Running,
                group_was_sent_term: false,
                ending: None,
                stopped_since: None,
            };
            let (terms, ending) = guardian.watch(&mut ears)?;
            (terms, vec![Report::Ended(ending)])
        }
        Err(reports) => {
            ears.clear_up()?;
            (terms, reports)
        }
    };
    for report in reports {
        ears.report(report)?;
    }
    speak_for_the_dead(&mut ears, witness, terms)
}

/// Sends the agent's last words if it is dead. Nothing is left of the command by now.
///
/// That its socket has ended is no proof: an agent may close it and live. The witness is, which tells of the end of
/// that very process, whoever may have its number now. It is waited for until the tenure is over, and nothing is
/// left to be said.
fn speak_for_the_dead(
    ears: &mut Ears,
    witness: Option<OwnedFd>,
    mut terms: Terms,
) -> io::Result<()> {
    for line in ears.agent.arrived() {
        terms.last_words = match line.parse() {
            Ok(Order::LastWords(words)) => words,
            Ok(Order::Stop(_) | Order::Pass(_) | Order::Until(_) | Order::Ping) => continue,
            Ok(Order::SoftLimit(_)) => continue,
            Err(_) => LastWords::default(),
        };
    }
    let (true, Some(witness)) = (ears.agent.has_ended, witness) else {
        return Ok(());
    };
    let until = terms.deadline.map_or(Instant::START, Deadline::until);
    while !has_ended(&witness)? {
        if terms.last_words.0.is_empty() || until <= clock::now() {
            return Ok(());
        }
        ears.vigil.wait(&[witness.as_fd()], Some(until))?;
        ears.vigil.sent();
    }
    obituary::send(&terms.last_words);
    Ok(())
}

impl Ears {
    /// Waits until there is something to hear, or to do.
    fn wait(&mut self, moment: Option<Instant>) -> io::Result<()> {
        let agent = Some(self.agent.socket.as_fd()).filter(|_| !self.agent.has_ended);
        let files: Vec<BorrowedFd<'_>> = agent.into_iter().collect();
        self.vigil.wait(&files, moment)?;
        self.vigil.sent();
        Ok(())
    }

    /// Kills whoever is left below this process, and returns when nobody is.
    fn clear_up(&mut self) -> io::Result<()> {
        let mut sweep = Sweep::begin();
        while reap()?.others {
            sweep.go();
            self.vigil.wait(&[], Some(clock::now() + SWEEP_EVERY))?;
            self.vigil.sent();
        }
        Ok(())
    }

    /// Whether nobody is left to obey, or nobody to clear up after this process.
    fn are_left_alone(&self) -> bool {
        // An orphan has another parent.
        self.agent.has_ended || getppid() != self.warden
    }

    /// Tells the agent. If it has ended, reading from it will say so.
    fn report(&mut self, report: Report) -> io::Result<()> {
        let line = format!("{report}\n");
        match self.agent.socket.write_all(line.as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            done => done,
        }
    }

    /// Tells the agent, unless it does not read: an agent that is stopped must not hold up the guardian.
    fn mention(&self, report: Report) {
        tell(&self.agent.socket, &report);
    }
}

// What happens: decides.
impl Guardian {
    /// Returns when nothing is left of the command.
    fn watch(mut self, ears: &mut Ears) -> io::Result<(Terms, Ending)> {
        while self.reap(ears)? {
            ears.wait(self.wake_at())?;
            for line in ears.agent.arrived() {
                self.on_line(&line, ears);
            }
            if ears.are_left_alone() {
                self.kill();
            }
            if self.on_time(clock::now()) {
                ears.report(Report::Expired)?;
            }
        }
        let ending = self.ending.ok_or(io::ErrorKind::NotFound)?;
        Ok((self.terms, ending))
    }

    /// Takes note of who has ended. False if nobody is left.
    fn reap(&mut self, ears: &Ears) -> io::Result<bool> {
        let reaped = reap()?;
        for (pid, signal) in reaped.stops {
            if pid == self.command {
                self.stopped_since = signal.map(|_| clock::now());
                if let Some(signal) = signal {
                    ears.mention(Report::Stopped { signal });
                }
            }
        }
        for (pid, status) in reaped.ended {
            if pid == self.command {
                self.ending = Ending::of(status);
                // To look for them takes milliseconds, and who waits for tenure waits for that too.
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

    fn on_line(&mut self, line: &str, ears: &Ears) {
        match line.parse() {
            Ok(Order::Ping) => ears.mention(Report::Alive),
            Ok(Order::SoftLimit(_)) => {} // for the warden
            Ok(Order::Stop(signal)) => self.stop(signal),
            Ok(Order::Pass(signal)) if self.ending.is_none() => send(self.command, signal),
            Ok(Order::Pass(_)) => {}
            Ok(Order::Until(deadline)) => self.terms.deadline = Some(deadline),
            Ok(Order::LastWords(words)) => self.terms.last_words = words,
            // Without an agent that can be understood nobody knows who leads, nor what it has taken back.
            Err(_) => {
                self.terms.last_words = LastWords::default();
                self.kill();
            }
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        let deadline = self.terms.deadline;
        match self.phase {
            Phase::Running => {
                let stop_at = self.terms.stop_at(self.grace);
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

    /// Something may be due. Whether the command is told to stop because its tenure is about to end: a renewal that
    /// comes later does not take that back, it only leaves the command more of its grace.
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
            // Reaping sweeps.
            Phase::Killing(_) => {}
        }
        false
    }

    /// When a command that is stopped is killed.
    fn kill_stopped_at(&self) -> Option<Instant> {
        self.stopped_since.map(|since| since + STOPPED_AT_MOST)
    }

    fn is_killing(&self) -> bool {
        matches!(self.phase, Phase::Killing(_))
    }
}

// What the guardian does: acts, and alone writes the phase.
impl Guardian {
    fn stop(&mut self, signal: Signal) {
        self.begin_grace();
        self.group_was_sent_term |= signal == Signal::TERM;
        self.send_to_group(signal);
        // Whoever is stopped cannot take the signal before it continues.
        self.send_to_group(Signal::CONT);
    }

    /// The first process has ended: the others are asked to follow. Nobody is asked twice, which some take for
    /// impatience. Those that cannot be found now are not asked: they are killed after the grace.
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

    /// While the first process has not been reaped, no other group can have its number.
    fn send_to_group(&self, signal: Signal) {
        if self.ending.is_none() {
            // An error says that all of the group have ended: reaping shows it.
            let _ = kill_process_group(self.command, signal);
        }
    }
}
