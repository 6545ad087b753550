//! Reports as one JSON object on one line.

use hustings_sim::statistics::Estimate;
use serde::{Serialize, Serializer};

use super::{Findings, Parameters, Report};

#[derive(Serialize)]
struct Measured<'a> {
    protocol: &'a str,
    parameters: &'a Parameters,
    runs: u64,
    #[serde(serialize_with = "as_map")]
    metrics: &'a [(String, Option<Estimate>)],
}

#[derive(Serialize)]
struct Computed<'a> {
    protocol: &'a str,
    parameters: &'a Parameters,
    #[serde(serialize_with = "as_map")]
    values: &'a [(String, f64)],
}

/// Serialises pairs as an object, in their order.
fn as_map<V: Serialize, S: Serializer>(
    pairs: &&[(String, V)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

pub(super) fn write(report: &Report) -> String {
    let Report { protocol, parameters, findings, .. } = report;
    let object = match findings {
        Findings::Measured { runs, metrics, .. } => {
            serde_json::to_string(&Measured { protocol, parameters, runs: *runs, metrics })
        }
        Findings::Computed { values, .. } => {
            serde_json::to_string(&Computed { protocol, parameters, values })
        }
    };
    object.expect("numbers and texts under names have a JSON form") + "\n"
}
