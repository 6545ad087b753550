//! The `hustings` program. `hustings --help` is its manual.

mod commands;
mod elections;
mod failure;
mod interruption;
mod measure;
mod options;
mod report;
mod reproduce;
mod trial;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match commands::Arguments::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.tell(),
    }
}
