//! Why a workload could not be supervised.

use std::ffi::{OsStr, OsString};
use std::io;

use rustix::io::Errno;

/// Why a workload could not be supervised. But for [`Unseen`](Self::Unseen), no process of the command is left.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The workload names no program.
    #[error("no command to run: give one after --")]
    NoCommand,
    /// There is no such program, or the interpreter that its first line names is missing.
    #[error("command {0:?} not found: give its path, or a name that PATH has")]
    NotFound(OsString),
    /// There is such a file, but it cannot be run.
    #[error("cannot run command {command:?}: {source}: name a program that you may execute")]
    NotExecutable {
        /// The program as it was given.
        command: OsString,
        /// What the system said.
        source: io::Error,
    },
    /// The first line of the script names an interpreter that is not there, or cannot be run.
    #[error(
        "cannot run command {command:?}: its first line names the interpreter {interpreter:?}: {source}: install it, or change that line"
    )]
    NoInterpreter {
        /// The program as it was given.
        command: OsString,
        /// The interpreter.
        interpreter: OsString,
        /// What the system said.
        source: io::Error,
    },
    /// The agent cannot learn of signals, so it could not forward them.
    #[error("cannot listen for signals: {0}")]
    Signals(#[source] io::Error),
    /// All that watched over the command were killed, or do not end, so that nobody knows what it has left behind. Tenure
    /// is not given up any more: end the agent, and it runs out.
    #[error(
        "nobody has seen the command end, and something of it may still run: its tenure is not given up, it runs out; \
         look for what is left, and kill it"
    )]
    Unseen,
    /// Nobody says any more who leads: the command was stopped.
    #[error("the agent ended without saying who leads: see its log for the reason")]
    LeadershipUnknown,
}

impl Error {
    /// The code that a program should exit with: what a shell would say of the command, or 125 for our own
    /// failures.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NotFound(_) => 127,
            Self::NoInterpreter { source, .. } if source.kind() == io::ErrorKind::NotFound => 127,
            Self::NotExecutable { .. } | Self::NoInterpreter { .. } => 126,
            Self::NoCommand | Self::Signals(_) | Self::Unseen | Self::LeadershipUnknown => 125,
        }
    }

    /// The system refused to run `command`.
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
