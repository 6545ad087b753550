//! Reports as text, JSON or CSV.

mod text;

use hustings_sim::statistics::Estimate;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::failure::{Failure, print};
use crate::options::Format;

/// All settings in effect by name, in the order of display.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parameters(Map<String, Value>);

impl Parameters {
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
        let mut json = json!({ "protocol": protocol, "parameters": parameters });
        match findings {
            Findings::Measured { runs, metrics, .. } => {
                json["runs"] = json!(runs);
                json["metrics"] = object(metrics);
            }
            Findings::Computed { values, .. } => json["values"] = object(values),
        }
        json
    }
}

fn object<T: Serialize>(fields: &[(String, T)]) -> Value {
    fields.iter().map(|(name, it)| (name.clone(), json!(it))).collect()
}

/// Formats findings as CSV: one row per metric under one header line. A metric without a value in
/// any run has empty fields. With a value in a single run, the fields of the confidence interval
/// are empty.
fn csv(findings: &Findings) -> String {
    let mut rows: Vec<String> = match findings {
        Findings::Measured { metrics, .. } => metrics.iter().map(measured_row).collect(),
        Findings::Computed { values, .. } => {
            values.iter().map(|(name, value)| format!("{name},{value}")).collect()
        }
    };
    let header = match findings {
        Findings::Measured { .. } => "metric,mean,ci95_low,ci95_high,min,max",
        Findings::Computed { .. } => "metric,value",
    };
    rows.insert(0, header.to_owned());
    rows.join("\n") + "\n"
}

fn measured_row((name, estimate): &(String, Option<Estimate>)) -> String {
    let Some(Estimate { mean, ci95, min, max }) = estimate else {
        return format!("{name},,,,,");
    };
    let interval = ci95.map_or_else(|| ",".to_owned(), |[low, high]| format!("{low},{high}"));
    format!("{name},{mean},{interval},{min},{max}")
}

/// Joins the parts of a sentence that apply.
pub(crate) fn sentence_of(parts: impl IntoIterator<Item = (bool, String)>) -> String {
    let parts = parts.into_iter().filter_map(|(applies, part)| applies.then_some(part));
    parts.collect::<Vec<_>>().join(", ")
}
