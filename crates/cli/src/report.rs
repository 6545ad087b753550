//! Reports as text, JSON or CSV.

mod text;

use std::fmt::{Display, Write};

use hustings_sim::statistics::Estimate;
use serde_json::{Map, Value, json};

use crate::failure::{Failure, print};
use crate::options::Format;

/// All settings in effect by name, in the order of display.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parameters(Map<String, Value>);

impl Parameters {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    pub(crate) fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
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
        print(&match format {
            Format::Text => text::write(self),
            Format::Json => format!("{}\n", self.json()),
            Format::Csv => csv(&self.findings),
        })
    }

    fn json(&self) -> Value {
        let Self { protocol, parameters: Parameters(parameters), findings, .. } = self;
        match findings {
            Findings::Measured { runs, metrics, .. } => {
                let metrics = metrics.iter().map(|(name, it)| (name.clone(), json!(it)));
                let metrics: Map<String, Value> = metrics.collect();
                json!({
                    "protocol": protocol, "parameters": parameters, "runs": runs, "metrics": metrics,
                })
            }
            Findings::Computed { values, .. } => {
                let values = values.iter().map(|(name, it)| (name.clone(), json!(it)));
                let values: Map<String, Value> = values.collect();
                json!({ "protocol": protocol, "parameters": parameters, "values": values })
            }
        }
    }
}

/// Formats findings as CSV: one row per metric under one header line. A metric without a value in
/// any run has empty fields. With a value in a single run, the fields of the confidence interval
/// are empty.
fn csv(findings: &Findings) -> String {
    match findings {
        Findings::Measured { metrics, .. } => {
            let mut csv = String::from("metric,mean,ci95_low,ci95_high,min,max\n");
            for (name, estimate) in metrics {
                let fields = match estimate {
                    None => ",,,,".to_owned(),
                    Some(Estimate { mean, ci95: None, min, max }) => {
                        format!("{mean},,,{min},{max}")
                    }
                    Some(Estimate { mean, ci95: Some([low, high]), min, max }) => {
                        format!("{mean},{low},{high},{min},{max}")
                    }
                };
                row(&mut csv, name, fields);
            }
            csv
        }
        Findings::Computed { values, .. } => {
            let mut csv = String::from("metric,value\n");
            for (name, value) in values {
                row(&mut csv, name, value);
            }
            csv
        }
    }
}

fn row(csv: &mut String, name: &str, fields: impl Display) {
    writeln!(csv, "{name},{fields}").expect("a string takes all text");
}
