//! The project's chores, run as `cargo xtask CHORE`.
//!
//! A new chore is a file beside this one, a variant of [`Chore`] and an arm of the `match` in `main`.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "chores run in the real world, and are timed by its clock"
)]

mod bench;
mod deny;
mod draws;
mod field;
mod model;
mod packages;
mod reign;
mod shell;
mod steps;
mod storm;
mod test_command;

use clap::{Parser, Subcommand};
use std::error::Error;
use std::process::ExitCode;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The project's chores
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
    /// Check everything that must hold before a change goes in
    Test(test_command::Options),
    /// Measure the simulator against a plain hand-written loop
    Bench,
    /// Try real agents on five hosts (network namespaces), and print how fast they are
    Field(field::Options),
    /// Search every run of tenure that fits in a model, and print how many states there were
    Model(model::Options),
    /// Take tenure through random faults from many seeds, and print what happened
    Storm(storm::Options),
    /// Hold thousands of probabilistic elections with tenure, and print what they cost
    Reign(reign::Options),
    /// Hold fair draws over real sockets, and print how fast they are and what they send
    Draws(draws::Options),
    /// Throw wrong packets at an agent: a part of the field tests
    #[command(hide = true)]
    Barrage(field::barrage::Options),
    /// Record the datagrams that a host receives, or send them again: a part of the field tests
    #[command(hide = true)]
    Wiretap(field::wiretap::Options),
    /// Hold connections to an agent open and say nothing: a part of the field tests
    #[command(hide = true)]
    IdleConnections(field::idle_connections::Options),
    /// Send or receive multicasts and do nothing else: the field measures what that costs
    #[command(hide = true)]
    Bare(field::bare::Options),
    /// Say when it begins, and wait: what the field runs under tenure
    #[command(hide = true)]
    Worker(field::authorities::worker::Options),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().chore {
        Chore::Test(options) => test_command::run(&options),
        Chore::Bench => bench::run(),
        Chore::Field(options) => field::run(&options),
        Chore::Model(options) => model::run(&options),
        Chore::Storm(options) => storm::run(&options),
        Chore::Reign(options) => reign::run(&options),
        Chore::Draws(options) => draws::run(&options),
        Chore::Barrage(options) => field::barrage::run(&options),
        Chore::Wiretap(options) => field::wiretap::run(&options),
        Chore::IdleConnections(options) => field::idle_connections::run(&options),
        Chore::Bare(options) => field::bare::run(&options),
        Chore::Worker(options) => field::authorities::worker::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
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
    fn the_arguments_are_well_formed() {
        Arguments::command().debug_assert();
    }
}
