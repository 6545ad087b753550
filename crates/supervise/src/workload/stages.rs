//! The processes between the agent and the command: their start, and their first steps.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use hustings_protocol::Duration;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use super::guardian::run_guardian;
use super::warden::run_warden;
use crate::fd_passing;
use crate::watcher::own_executable;

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
        let mut line = own_executable("hustings".as_ref());
        line.arg(self.word()).arg(number.to_string()).args(command);
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
                "error: hustings {stage} failed: {error}: only hustings run can start this stage"
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
        Stage::Warden => run_warden(number, command),
        Stage::Guardian => run_guardian(Duration::from_millis(number), command),
        Stage::Exec => match become_command(number, command) {
            Ok(never) => match never {},
            Err(error) => Err(error),
        },
    }
}

/// Becomes the command, which dies with the guardian. Returns only if that fails.
fn become_command(guardian: u64, command: &[OsString]) -> io::Result<Infallible> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // If the guardian died before that call, no signal will come.
    let parent = getppid().and_then(|pid| u64::try_from(pid.as_raw_nonzero().get()).ok());
    if parent != Some(guardian) {
        return Err(io::Error::other("the command's guardian has ended"));
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
