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
    // What `hustings run` starts to watch over its command is this program again.
    if let Some(code) = hustings_agent::workload::stage_main(std::env::args_os()) {
        return code;
    }
    // Other hosts' connections take descriptors.
    hustings_agent::descriptors::raise_limit();
    let arguments = match commands::Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => options::environment::name_variable(error).exit(),
    };
    match arguments.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.tell(),
    }
}
