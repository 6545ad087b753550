//! `hustings keys`: secrets that the members of a group share.

use std::io::Write;

use clap::{Args, Subcommand};
use hustings_agent::seal::Key;

use crate::failure::Failure;

/// Make the secret that the members of a group share
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Keys {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Print a new key: 64 hexadecimal digits, drawn by the operating system
    Generate,
}

impl Keys {
    pub(super) fn run(self) -> Result<(), Failure> {
        match self.task {
            Task::Generate => generate(),
        }
    }
}

fn generate() -> Result<(), Failure> {
    let key =
        Key::generate().map_err(|error| Failure::Failed(format!("cannot draw a key: {error}")))?;
    let printed = writeln!(std::io::stdout(), "{}", String::from(key));
    printed.map_err(|error| Failure::output(&error))
}
