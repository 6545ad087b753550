//! The reasons for which the program ends unsuccessfully, and their exit codes.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// The reason for which the program ends unsuccessfully.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line, or a file that it names, is invalid.
    Usage(String),
    /// The command line was valid, but the command failed.
    Failed(String),
    /// The user stopped the experiment; the completed runs are reported.
    Interrupted {
        /// The number of completed runs.
        done: u64,
        /// The number of requested runs.
        asked: u64,
    },
    /// The program ends with this exit code: that of the supervised command, or one that stands for
    /// the result. The message is already printed.
    Exit(u8),
    /// The reader of standard output is gone. This is not an error.
    ClosedPipe,
}

impl Failure {
    /// Reports that the command failed with this error.
    pub(crate) fn failed(error: impl Display) -> Self {
        Self::Failed(error.to_string())
    }

    /// Reports that the command line leads to this error.
    pub(crate) fn usage(error: impl Display) -> Self {
        Self::Usage(error.to_string())
    }

    /// Returns a function that reports an error of an action that failed: "cannot `action`".
    pub(crate) fn cannot<E: Display>(action: &str) -> impl Fn(E) -> Self {
        move |error| Self::Failed(format!("cannot {action}: {error}"))
    }

    /// Reports that a file given with `option` cannot be used.
    pub(crate) fn file(option: &str, path: &Path, reason: impl Display) -> Self {
        Self::Usage(format!("{option} {}: {reason}", path.display()))
    }

    /// Reports that standard output could not be written.
    pub(crate) fn output(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::Failed(format!("cannot write the report: {error}")),
        }
    }

    /// Prints the reason and returns the exit code.
    pub(crate) fn tell(&self) -> ExitCode {
        match self {
            Self::Usage(what) | Self::Failed(what) => say(&format!("error: {what}")),
            Self::Interrupted { done, asked } => {
                say(&format!("interrupted: {done} of {asked} runs"));
            }
            Self::Exit(_) | Self::ClosedPipe => {}
        }
        match self {
            Self::Usage(_) => ExitCode::from(2),
            Self::Failed(_) | Self::Interrupted { .. } => ExitCode::FAILURE,
            Self::Exit(code) => ExitCode::from(*code),
            Self::ClosedPipe => ExitCode::SUCCESS,
        }
    }
}

/// Prints a text on standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    printed.map_err(|error| Failure::output(&error))
}

/// Prints a line on standard error. An error while printing is ignored, because there is no other
/// place to report it.
pub(crate) fn say(what: &str) {
    let _ = writeln!(io::stderr(), "{what}");
}
