//! cargo-deny: the one on this machine, or else one built once into the target directory.

use crate::Result;
use crate::shell::{self, cargo};
use std::process::Command;

/// What is built when the machine has none.
const VERSION: &str = "0.20.2";

/// The command that starts cargo-deny.
pub(crate) fn command() -> Result<Command> {
    if version(cargo(["deny"])).is_some() {
        return Ok(cargo(["deny"]));
    }
    let tools = shell::target().join("tools");
    let own = || {
        let mut command = Command::new(tools.join("bin").join("cargo-deny"));
        command.current_dir(shell::root());
        command
    };
    if version(own()).is_none_or(|version| version != format!("cargo-deny {VERSION}")) {
        println!("cargo-deny is not installed: building {VERSION} takes a minute or two, once");
        // Unoptimised: it runs once for each build, and takes far longer to build than to run.
        let mut install = cargo(["install", "cargo-deny", "--locked", "--debug"]);
        shell::run(install.args(["--version", VERSION, "--root"]).arg(&tools))?;
    }
    Ok(own())
}

/// What the program says of itself, if it is there at all.
fn version(mut program: Command) -> Option<String> {
    let output = program.arg("--version").output().ok()?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(said)
}
