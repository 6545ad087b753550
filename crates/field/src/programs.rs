//! Builds the programs under test with cargo and returns their paths.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;

/// The profile that a program is built with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Build {
    /// For measurements.
    Release,
    /// For tests. Most of this build usually exists already.
    Dev,
}

/// Builds the program `hustings` and returns its path.
pub(crate) fn program(made: Build) -> Result<PathBuf> {
    match made {
        Build::Release => release(&["--bin", "hustings"], "hustings"),
        Build::Dev => dev("hustings"),
    }
}

/// Builds the target `what` in release mode and returns the path of `file`. The package is that of
/// the program unless `what` names another.
pub(crate) fn release(what: &[&str], file: &str) -> Result<PathBuf> {
    run(cargo(&["build", "--release"]).args(what))?;
    built("release", file)
}

/// Builds everything that the tests need and returns the path of `file`.
///
/// The build uses the same flags as the tests do. A package alone, or without an example, would
/// select other features of its dependencies, and cargo would build all of them again.
pub(crate) fn dev(file: &str) -> Result<PathBuf> {
    let what = ["--bin", "hustings", "--example", "writer"];
    run(cargo(&["build", "--workspace", "--all-features"]).args(what))?;
    built("debug", file)
}

fn built(directory: &str, file: &str) -> Result<PathBuf> {
    let target = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let target = root().join(target);
    Ok(target.join(directory).join(file).canonicalize()?)
}

fn root() -> &'static Path {
    let field = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = field.parent().expect("this crate lies in `crates`");
    crates.parent().expect("`crates` lies in the root")
}

fn cargo(arguments: &[&str]) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// Prints a cargo command, runs it to its end, and fails unless it succeeds.
fn run(command: &mut Command) -> Result<()> {
    let words = command.get_args().map(|word| word.to_string_lossy());
    let shown = format!("cargo {}", words.collect::<Vec<_>>().join(" "));
    println!("$ {shown}");
    let status = command.status().map_err(|error| format!("`{shown}` did not start: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("`{shown}` ended with {status}").into()),
    }
}
