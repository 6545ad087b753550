//! Why the program ends without having done what it was asked for.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// Why the program ends without having done what it was asked for.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line, or a file that it names, cannot be used as it is.
    Usage(String),
    /// The command line was right, but something went wrong.
    Failed(String),
    /// The user stopped the experiment; what was done until then is reported.
    Interrupted {
        /// Runs done.
        done: u64,
        /// Runs asked for.
        asked: u64,
    },
    /// The command that was run ended so, or could not be run; or there is a code for what came out. It has been said.
    Exit(u8),
    /// Nobody reads what we write: no reason to complain.
    ClosedPipe,
}

impl Failure {
    /// A file given with `option` cannot be used.
    pub(crate) fn file(option: &str, path: &Path, reason: impl Display) -> Self {
        Self::Usage(format!("{option} {}: {reason}", path.display()))
    }

    /// Standard output could not be written.
    pub(crate) fn output(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::Failed(format!("cannot write the report: {error}")),
        }
    }

    /// Tells the user, and with what code to exit.
    pub(crate) fn tell(&self) -> ExitCode {
        match self {
            Self::Usage(what) => {
                say(&format!("error: {what}"));
                ExitCode::from(2)
            }
            Self::Failed(what) => {
                say(&format!("error: {what}"));
                ExitCode::FAILURE
            }
            Self::Interrupted { done, asked } => {
                say(&format!("interrupted: {done} of {asked} runs"));
                ExitCode::FAILURE
            }
            Self::Exit(code) => ExitCode::from(*code),
            Self::ClosedPipe => ExitCode::SUCCESS,
        }
    }
}

/// Says something on standard error. If nobody listens there, there is nobody to tell.
pub(crate) fn say(what: &str) {
    let _ = writeln!(io::stderr(), "{what}");
}
