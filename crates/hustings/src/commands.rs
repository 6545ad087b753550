//! The commands: one file each.

mod reproduce;
mod sim;
mod theory;

use clap::{Parser, Subcommand};

use crate::failure::Failure;

/// Leader election: a laboratory for the classic protocols.
#[derive(Debug, Parser)]
#[command(
    name = "hustings",
    version,
    about = "Leader election: measure the protocols in a simulator, compare with the closed forms",
    after_help = EXIT_CODES,
    arg_required_else_help = true
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Sim(sim::Sim),
    Theory(theory::Theory),
    Reproduce(reproduce::Reproduce),
}

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 failed or interrupted; 2 a wrong option, or a file that cannot be used.";

impl Arguments {
    /// Does what the command line says.
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.command {
            Command::Sim(sim) => sim.run(),
            Command::Theory(theory) => theory.run(),
            Command::Reproduce(reproduce) => reproduce.run(),
        }
    }
}
