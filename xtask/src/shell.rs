//! Other programs: how to name them, show them and run them.

use crate::Result;
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The workspace's root directory.
pub(crate) fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask lies in the workspace's root")
}

/// Where cargo builds.
pub(crate) fn target() -> PathBuf {
    let chosen = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    root().join(chosen)
}

/// The cargo that runs us, with its arguments, in the workspace's root.
pub(crate) fn cargo<const N: usize>(arguments: [&str; N]) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// Shows a command, runs it to its end, and fails unless it succeeds.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    println!("$ {}", show(command));
    run_silently(command)
}

/// The same, but does not show it.
pub(crate) fn run_silently(command: &mut Command) -> Result<()> {
    let shown = show(command);
    let status = command
        .status()
        .map_err(|error| format!("`{shown}` did not start: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("`{shown}` ended with {status}").into())
    }
}

/// The file of a program, if it can be found as a shell would find it.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|directory| directory.join(name))
        .find(|file| file.is_file())
}

/// A command as a person would type it in the workspace's root.
pub(crate) fn show(command: &Command) -> String {
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
    if word.contains(' ') {
        format!("'{word}'")
    } else {
        word.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::show;
    use std::process::Command;

    #[test]
    fn a_command_is_shown_as_one_would_type_it() {
        let mut command = Command::new("/somewhere/bin/cargo");
        command.args(["doc", "--no-deps"]);
        command.env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(
            show(&command),
            "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps"
        );
    }
}
