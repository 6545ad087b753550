//! Chores that build one program for release and run it: benchmarks, model, reign and draws.

use crate::packages::{self, NeededBy};
use crate::{Result, shell};
use clap::Args;
use std::process::{Command, ExitCode};

/// Runs the benchmarks. The program `limits` of `hustings-benches` compares them with their limits.
pub(crate) fn bench() -> Result<ExitCode> {
    packages::provide(NeededBy::Bench)?;
    let build = ["build", "--release", "--package", "hustings-benches"];
    shell::run(&mut shell::cargo(build))?;
    shell::hand_on(&mut Command::new(shell::target().join("release/limits")))
}

#[derive(Args)]
#[command(
    after_help = "The quick settings, and the wrong versions that must be caught, are a part of \
                        `cargo test -p hustings-model`."
)]
pub(crate) struct ModelOptions {
    /// Only the settings whose name contains this text
    #[arg(default_value = "", hide_default_value = true)]
    setting: String,
}

/// Explores every run of tenure in every setting, and prints the number of states.
pub(crate) fn model(options: &ModelOptions) -> Result<()> {
    let mut search =
        shell::cargo(["run", "--release", "--quiet", "--package", "hustings-model", "--"]);
    shell::run(search.arg(&options.setting))
}

#[derive(Args)]
#[command(
    after_help = "A fifth of all messages is lost; in each election members crash, of those who vote, relay or are named \
                  one in four, and five voters grant tenure, who are hardly ever elected themselves. The run stops where \
                  two members hold at once or a fence does not rise. A shorter run is a part of `cargo test -p hustings-sim`."
)]
pub(crate) struct ReignOptions {
    /// Number of elections in each group
    #[arg(long, default_value_t = 10_000)]
    elections: u64,
    /// Sizes of the groups
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 10_000, 100_000])]
    members: Vec<u32>,
}

/// Holds thousands of probabilistic elections with tenure, in groups of several sizes.
pub(crate) fn reign(options: &ReignOptions) -> Result<()> {
    let mut reign = shell::cargo([
        "run",
        "--release",
        "--quiet",
        "--package",
        "hustings-sim",
        "--example",
        "reign",
        "--",
    ]);
    reign.arg(options.elections.to_string());
    reign.args(options.members.iter().map(u32::to_string));
    shell::run(&mut reign)
}

#[derive(Args)]
#[command(
    after_help = "All members sit in one thread of one process: hosts of their own share the work, and wait for the \
                        network between them instead."
)]
pub(crate) struct DrawsOptions {
    /// Number of members: 25 in the paper
    #[arg(long, default_value_t = 25)]
    members: u32,
    /// Number of draws
    #[arg(long, default_value_t = 100)]
    draws: u32,
    /// Let the first member be silent whenever it loses, and count the outcomes of the draws
    /// instead
    #[arg(long)]
    abort: bool,
}

/// Holds fair draws over real sockets of this host, and measures their speed.
pub(crate) fn draws(options: &DrawsOptions) -> Result<()> {
    let mut draws = shell::cargo([
        "run",
        "--release",
        "--quiet",
        "--package",
        "hustings",
        "--example",
        "draws",
        "--",
    ]);
    draws.arg(options.members.to_string());
    draws.arg(options.draws.to_string());
    draws.args(options.abort.then_some("abort"));
    shell::run(&mut draws)
}
