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
    /// The program ends with this exit code: that of the supervised command, or one that stands for
    /// the result. The message is already printed.
    Exit(u8),
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

    /// Reports that standard output could not be written. That its reader is gone is not an error.
    pub(crate) fn output(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Exit(0),
            _ => Self::cannot("write the report")(error),
        }
    }

    /// Returns success if `printed` failed only because the reader of standard output is gone. For a
    /// command whose result decides the exit code.
    pub(crate) fn unless_unread(printed: Result<(), Self>) -> Result<(), Self> {
        match printed {
            Err(Self::Exit(0)) => Ok(()),
            printed => printed,
        }
    }

    /// Prints the reason and returns the exit code.
    pub(crate) fn tell(&self) -> ExitCode {
        let (what, code) = match self {
            Self::Usage(what) => (what, 2),
            Self::Failed(what) => (what, 1),
            Self::Exit(code) => return ExitCode::from(*code),
        };
        say(&format!("error: {what}"));
        ExitCode::from(code)
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
