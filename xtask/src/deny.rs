//! cargo-deny: the installed one, or one that is built once into the target directory.

use crate::Result;
use crate::shell::{self, Console, cargo};
use std::path::PathBuf;
use std::process::Command;

/// The version that is built if none is installed.
const VERSION: &str = "0.20.2";

/// Returns a description of the build that is needed; `None` if cargo-deny is there.
pub(crate) fn announcement() -> Option<String> {
    found().is_none().then(|| {
        format!(
            "cargo-deny {VERSION}, into {}: checks the licences and sources of dependencies",
            tools().display()
        )
    })
}

/// Returns the command that starts cargo-deny. Builds cargo-deny first if there is none.
pub(crate) fn command(console: &mut Console) -> Result<Command> {
    if let Some(command) = found() {
        return Ok(command);
    }
    // An unoptimised build suffices: the program runs once for each build, and takes far longer to
    // build than to run.
    let mut install = cargo(["install", "cargo-deny", "--locked", "--debug"]);
    console.run(install.args(["--version", VERSION, "--root"]).arg(tools()))?;
    found().ok_or_else(|| "cargo-deny was built, and does not start".into())
}

fn found() -> Option<Command> {
    if version(cargo(["deny"])).is_some() {
        return Some(cargo(["deny"]));
    }
    let own = || {
        let mut command = Command::new(tools().join("bin").join("cargo-deny"));
        command.current_dir(shell::root());
        command
    };
    (version(own())? == format!("cargo-deny {VERSION}")).then(own)
}

fn tools() -> PathBuf {
    shell::target().join("tools")
}

/// Returns the output of `--version`, if the program is there.
fn version(mut program: Command) -> Option<String> {
    let output = program.arg("--version").output().ok()?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(said)
}
