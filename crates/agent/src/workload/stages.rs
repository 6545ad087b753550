//! The processes between the agent and the command: how they are started, and what they do first.

use std::convert::Infallible;
use std::ffi::{CStr, OsStr, OsString};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use hustings_protocol::Duration;
use rustix::process::{
    Pid, Signal, getpid, getppid, set_child_subreaper, set_parent_process_death_signal,
};
use rustix::thread::set_name;

use super::guardian::guard;
use super::signals::meant_for_the_command;
use crate::processes::{SWEEP_EVERY, Sweep, reap, send};
use crate::vigil::Vigil;
use crate::{clock, handover};

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

/// Starts the guardian. If it ends and leaves anyone behind, it was killed: then so are they. If the agent has ended the
/// guardian has to kill the command: then whoever stops it (STOP) does not keep it from that.
fn ward(grace_millis: u64, command: &[OsString]) -> io::Result<()> {
    // Signals that reach this process are the command's and the agent's affair.
    let mut vigil = Vigil::begin(meant_for_the_command()?)?;
    let guardian = Stage::Guardian.command(grace_millis, command).spawn()?;
    let guardian = Pid::from_child(&guardian);
    let mut sweep: Option<Sweep> = None;
    // The guardian reads from it. Here only its end is of interest.
    let agent = io::stdin();
    let mut has_agent_ended = false;
    loop {
        let reaped = reap()?;
        if !reaped.others {
            return Ok(());
        }
        if reaped.ended.iter().any(|(pid, _)| *pid == guardian) {
            sweep = Some(Sweep::begin());
        }
        let is_urgent = sweep.is_some() || has_agent_ended;
        let again_at = is_urgent.then(|| clock::now() + SWEEP_EVERY);
        match &mut sweep {
            Some(sweep) => sweep.go()?,
            None if has_agent_ended => send(guardian, Signal::CONT),
            None => {}
        }
        let agent = Some(agent.as_fd()).filter(|_| !has_agent_ended);
        has_agent_ended |= vigil.wait_for_end(agent, again_at)?;
        vigil.sent();
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
