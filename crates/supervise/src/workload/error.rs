//! The errors of supervision.

use std::ffi::{OsStr, OsString};
use std::io;

use rustix::io::Errno;

/// The reason why a workload could not be supervised. Except for [`Unseen`](Self::Unseen), no
/// process of the command is left.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The workload names no program.
    #[error("no command to run: give one after --")]
    NoCommand,
    /// The program does not exist, or the interpreter that its first line names is missing.
    #[error("command {0:?} not found: give its path, or a name in PATH")]
    NotFound(OsString),
    /// The file exists, but cannot be executed.
    #[error("cannot run command {command:?}: {source}: name a program that you may execute")]
    NotExecutable {
        /// The program as it was given.
        command: OsString,
        /// The error of the system.
        source: io::Error,
    },
    /// The interpreter that the first line of the script names does not exist or cannot be
    /// executed.
    #[error(
        "cannot run command {command:?}: its first line names the interpreter {interpreter:?}: {source}: install it, or change that line"
    )]
    NoInterpreter {
        /// The program as it was given.
        command: OsString,
        /// The interpreter.
        interpreter: OsString,
        /// The error of the system.
        source: io::Error,
    },
    /// The agent cannot receive signals, so it could not forward them.
    #[error("cannot listen for signals: {0}")]
    Signals(#[source] io::Error),
    /// All watchers of the command were killed or do not end, so no process knows what the command
    /// left behind. Tenure is not released any more: end the agent, and the tenure expires.
    #[error(
        "no process has seen the command end, and processes of it may still run: its tenure is not released, and runs out; find the remaining processes, and kill them"
    )]
    Unseen,
    /// The source of leadership has ended. The command was stopped.
    #[error("the agent ended without reporting the leader: see its log for the reason")]
    LeadershipUnknown,
}

impl Error {
    /// The code that a program should exit with: the code that a shell would use for the command,
    /// or 125 for failures of this program.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NotFound(_) => 127,
            Self::NoInterpreter { source, .. } if source.kind() == io::ErrorKind::NotFound => 127,
            Self::NotExecutable { .. } | Self::NoInterpreter { .. } => 126,
            Self::NoCommand | Self::Signals(_) | Self::Unseen | Self::LeadershipUnknown => 125,
        }
    }

    /// The error for a `command` that the system refused to execute.
    pub(super) fn refused(command: &OsStr, errno: i32) -> Self {
        if errno == Errno::NOENT.raw_os_error() {
            Self::NotFound(command.to_owned())
        } else {
            Self::NotExecutable {
                command: command.to_owned(),
                source: io::Error::from_raw_os_error(errno),
            }
        }
    }
}
