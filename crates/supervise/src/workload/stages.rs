//! The processes between the agent and the command: their start, and their first steps.

use std::convert::Infallible;
use std::ffi::{CStr, OsStr, OsString};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use hustings_protocol::Duration;
use rustix::process::{
    Pid, Signal, getpid, getppid, set_child_subreaper, set_parent_process_death_signal,
};
use rustix::thread::set_name;

use super::deadline::Deadline;
use super::guardian::guard;
use super::ipc::{Order, Report, tell};
use super::signals::meant_for_the_command;
use crate::line_reader::LineReader;
use crate::poller::Poller;
use crate::processes::{SWEEP_EVERY, Sweep, reap, send};
use crate::{descriptors, fd_passing};
use hustings_system::clock;

/// A process as which the agent's executable can be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Warden,
    Guardian,
    Exec,
}

impl Stage {
    const ALL: [Self; 3] = [Self::Warden, Self::Guardian, Self::Exec];

    /// The first argument that selects this stage.
    fn word(self) -> &'static str {
        match self {
            Self::Warden => "__warden",
            Self::Guardian => "__guardian",
            Self::Exec => "__exec",
        }
    }

    /// Returns a command line that starts this stage, with a number for the stage and the command
    /// to run.
    pub(super) fn command(self, number: u64, command: &[OsString]) -> Command {
        // This is the running executable, whatever has become of its path: an upgrade may have
        // replaced the file.
        let mut line = Command::new("/proc/self/exe");
        line.arg0("hustings").arg(self.word()).arg(number.to_string()).args(command);
        line
    }
}

/// Runs one of the processes between agent and command, if the arguments, the program's name first,
/// select one. Returns the exit code in that case. A program that uses
/// [`supervise`](super::supervise) must call this first of all.
///
/// ```no_run
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     if let Some(code) = hustings_supervise::workload::stage_main(std::env::args_os()) {
///         return code;
///     }
///     // ... the program proper
///     ExitCode::SUCCESS
/// }
/// ```
pub fn stage_main(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter().skip(1);
    let word = arguments.next()?;
    let stage = Stage::ALL.into_iter().find(|stage| word == stage.word())?;
    let number = arguments.next();
    let command: Vec<OsString> = arguments.collect();
    let done = match number.as_deref().and_then(parse) {
        Some(number) => run(stage, number, &command),
        None => Err(io::ErrorKind::InvalidInput.into()),
    };
    Some(match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let stage = stage.word();
            // Without a reader of stderr the error is lost.
            let _ = writeln!(
                io::stderr(),
                "error: hustings {stage} failed: {error}: leave it to hustings run to start it"
            );
            ExitCode::from(125)
        }
    })
}

fn parse(number: &OsStr) -> Option<u64> {
    number.to_str()?.parse().ok()
}

fn run(stage: Stage, number: u64, command: &[OsString]) -> io::Result<()> {
    match stage {
        Stage::Warden => {
            adopt_orphans(c"hustings-warden")?;
            ward(number, command)
        }
        Stage::Guardian => {
            adopt_orphans(c"hustings-guard")?;
            guard(Duration::from_millis(number), command)
        }
        Stage::Exec => match become_command(number, command) {
            Ok(never) => match never {},
            Err(error) => Err(error),
        },
    }
}

/// Makes every orphan among the descendants of this process its child.
fn adopt_orphans(name: &CStr) -> io::Result<()> {
    // Otherwise the process name would be "exe", from the path of the executable.
    set_name(name)?;
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Starts the guardian. If the guardian ends and leaves processes behind, it was killed: then they
/// are killed too.
///
/// The agent also sends the end of the tenure to the warden. The warden kills a guardian that is
/// still running just before: it is stopped (STOP) or hangs, and so is the agent, which would have
/// killed it earlier. If the agent has ended, the guardian has to kill the command, and the warden
/// keeps sending it CONT until it ends.
fn ward(grace_millis: u64, command: &[OsString]) -> io::Result<()> {
    // The agent handles signals for the command, so this process ignores them.
    let mut poller = Poller::begin(meant_for_the_command()?)?;
    let fd_passing::Handed { socket, input, .. } = fd_passing::receive()?;
    let mut agent = LineReader::new(socket);
    let mut deadline = None;
    // Orders that the agent wrote before it started this process have arrived by now.
    heed(&mut agent, &mut deadline);
    let guardian = Stage::Guardian.command(grace_millis, command).stdin(input).spawn()?;
    let guardian = Pid::from_child(&guardian);
    let mut sweep: Option<Sweep> = None;
    loop {
        let reaped = reap()?;
        if !reaped.others {
            return Ok(());
        }
        if reaped.ended.iter().any(|(pid, _)| *pid == guardian) {
            sweep = Some(Sweep::begin());
        }
        let last_chance = deadline.map(Deadline::last_chance_at);
        let is_last = last_chance.is_some_and(|time| time <= clock::now());
        match &mut sweep {
            Some(sweep) => sweep.go(),
            // The guardian is a child that has not been reaped, so no other process can have its
            // id.
            None if is_last => send(guardian, Signal::KILL),
            None if agent.has_ended => send(guardian, Signal::CONT),
            None => {}
        }
        let again_at = match sweep.is_some() || is_last || agent.has_ended {
            true => Some(clock::now() + SWEEP_EVERY),
            false => last_chance,
        };
        let socket = Some(agent.socket.as_fd()).filter(|_| !agent.has_ended);
        let socket: Vec<BorrowedFd<'_>> = socket.into_iter().collect();
        poller.wait(&socket, again_at)?;
        poller.sent();
        heed(&mut agent, &mut deadline);
    }
}

/// Carries out the orders for the warden. All others are for the guardian.
fn heed(agent: &mut LineReader<UnixStream>, deadline: &mut Option<Deadline>) {
    for line in agent.arrived() {
        match line.parse() {
            Ok(Order::Until(until)) => *deadline = Some(until),
            Ok(Order::Ping) => _ = tell(&agent.socket, &Report::Alive),
            Ok(Order::SoftLimit(files)) => descriptors::lower_limit(files),
            Ok(Order::Stop(_) | Order::Pass(_) | Order::LastWill(_)) | Err(_) => {}
        }
    }
}

/// Becomes the command, which dies with the guardian. Returns only if that fails.
fn become_command(guardian: u64, command: &[OsString]) -> io::Result<Infallible> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // If the guardian died before that call, no signal will come.
    let parent = getppid().and_then(|pid| u64::try_from(pid.as_raw_nonzero().get()).ok());
    if parent != Some(guardian) {
        return Err(io::Error::other("its guardian has ended"));
    }
    let fd_passing::Handed { mut socket, input, .. } = fd_passing::receive()?;
    let [program, arguments @ ..] = command else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    // On success the socket closes without data.
    let error = Command::new(program).args(arguments).stdin(input).exec();
    let errno = error.raw_os_error().unwrap_or(0);
    socket.write_all(errno.to_string().as_bytes())?;
    // The agent reports the error to the user: this process has done its work.
    std::process::exit(125)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_arguments_are_left_to_the_program() {
        for line in ["", "hustings", "hustings run", "hustings run __exec"] {
            let arguments = line.split_whitespace().map(OsString::from);
            assert!(stage_main(arguments).is_none(), "{line}");
        }
    }
}
