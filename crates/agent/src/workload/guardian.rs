//! The guardian: the process that has the command for a child, adopts its orphans, and outlives none of them.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as BlockingStream;
use std::os::unix::process::CommandExt;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use rustix::process::{Pid, Signal, getpid, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep_until};

use super::handover;
use super::lines::{Ending, Order, Report};
use super::processes::{SWEEP_EVERY, descendants, kill_descendants, reap, send};
use super::stages::Stage;

/// Processes that live on so long after they were killed are worth a complaint.
const COMPLAIN_AFTER: Duration = Duration::from_secs(5);

struct Guardian {
    /// The command's first process, which leads its process group.
    command: Pid,
    grace: Duration,
    phase: Phase,
    /// Whether the process group was sent TERM. Others it may ignore, as shells make background jobs ignore INT.
    group_was_sent_term: bool,
    /// How the first process ended, if it has.
    ending: Option<Ending>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// All have been asked to end. A time too far off to be told is None.
    Stopping {
        kill_at: Option<Instant>,
    },
    Killing {
        complain_at: Option<Instant>,
    },
}

/// Runs the command, obeys the agent, and returns when neither the command nor any descendant of it is left.
pub(super) async fn guard(grace: Duration, command: &[OsString]) -> io::Result<()> {
    let mut child_ended = signal(SignalKind::child())?;
    let (agent, input) = handover::receive()?;
    let called_off = called_off(&agent)?;
    agent.set_nonblocking(true)?;
    let mut agent = BufReader::new(UnixStream::from_std(agent)?);
    if let Some(ending) = called_off {
        return report(&mut agent, Report::Ended(ending)).await;
    }
    let command = match start(input, command)? {
        Ok(command) => command,
        Err(errno) => return report(&mut agent, Report::Refused { errno }).await,
    };
    let pid = command.as_raw_nonzero().get();
    report(&mut agent, Report::Started { pid }).await?;

    let mut guardian = Guardian {
        command,
        grace,
        phase: Phase::Running,
        group_was_sent_term: false,
        ending: None,
    };
    let mut orders = agent.lines();
    while guardian.reap()? {
        let wake_at = guardian.wake_at();
        tokio::select! {
            _ = child_ended.recv() => {}
            line = orders.next_line(), if !guardian.is_killing() => guardian.on_line(line.ok().flatten()),
            () = sleep_until(wake_at.unwrap_or_else(Instant::now)), if wake_at.is_some() => guardian.kill(),
        }
    }
    let ending = guardian.ending.ok_or(io::ErrorKind::NotFound)?;
    report(orders.get_mut(), Report::Ended(ending)).await
}

