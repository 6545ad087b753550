//! The options that commands share: those of all protocols, for `sim` and `theory` alike, and those
//! of the agent.

pub(crate) mod agent_options;
mod conditions;
pub(crate) mod environment;
pub(crate) mod named;
pub(crate) mod seats;
pub(crate) mod values;

use clap::{Args, ValueEnum};

pub(crate) use conditions::{Common, Setup, no_closed_form, require_closed_form};
pub(crate) use named::{Named, one_of};
pub(crate) use values::SignedArg;

/// The options of an experiment: runs, seed, threads and output format.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Experiment")]
pub(crate) struct ExperimentOptions {
    /// The number of runs
    #[arg(long, value_name = "R", default_value = "1000",
          number = values::whole(1..=1_000_000_000_000_u64))]
    pub(crate) runs: u64,

    #[command(flatten)]
    pub(crate) chance: ChanceOptions,

    /// The output format of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// The options for randomness and its threads.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct ChanceOptions {
    /// The seed of all randomness: the same seed gives the same result
    #[arg(long, value_name = "S", default_value = "1", number = values::whole(0..=u64::MAX))]
    pub(crate) seed: u64,

    /// The number of threads; 0 means one per core. The result does not depend on it
    #[arg(long, value_name = "T", default_value = "0", number = values::whole(0..=1024_u16))]
    pub(crate) threads: u16,
}

/// The output formats of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for people
    Text,
    /// One JSON object on one line
    Json,
    /// One row per metric under one header line
    Csv,
}

/// Returns the name of an option's value on the command line.
pub(crate) fn name_of(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}
