//! The `hustings` program. `hustings --help` is its manual.

mod commands;
mod elections;
mod failure;
mod options;
mod report;
mod simulation;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    // The processes that watch over the command of `hustings run` are this program again.
    if let Some(code) = hustings_agent::workload::stage_main(std::env::args_os()) {
        return code;
    }
    // Connections from other hosts take file descriptors.
    hustings_agent::fd_limit::raise_limit();
    let arguments = match commands::Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => options::environment::name_variable(error).exit(),
    };
    match arguments.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.tell(),
    }
}
