//! The processes between the agent and the command: their start, and their first steps.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use super::guardian::run_guardian;
use super::warden::run_warden;
use crate::fd_passing;
use crate::watcher::own_executable;

/// The first argument that selects a process between agent and command.
pub(super) const WARDEN: &str = "__warden";
pub(super) const GUARDIAN: &str = "__guardian";
pub(super) const EXEC: &str = "__exec";

/// Returns a command line that starts the process with this first argument. It gets a number, and
/// the command to run.
pub(super) fn stage_command(stage: &str, number: u64, command: &[OsString]) -> Command {
    let mut line = own_executable("hustings".as_ref());
    line.arg(stage).arg(number.to_string()).args(command);
    line
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
    let stage = arguments.next()?;
    let run: fn(u64, &[OsString]) -> io::Result<()> = match stage.to_str()? {
        WARDEN => run_warden,
        GUARDIAN => run_guardian,
        EXEC => become_command,
        _ => return None,
    };
    let number = arguments.next().and_then(|number| number.to_str()?.parse().ok());
    let command: Vec<OsString> = arguments.collect();
    let done = number.ok_or_else(|| io::ErrorKind::InvalidInput.into());
    Some(match done.and_then(|number| run(number, &command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Without a reader of stderr the error is lost.
            let _ = writeln!(
                io::stderr(),
                "error: hustings {} failed: {error}: only hustings run can start this stage",
                stage.display()
            );
            ExitCode::from(125)
        }
    })
}

/// Becomes the command, which dies with the guardian. Returns only if that fails.
fn become_command(guardian: u64, command: &[OsString]) -> io::Result<()> {
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
