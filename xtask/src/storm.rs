//! `cargo xtask storm`: takes tenure through random storms, and prints what they brought.

use crate::{Result, shell};
use clap::{Args, ValueEnum};

#[derive(Args)]
#[command(
    after_help = "A storm that breaks a promise is printed with the command that replays it. A shorter \
                        run, and the wrong versions that must be caught, are a part of \
                        `cargo test -p hustings-model`."
)]
pub(crate) struct Options {
    /// Only the storm of this seed, told line by line
    #[arg(long)]
    seed: Option<u64>,
    /// A wrong version instead of tenure itself: a file of crates/model/wrong, without its ending
    #[arg(long, value_name = "NAME")]
    version: Option<String>,
    /// How many messages must arrive
    #[arg(long, default_value_t = 200_000_000, conflicts_with = "seed")]
    messages: u64,
    /// As what to print it
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Table,
    Json,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let mut storm = shell::cargo([
        "run",
        "--release",
        "--quiet",
        "--package",
        "hustings-model",
        "--bin",
        "storm",
        "--",
    ]);
    match options.seed {
        Some(seed) => storm.arg(format!("--seed={seed}")),
        None => storm.arg(format!("--messages={}", options.messages)),
    };
    if let Some(version) = &options.version {
        storm.arg(format!("--version={version}"));
    }
    match options.format {
        Format::Table => shell::run(&mut storm),
        // Nothing else may stand on the output.
        Format::Json => shell::run_silently(storm.arg("--format=json")),
    }
}
