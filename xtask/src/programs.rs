//! Chores that build one program and run it: benchmarks, field, model, storm, reign and draws.

use crate::packages::{self, NeededBy};
use crate::shell::{self, WORKSPACE, cargo};
use crate::steps::Outcome;
use crate::{HandedOn, Result};
use clap::Args;
use std::process::{Command, ExitCode};

/// The exit code with which `hustings-field` reports that it cannot run on this machine.
const NOT_TRIED: i32 = 3;

/// Runs the benchmarks and compares them with their limits.
pub(crate) fn bench() -> Result<ExitCode> {
    packages::provide(NeededBy::Bench)?;
    shell::run(&mut cargo(["build", "--release", "--package", "hustings-benches"]))?;
    shell::hand_on(Command::new(shell::target().join("release/hustings-benches")).arg("limits"))
}

/// Passes all arguments on to `hustings-field`, and returns its exit code.
pub(crate) fn field(HandedOn { arguments }: &HandedOn) -> Result<ExitCode> {
    let asks_for = |option: &str| arguments.iter().any(|it| it == option);
    if !asks_for("--help") && !asks_for("-h") {
        packages::provide(NeededBy::Field)?;
        if asks_for("--cost") {
            packages::provide(NeededBy::Cost)?;
        }
    }
    shell::hand_on(field_program()?.args(arguments))
}

/// Tries the faults of the field whose name contains `fault`.
pub(crate) fn faults(fault: &str, packets: u64) -> Result<Outcome> {
    let packets = packets.to_string();
    let mut command = field_program()?;
    let status = command.args(["faults", "--fault", fault, "--packets", &packets]).status()?;
    match status.code() {
        Some(0) => Ok(Outcome::Passed),
        Some(NOT_TRIED) => {
            Ok(Outcome::Skipped("network namespaces are not allowed here, see above".to_owned()))
        }
        _ => Err("not all faults were borne, see above".into()),
    }
}

/// Builds `hustings-field` as tests are built, together with the programs that it starts.
fn field_program() -> Result<Command> {
    let mut build = cargo(["build"]);
    build.args(WORKSPACE);
    build.args(["--bin", "hustings-field", "--bin", "hustings", "--example", "writer"]);
    shell::run(&mut build)?;
    let mut command = Command::new(shell::target().join("debug/hustings-field"));
    command.current_dir(shell::root());
    Ok(command)
}

/// Returns the command that builds a target for release and runs it.
fn release(target: &[&str]) -> Command {
    let mut run = cargo(["run", "--release", "--quiet", "--package"]);
    run.args(target).arg("--");
    run
}

/// Passes all arguments on to the program `storm` of the model.
pub(crate) fn storm(HandedOn { arguments }: &HandedOn) -> Result<ExitCode> {
    shell::hand_on(release(&["hustings-model", "--bin", "storm"]).args(arguments))
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
    shell::run(release(&["hustings-model"]).arg(&options.setting))
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
    let mut reign = release(&["hustings-sim", "--example", "reign"]);
    reign.arg(options.elections.to_string());
    shell::run(reign.args(options.members.iter().map(u32::to_string)))
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
    let mut draws = release(&["hustings", "--example", "draws"]);
    draws.args([options.members, options.draws].map(|it| it.to_string()));
    shell::run(draws.args(options.abort.then_some("abort")))
}
