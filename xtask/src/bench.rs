//! `cargo xtask bench`: runs the benchmarks. The program `limits` of `hustings-benches` compares
//! them with their limits.

use crate::packages::{self, NeededBy};
use crate::{Result, shell};
use std::process::{Command, ExitCode};

pub(crate) fn run() -> Result<ExitCode> {
    packages::provide(NeededBy::Bench)?;
    let build = ["build", "--release", "--package", "hustings-benches"];
    shell::run(&mut shell::cargo(build))?;
    shell::hand_on(&mut Command::new(shell::target().join("release/limits")))
}
