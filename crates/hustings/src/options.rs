//! The options that commands share: those of all protocols, for `sim` and `theory` alike, and the agent's.

pub(crate) mod agent;
mod conditions;
pub(crate) mod environment;
pub(crate) mod seats;
pub(crate) mod values;

use clap::{Args, ValueEnum};

pub(crate) use conditions::{Conditions, no_closed_form};
use conditions::{FaultOptions, NetworkOptions};

/// The options that all protocols share.
#[derive(Debug, Args)]
pub(crate) struct Common {
    #[command(flatten)]
    network: NetworkOptions,
    #[command(flatten)]
    faults: FaultOptions,
    #[command(flatten)]
    pub(crate) experiment: ExperimentOptions,
}

impl Common {
    /// The conditions under which the election is held.
    pub(crate) fn conditions(&self) -> Conditions {
        Conditions::new(&self.network, &self.faults)
    }
}

/// How often, from which chance, on how many threads, and how to print the result.
#[derive(Debug, Args)]
#[command(next_help_heading = "Experiment")]
pub(crate) struct ExperimentOptions {
    /// How many runs
    #[arg(long, value_name = "R", default_value = "1000", allow_negative_numbers = true,
          value_parser = values::whole(1..=1_000_000_000_000_u64))]
    pub(crate) runs: u64,

    /// Where all chance comes from: the same seed gives the same result
    #[arg(long, value_name = "S", default_value = "1", allow_negative_numbers = true,
          value_parser = values::whole(0..=u64::MAX))]
    pub(crate) seed: u64,

    /// How many threads; 0 means one a core. The result does not depend on it
    #[arg(long, value_name = "T", default_value = "0", allow_negative_numbers = true,
          value_parser = values::whole(0..=1024_u16))]
    pub(crate) threads: u16,

    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// How to print a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for people
    Text,
    /// One object on one line
    Json,
    /// One row a metric, under one line of headings
    Csv,
}

/// What an option's value is called on the command line.
pub(crate) fn name_of(value: &impl ValueEnum) -> String {
    value
        .to_possible_value()
        .map_or_else(String::new, |value| value.get_name().to_owned())
}