/// How a command ends that need not be started: leadership may be lost, or the agent end, while the processes come
/// up that watch over it. Orders are left where they are.
fn called_off(agent: &BlockingStream) -> io::Result<Option<Ending>> {
    let mut bytes = [0; 256];
    let length = match recv(agent, &mut bytes[..], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
        Ok((0, _)) => return Ok(Some(Ending::killed_by(Signal::KILL))),
        Ok((length, _)) => length,
        Err(Errno::AGAIN) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let orders = String::from_utf8_lossy(&bytes[..length]);
    let mut stops = orders.lines().filter_map(|line| match line.parse() {
        Ok(Order::Stop(signal)) => Some(Ending::killed_by(signal)),
        Ok(Order::Pass(_)) | Err(_) => None,
    });
    Ok(stops.next())
}

/// Starts the command, and waits until it runs: a signal for it must not hit the process that is about to
/// become it. Inside is the error number, if the system refuses.
fn start(input: OwnedFd, command: &[OsString]) -> io::Result<Result<Pid, i32>> {
    let (mut socket, theirs) = handover::pair(input.as_fd())?;
    drop(input);
    let guardian = u64::from(getpid().as_raw_nonzero().get().unsigned_abs());
    let child = Stage::Exec
        .command(guardian, command)
        .stdin(theirs)
        .process_group(0)
        .spawn()?;
    let mut errno = String::new();
    socket.read_to_string(&mut errno)?;
    Ok(match errno.parse() {
        Ok(errno) => Err(errno),
        Err(_) => Ok(Pid::from_child(&child)),
    })
}

/// Tells the agent. If it has ended, reading from it will say so.
async fn report(agent: &mut BufReader<UnixStream>, report: Report) -> io::Result<()> {
    match agent.write_all(format!("{report}\n").as_bytes()).await {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

// What happens: decides.
impl Guardian {
    /// Takes note of who has ended. False if nobody is left.
    fn reap(&mut self) -> io::Result<bool> {
        let reaped = reap()?;
        for (pid, status) in reaped.ended {
            if pid == self.command {
                self.ending = Ending::of(status);
                self.stop_the_rest()?;
            }
        }
        if self.is_killing() && reaped.others {
            self.sweep()?;
        }
        Ok(reaped.others)
    }

    /// None: the agent has ended.
    fn on_line(&mut self, line: Option<String>) {
        match line.map(|line| line.parse()) {
            Some(Ok(Order::Stop(signal))) => self.stop(signal),
            Some(Ok(Order::Pass(signal))) if self.ending.is_none() => send(self.command, signal),
            Some(Ok(Order::Pass(_))) => {}
            // Without an agent that can be understood nobody knows who leads.
            Some(Err(_)) | None => self.kill(),
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        match self.phase {
            Phase::Running => None,
            Phase::Stopping { kill_at } => kill_at,
            Phase::Killing { .. } => Some(Instant::now() + SWEEP_EVERY),
        }
    }

    fn is_killing(&self) -> bool {
        matches!(self.phase, Phase::Killing { .. })
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
    /// impatience.
    fn stop_the_rest(&mut self) -> io::Result<()> {
        self.begin_grace();
        for process in descendants()? {
            if !(self.group_was_sent_term && process.group == self.command) {
                send(process.pid, Signal::TERM);
                send(process.pid, Signal::CONT);
            }
        }
        Ok(())
    }

    fn begin_grace(&mut self) {
        if self.phase == Phase::Running {
            let kill_at = Instant::now().checked_add(self.grace);
            self.phase = Phase::Stopping { kill_at };
        }
    }

    fn kill(&mut self) {
        if !self.is_killing() {
            let complain_at = Some(Instant::now() + COMPLAIN_AFTER);
            self.phase = Phase::Killing { complain_at };
            self.send_to_group(Signal::KILL);
        }
    }

    /// Kills whoever is left. Those that start others meanwhile are caught by the next sweep.
    fn sweep(&mut self) -> io::Result<()> {
        let left = kill_descendants()?;
        if let Phase::Killing {
            complain_at: Some(time),
        } = self.phase
            && time <= Instant::now()
        {
            self.phase = Phase::Killing { complain_at: None };
            let pids: Vec<_> = left.iter().map(|process| process.pid.to_string()).collect();
            // If nobody listens there, there is nobody to tell.
            let _ = writeln!(
                io::stderr(),
                "warning: killed processes of the command have not ended: see what holds {}",
                pids.join(" ")
            );
        }
        Ok(())
    }

    /// While the first process has not been reaped, no other group can have its number.
    fn send_to_group(&self, signal: Signal) {
        if self.ending.is_none() {
            // An error says that all of the group have ended: reaping shows it.
            let _ = kill_process_group(self.command, signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::{Ending, called_off};

    #[test]
    fn a_command_that_is_stopped_before_it_has_started_need_not_be() {
        let (mut agent, guardian) = UnixStream::pair().expect("sockets can be had");
        let expect = |ending| assert_eq!(called_off(&guardian).ok(), Some(ending));
        expect(None);
        agent.write_all(b"pass 10\n").expect("it is open");
        expect(None);
        agent.write_all(b"stop 15\n").expect("it is open");
        expect(Some(Ending::Killed(15)));
        expect(Some(Ending::Killed(15)));
    }

    #[test]
    fn nor_one_whose_agent_has_ended() {
        let (agent, guardian) = UnixStream::pair().expect("sockets can be had");
        drop(agent);
        assert_eq!(called_off(&guardian).ok(), Some(Some(Ending::Killed(9))));
    }
}
