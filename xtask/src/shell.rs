//! Other programs: how to find, print and run them.

use crate::Result;
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The package selection of every build of tests and lints. Cargo builds a dependency once for each
/// set of features. With other packages, or without examples, all dependencies would be built
/// again.
pub(crate) const WORKSPACE: [&str; 2] = ["--workspace", "--all-features"];

pub(crate) fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask lies in the workspace's root")
}

/// The directory that cargo builds in.
pub(crate) fn target() -> PathBuf {
    let chosen = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    root().join(chosen)
}

/// Returns a command of the cargo that runs this program, with arguments, in the workspace's root.
pub(crate) fn cargo<const N: usize>(arguments: [&str; N]) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// The place of a command: in the foreground, or in the background with captured output.
#[derive(Debug, Default)]
pub(crate) enum Console {
    /// The output of a command is shown as it is written.
    #[default]
    Front,
    /// A command runs at the lowest priority. Its output is collected here and shown later.
    Behind(String),
}

impl Console {
    /// Prints a line, or collects it.
    pub(crate) fn say(&mut self, line: &str) {
        match self {
            Self::Front => println!("{line}"),
            Self::Behind(kept) => *kept += &format!("{line}\n"),
        }
    }

    /// Prints a command, runs it to its end, and fails unless it succeeds.
    pub(crate) fn run(&mut self, command: &mut Command) -> Result<()> {
        let shown = show(command);
        self.say(&format!("$ {shown}"));
        let failed = |error| format!("`{shown}` did not start: {error}");
        let status = match self {
            Self::Front => command.status().map_err(failed)?,
            Self::Behind(kept) => {
                let output = yielding(command).output().map_err(failed)?;
                *kept += &String::from_utf8_lossy(&output.stdout);
                *kept += &String::from_utf8_lossy(&output.stderr);
                output.status
            }
        };
        match status.success() {
            true => Ok(()),
            false => Err(format!("`{shown}` ended with {status}").into()),
        }
    }
}

/// Returns the same command at the lowest scheduling priority.
fn yielding(command: &Command) -> Command {
    let mut nice = Command::new("nice");
    nice.args(["-n", "19"]).arg(command.get_program());
    nice.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => nice.env(name, value),
            None => nice.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        nice.current_dir(directory);
    }
    nice
}

/// Prints a command, runs it to its end, and fails unless it succeeds.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    Console::Front.run(command)
}

/// Runs a command to its end, and returns its exit code.
pub(crate) fn hand_on(command: &mut Command) -> Result<ExitCode> {
    let status =
        command.status().map_err(|error| format!("`{}` did not start: {error}", show(command)))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Returns the path of a program if it is in `PATH`.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|directory| directory.join(name)).find(|file| file.is_file())
}

/// Returns a command as a person would type it in the workspace's root.
fn show(command: &Command) -> String {
    let variables = command.get_envs().filter_map(|(name, value)| {
        let value = value?.to_string_lossy();
        Some(format!("{}={}", name.to_string_lossy(), quote(&value)))
    });
    let program = Path::new(command.get_program());
    let program = match program.strip_prefix(root()) {
        Ok(inside) => inside.as_os_str(),
        Err(_) => program.file_name().unwrap_or(program.as_os_str()),
    };
    let words = [program].into_iter().chain(command.get_args());
    let words = words.map(OsStr::to_string_lossy).map(|word| quote(&word));
    variables.chain(words).collect::<Vec<_>>().join(" ")
}

fn quote(word: &str) -> String {
    if word.contains(' ') { format!("'{word}'") } else { word.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::{Console, show};
    use std::process::Command;

    #[test]
    fn command_is_shown_as_typed_in_a_shell() {
        let mut command = Command::new("/somewhere/bin/cargo");
        command.args(["doc", "--no-deps"]);
        command.env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(show(&command), "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps");
    }

    #[test]
    fn background_output_is_collected() {
        let mut console = Console::Behind(String::new());
        let script = "echo $WORD; nice; echo oops >&2; exit 3";
        let error = console
            .run(Command::new("sh").args(["-c", script]).env("WORD", "hello"))
            .expect_err("it ends with 3");
        assert!(error.to_string().ends_with("ended with exit status: 3"));
        let Console::Behind(kept) = console else { unreachable!("it was behind") };
        let lines: Vec<&str> = kept.lines().skip(1).collect();
        assert_eq!(lines, ["hello", "19", "oops"]);
    }
}
