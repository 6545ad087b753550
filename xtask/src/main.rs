//! The project's development tasks, run as `cargo xtask TASK`.
//!
//! A new task is a file beside this one, a variant of [`Chore`] and an arm of the `match` in
//! `main`.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "chores run in the real world, and are timed by its clock"
)]

mod packages;
mod programs;
mod shell;
mod steps;
mod suites;
mod test_command;

use clap::{Args, Parser, Subcommand};
use std::error::Error;
use std::ffi::OsString;
use std::process::ExitCode;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The project's development tasks
#[derive(Parser)]
#[command(
    bin_name = "cargo xtask",
    after_help = "Exit codes: 0 done, 1 failed, 2 wrong use.\n\
                  Before you send a change: cargo xtask test"
)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Check everything that must hold before a change is merged
    Test(test_command::Options),
    /// Run the benchmarks and compare them with their limits
    Bench,
    /// Run real agents on five hosts (network namespaces), and print how fast they are
    #[command(disable_help_flag = true)]
    Field(HandedOn),
    /// Search every run of tenure within the bounds of a model, and print the number of states
    Model(programs::ModelOptions),
    /// Run tenure under random faults from many seeds, and print the results
    #[command(disable_help_flag = true)]
    Storm(HandedOn),
    /// Hold thousands of probabilistic elections with tenure, and print their cost
    Reign(programs::ReignOptions),
    /// Hold fair draws over real sockets, and print their speed and their messages
    Draws(programs::DrawsOptions),
}

/// Arguments for another program, including `--help`.
#[derive(Args)]
struct HandedOn {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().chore {
        Chore::Test(options) => test_command::run(&options).map(|()| ExitCode::SUCCESS),
        Chore::Bench => programs::bench(),
        Chore::Field(handed_on) => programs::field(&handed_on),
        Chore::Model(options) => programs::model(&options).map(|()| ExitCode::SUCCESS),
        Chore::Storm(handed_on) => programs::storm(&handed_on),
        Chore::Reign(options) => programs::reign(&options).map(|()| ExitCode::SUCCESS),
        Chore::Draws(options) => programs::draws(&options).map(|()| ExitCode::SUCCESS),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Arguments;
    use clap::CommandFactory;

    #[test]
    fn arguments_are_well_formed() {
        Arguments::command().debug_assert();
    }
}
