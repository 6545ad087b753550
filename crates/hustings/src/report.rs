//! What comes out, as text, JSON or CSV.

mod csv;
mod json;
mod text;

use std::io::{self, Write};

use hustings_sim::statistics::Estimate;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::failure::Failure;
use crate::options::Format;

/// Everything in effect, by name, in the order in which it is shown.
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

/// What was found about one protocol.
#[derive(Debug)]
pub(crate) struct Report {
    /// The protocol's name on the command line.
    pub(crate) protocol: &'static str,
    /// What the election was like, for people.
    pub(crate) sentence: String,
    /// What the election was like, for programs.
    pub(crate) parameters: Parameters,
    /// What came out.
    pub(crate) findings: Findings,
}

/// What came out.
#[derive(Debug)]
pub(crate) enum Findings {
    /// By simulation.
    Measured {
        /// How many runs were done.
        runs: u64,
        /// The seed they came from.
        seed: u64,
        /// What they say; nothing where no run has anything to say.
        metrics: Vec<(String, Option<Estimate>)>,
    },
    /// By closed forms.
    Computed {
        /// The values of the metrics that have one.
        values: Vec<(String, f64)>,
        /// The metrics that have none under the given conditions.
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
