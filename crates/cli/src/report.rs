//! Reports as text, JSON or CSV.

mod csv;
mod json;
mod text;

use std::io::{self, Write};

use hustings_sim::statistics::Estimate;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::failure::Failure;
use crate::options::Format;

/// All settings in effect by name, in the order of display.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parameters(Vec<(&'static str, Value)>);

impl Parameters {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.0.push((name, value.into()));
        self
    }

    pub(crate) fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }
}

impl Serialize for Parameters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// The findings about one protocol.
#[derive(Debug)]
pub(crate) struct Report {
    /// The protocol's name on the command line.
    pub(crate) protocol: &'static str,
    /// The settings of the election in one sentence for people.
    pub(crate) sentence: String,
    /// The settings of the election for programs.
    pub(crate) parameters: Parameters,
    pub(crate) findings: Findings,
}

/// The findings of a simulation or of closed forms.
#[derive(Debug)]
pub(crate) enum Findings {
    /// Findings of a simulation.
    Measured {
        /// The number of completed runs.
        runs: u64,
        /// The seed of the runs.
        seed: u64,
        /// The estimate of each metric, or `None` if no run has a value.
        metrics: Vec<(String, Option<Estimate>)>,
    },
    /// Values of closed forms.
    Computed {
        /// The values of the metrics that have one.
        values: Vec<(String, f64)>,
        /// The metrics without a value under these conditions.
        missing: Vec<&'static str>,
    },
}

impl Report {
    /// Prints the report on standard output.
    pub(crate) fn print(&self, format: Format) -> Result<(), Failure> {
        let text = match format {
            Format::Text => text::write(self),
            Format::Json => json::write(self),
            Format::Csv => csv::write(&self.findings),
        };
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())
            .and_then(|()| out.flush())
            .map_err(|error| Failure::output(&error))
    }
}
