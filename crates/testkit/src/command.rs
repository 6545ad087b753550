//! Command lines, and commands that run to their end.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

use crate::{Process, poll};

/// The time after which [`finish`] kills a command. The slowest one takes about 10 s on a busy
/// machine.
const FINISHED_WITHIN: Duration = Duration::from_secs(300);

/// The words before a command line that make the program end when this process ends, for whatever
/// reason.
pub const TIED: [&str; 3] = ["setpriv", "--pdeathsig", "KILL"];

/// Returns the command line of a program with these arguments, separated by blanks, without our
/// environment variables. Its standard input is empty, and its output is captured.
pub fn command(executable: impl AsRef<Path>, arguments: &str) -> Command {
    let mut command = Command::new(executable.as_ref());
    command.args(arguments.split_whitespace());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("HUSTINGS_") {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Returns a command that runs in a network namespace. The process is the program's, because
/// `ip netns exec` executes it.
pub fn in_namespace(namespace: &str, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace]).arg(program);
    command
}

/// Returns a path of this running program. The file that it was started from may have been rebuilt
/// meanwhile.
pub fn this_program() -> String {
    format!("/proc/{}/exe", std::process::id())
}

/// Returns the path of a program, from `PATH` or one of the other directories. The error names the
/// `package` that contains it.
pub fn find_program(name: &str, package: &str, elsewhere: Vec<PathBuf>) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain(elsewhere);
    let found = places.map(|place| place.join(name)).find(|it| it.exists());
    found.unwrap_or_else(|| panic!("{name} is missing: apt-get install {package}"))
}

/// The result of a program.
#[derive(Debug)]
pub struct Outcome {
    /// The exit code, or `None` if a signal ended the program.
    pub code: Option<i32>,
    /// The complete standard output.
    pub printed: String,
    /// The complete standard error.
    pub said: String,
}

impl Outcome {
    /// Runs a command to its end.
    pub fn of(command: &mut Command) -> io::Result<Self> {
        let output = command.output();
        let Output { status, stdout, stderr } = output
            .map_err(|error| io::Error::new(error.kind(), format!("{command:?}: {error}")))?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(Self { code: status.code(), printed: text(stdout), said: text(stderr) })
    }

    /// Returns the standard output. Panics if the exit code is not zero.
    #[track_caller]
    pub fn text(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.said);
        self.printed
    }

    /// Returns the standard output as JSON. Panics if the exit code is not zero.
    #[track_caller]
    pub fn json(self) -> Value {
        serde_json::from_str(&self.text()).expect("the program prints JSON")
    }
}

/// Runs a [`command`] to its end. Kills it and panics if it takes far too long: a command that
/// should have been refused may run for ever.
#[track_caller]
pub fn finish(command: &mut Command) -> Outcome {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = Process::spawn(command).expect("the program starts");
    let printed = read_whole(process.stdout.take());
    let said = read_whole(process.stderr.take());
    let status = poll(FINISHED_WITHIN, || process.try_wait().expect("it is our child"));
    let status = status.unwrap_or_else(|| panic!("{command:?}: runs after {FINISHED_WITHIN:?}"));
    let text = |reader: JoinHandle<String>| reader.join().expect("the program prints UTF-8");
    Outcome { code: status.code(), printed: text(printed), said: text(said) }
}

fn read_whole(stream: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut text = String::new();
        if let Some(mut stream) = stream {
            stream.read_to_string(&mut text).expect("the program prints UTF-8");
        }
        text
    })
}

/// Runs a command to its end and returns its standard output. Fails unless it succeeds, with its
/// exit code and standard error.
pub fn run(command: &mut Command) -> io::Result<String> {
    let Outcome { code, printed, said } = Outcome::of(command)?;
    let ended = match code {
        Some(0) => return Ok(printed),
        Some(code) => format!("exit code {code}"),
        None => "ended by a signal".to_owned(),
    };
    Err(io::Error::other(format!("{command:?}: {ended}: {}", said.trim())))
}

/// Runs all commands at once, because each may wait for the others. Fails unless all succeed.
pub fn run_together(commands: impl Iterator<Item = Command>) -> io::Result<()> {
    let run = |mut command: Command| thread::spawn(move || run(&mut command));
    let runs: Vec<_> = commands.map(run).collect();
    for run in runs {
        run.join().expect("a command that fails does not panic")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Outcome, command, finish, run, run_together};
    use crate::Scratch;
    use serde_json::json;
    use std::process::Command;

    fn shell(script: &str) -> Command {
        let mut shell = command("/bin/sh", "-c");
        shell.arg(script);
        shell
    }

    #[test]
    fn outcome_has_exit_code_and_both_streams() {
        for get in [finish, |command: &mut Command| Outcome::of(command).expect("it starts")] {
            let outcome = get(&mut shell("echo '{\"a\": 1}'; echo oops >&2"));
            assert_eq!((outcome.code, outcome.said.as_str()), (Some(0), "oops\n"));
            assert_eq!(outcome.json(), json!({"a": 1}));
        }
    }

    #[test]
    fn failed_command_is_an_error_with_its_standard_error() {
        assert_eq!(run(&mut shell("echo here")).expect("it succeeds"), "here\n");
        let error = run(&mut shell("echo why >&2; exit 3")).expect_err("it fails");
        assert!(error.to_string().ends_with("exit code 3: why"), "{error}");
        let error = run(&mut Command::new("/nowhere/program")).expect_err("it does not start");
        assert!(error.to_string().contains("/nowhere/program"), "{error}");
    }

    #[test]
    fn commands_run_concurrently_and_a_failure_is_reported() {
        let home = Scratch::new("testkit-fifo");
        let fifo = home.join("fifo");
        run(Command::new("mkfifo").arg(&fifo)).expect("mkfifo is there");
        let shell = |script: &str| {
            let mut command = Command::new("timeout");
            command.args(["20", "sh", "-c", script]).arg(&fifo);
            command
        };
        let both = [shell("echo word > $0"), shell("read word < $0")];
        run_together(both.into_iter()).expect("each waits for the other");
        let failed = run_together([shell("echo why >&2; exit 3")].into_iter());
        let error = failed.expect_err("it fails").to_string();
        assert!(error.ends_with("exit code 3: why"), "{error}");
    }
}
