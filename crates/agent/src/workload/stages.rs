//! The processes between the agent and the command: how they are started, and what they do first.

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
use super::lines::{Order, Report, tell};
use super::signals::meant_for_the_command;
use crate::inbox::Inbox;
use crate::processes::{SWEEP_EVERY, Sweep, reap, send};
use crate::vigil::Vigil;
use crate::{clock, descriptors, handover};

/// A process that the agent's executable can be started as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Warden,
    Guardian,
    Exec,
}

impl Stage {
    const ALL: [Self; 3] = [Self::Warden, Self::Guardian, Self::Exec];

    /// The first argument that makes the executable this stage.
    fn word(self) -> &'static str {
        match self {
            Self::Warden => "__warden",
            Self::Guardian => "__guardian",
            Self::Exec => "__exec",
        }
    }

    /// A command line that starts this stage, with a number for itself and the command that it is all about.
    pub(super) fn command(self, number: u64, command: &[OsString]) -> Command {
        // Whatever has become of its path, this is the executable that we are: an upgrade may have replaced the
        // file.
        let mut line = Command::new("/proc/self/exe");
        line.arg0("hustings")
            .arg(self.word())
            .arg(number.to_string())
            .args(command);
        line
    }
}

/// If these arguments, the program's name first, ask for one of the processes between agent and command: does
/// its work, and says with what code to exit. The program that calls [`supervise`](super::supervise) calls this
/// first of all.
///
/// ```no_run
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     if let Some(code) = hustings_agent::workload::stage_main(std::env::args_os()) {
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
            // If nobody listens there, there is nobody to tell.
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

/// Whatever becomes an orphan below this process becomes its child.
fn adopt_orphans(name: &CStr) -> io::Result<()> {
    // The executable was started by a path that would make it "exe" in lists of processes.
    set_name(name)?;
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Starts the guardian. If it ends and leaves anyone behind, it was killed: then so are they.
///
/// The agent tells the end of the tenure to the warden too. A guardian that is still there just before is killed: it is
/// stopped (STOP) or hangs, and so is the agent, which would have killed it earlier. If the agent has ended, the guardian
/// has to kill the command: then the warden continues it for as long as it lives.
fn ward(grace_millis: u64, command: &[OsString]) -> io::Result<()> {
    // Signals that reach this process are the command's and the agent's affair.
    let mut vigil = Vigil::begin(meant_for_the_command()?)?;
    let handover::Handed { socket, input, .. } = handover::receive()?;
    let mut agent = Inbox::new(socket);
    let mut deadline = None;
    // What the agent said before it started this process is there by now.
    heed(&mut agent, &mut deadline);
    let guardian = Stage::Guardian
        .command(grace_millis, command)
        .stdin(input)
        .spawn()?;
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
            // The guardian is an own child that has not been reaped: no other process can have its number.
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
        vigil.wait(&socket, again_at)?;
        vigil.sent();
        heed(&mut agent, &mut deadline);
    }
}

/// Does what the agent wants of the warden. All else is for the guardian.
fn heed(agent: &mut Inbox<UnixStream>, deadline: &mut Option<Deadline>) {
    for line in agent.arrived() {
        match line.parse() {
            Ok(Order::Until(until)) => *deadline = Some(until),
            Ok(Order::Ping) => _ = tell(&agent.socket, &Report::Alive),
            Ok(Order::SoftLimit(files)) => descriptors::lower_limit(files),
            Ok(Order::Stop(_) | Order::Pass(_) | Order::LastWords(_)) | Err(_) => {}
        }
    }
}

/// Becomes the command, which dies with the guardian. Returns only if that fails.
fn become_command(guardian: u64, command: &[OsString]) -> io::Result<Infallible> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The guardian may have died before that: then no signal will come.
    let parent = getppid().and_then(|pid| u64::try_from(pid.as_raw_nonzero().get()).ok());
    if parent != Some(guardian) {
        return Err(io::Error::other("its guardian has ended"));
    }
    let handover::Handed {
        mut socket, input, ..
    } = handover::receive()?;
    let [program, arguments @ ..] = command else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    // On success the socket closes without a word.
    let error = Command::new(program).args(arguments).stdin(input).exec();
    let errno = error.raw_os_error().unwrap_or(0);
    socket.write_all(errno.to_string().as_bytes())?;
    // The agent tells the user: here all went as it should.
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
