//! `cargo xtask field`: runs the program `hustings-field` and installs its packages. Its faults are
//! also a step of the tests.

use crate::packages::{self, NeededBy};
use crate::shell::{self, WORKSPACE, cargo};
use crate::steps::Outcome;
use crate::{HandedOn, Result};
use std::process::{Command, ExitCode};

/// The exit code with which `hustings-field` reports that it cannot run on this machine.
const NOT_TRIED: i32 = 3;

/// Passes all arguments on, and returns the program's exit code.
pub(crate) fn run(HandedOn { arguments }: &HandedOn) -> Result<ExitCode> {
    let asks_for = |option: &str| arguments.iter().any(|it| it == option);
    if !asks_for("--help") && !asks_for("-h") {
        packages::provide(NeededBy::Field)?;
        if asks_for("--cost") {
            packages::provide(NeededBy::Cost)?;
        }
    }
    shell::hand_on(program()?.args(arguments))
}

/// Tries the faults whose name contains `fault`.
pub(crate) fn faults(fault: &str, packets: u64) -> Result<Outcome> {
    let mut command = program()?;
    command.args(["faults", "--fault", fault]);
    command.args(["--packets", &packets.to_string()]);
    let status = command.status()?;
    match status.code() {
        Some(0) => Ok(Outcome::Passed),
        Some(NOT_TRIED) => Ok(Outcome::Skipped {
            reason: "network namespaces are not allowed here, see above".to_owned(),
        }),
        _ => Err("not all faults were borne, see above".into()),
    }
}

/// Builds the program as tests are built, together with the programs that it starts.
fn program() -> Result<Command> {
    let mut build = cargo(["build"]);
    build.args(WORKSPACE);
    build.args(["--bin", "hustings-field", "--bin", "hustings"]);
    build.args(["--example", "writer"]);
    shell::run(&mut build)?;
    let mut command = Command::new(shell::target().join("debug/hustings-field"));
    command.current_dir(shell::root());
    Ok(command)
}
