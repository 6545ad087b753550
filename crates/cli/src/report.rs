//! Reports as text, JSON or CSV.

use hustings_sim::statistics::Estimate;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::elections::ClosedForm;
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
    Computed(ClosedForm),
}

impl Report {
    /// Prints the report on standard output.
    pub(crate) fn print(&self, format: Format) -> Result<(), Failure> {
        print(&match format {
            Format::Text => text(self),
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
            Findings::Computed(form) => json["values"] = object(&form.values),
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
    let (header, mut rows): (&str, Vec<String>) = match findings {
        Findings::Measured { metrics, .. } => {
            ("metric,mean,ci95_low,ci95_high,min,max", metrics.iter().map(csv_row).collect())
        }
        Findings::Computed(ClosedForm { values, .. }) => {
            let row = |(name, value): &(String, f64)| format!("{name},{value}");
            ("metric,value", values.iter().map(row).collect())
        }
    };
    rows.insert(0, header.to_owned());
    rows.join("\n") + "\n"
}

fn csv_row((name, estimate): &(String, Option<Estimate>)) -> String {
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

/// Formats a report as a table for people: the settings of the election, then one line per metric.
fn text(report: &Report) -> String {
    let Report { protocol, sentence, findings, .. } = report;
    match findings {
        Findings::Measured { runs, seed, metrics } => {
            let plural = if *runs == 1 { "" } else { "s" };
            let rows = metrics.iter().map(|(name, estimate)| row(name, *estimate));
            let table = table(["metric", "mean", "95 % interval", "min", "max"], rows);
            format!("{protocol}, simulated: {sentence}\n{runs} run{plural}, seed {seed}\n\n{table}")
        }
        Findings::Computed(ClosedForm { values, missing }) => {
            let rows = values.iter().map(|(name, value)| [label(name), plain(*value)]);
            let table = table(["metric", "value"], rows);
            let gap = match missing.as_slice() {
                [] => String::new(),
                names => format!("\nno closed form, use sim: {}\n", names.join(", ")),
            };
            format!("{protocol}, in theory: {sentence}\n\n{table}{gap}")
        }
    }
}

/// Stands in place of the confidence interval if there is a single value.
const NO_INTERVAL: &str = "-";

fn row(name: &str, estimate: Option<Estimate>) -> [String; 5] {
    let Some(Estimate { mean, ci95, min, max }) = estimate else {
        return [label(name), "none".to_owned(), String::new(), String::new(), String::new()];
    };
    let Some([low, high]) = ci95 else {
        return [label(name), plain(mean), NO_INTERVAL.to_owned(), plain(min), plain(max)];
    };
    let reach = (high - low) / 2.0;
    // Two digits of `reach`, the uncertainty of the value.
    let decimals = if reach > 0.0 { (1.0 - reach.log10().floor()).clamp(0.0, 9.0) } else { 9.0 };
    let decimals = decimals as usize;
    let is_centred = ((high - mean) - (mean - low)).abs() <= 1e-9 * mean.abs().max(reach);
    let interval = if is_centred {
        format!("± {}", rounded(reach, decimals))
    } else {
        format!("{} .. {}", rounded(low, decimals), rounded(high, decimals))
    };
    [label(name), rounded(mean, decimals), interval, plain(min), plain(max)]
}

/// Returns the metric with its unit, if it has one.
fn label(name: &str) -> String {
    const IN_SECONDS: [&str; 9] = [
        "tmax",
        "delay",
        "delay_in_rounds",
        "first_round_tmax",
        "reestablishment",
        "reestablishment_false",
        "reestablishment_departure",
        "join_greater",
        "join_lesser",
    ];
    let quantity = name.strip_suffix("_printed").unwrap_or(name);
    if IN_SECONDS.contains(&quantity) { format!("{name} (s)") } else { name.to_owned() }
}

/// Formats a table with columns of minimal width: the first aligned left, the others right.
fn table<const COLUMNS: usize>(
    headings: [&str; COLUMNS],
    rows: impl Iterator<Item = [String; COLUMNS]>,
) -> String {
    let rows: Vec<_> = std::iter::once(headings.map(str::to_owned)).chain(rows).collect();
    let width_of = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: [usize; COLUMNS] = std::array::from_fn(|column| width_of(column).unwrap_or(0));
    let mut lines = String::new();
    for row in &rows {
        let mut line = format!("{:<1$}", row[0], widths[0]);
        for (cell, width) in row.iter().zip(widths).skip(1) {
            line += &format!("  {cell:>width$}");
        }
        lines += line.trim_end();
        lines.push('\n');
    }
    lines
}

/// Formats a value; one that the usual decimals would round to nothing keeps two digits.
fn plain(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-6 {
        return format!("{value:.1e}");
    }
    rounded(value, 6)
}

/// Formats a value with at most `decimals` decimals and no trailing zeros.
fn rounded(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Estimate, plain, row};

    #[test]
    fn tiny_values_are_not_shown_as_zero() {
        for (value, shown) in [
            (0.0, "0"),
            (6.43e-13, "6.4e-13"),
            (-2e-9, "-2.0e-9"),
            (5e-7, "5.0e-7"),
            (1e-6, "0.000001"),
            (0.25, "0.25"),
        ] {
            assert_eq!(plain(value), shown);
        }
    }

    #[test]
    fn mean_is_shown_as_precisely_as_it_is_known() {
        let estimate = |mean: f64, low: f64, high: f64| Estimate {
            mean,
            ci95: Some([low, high]),
            min: low,
            max: 100.0,
        };
        for (estimate, shown) in [
            (estimate(14.0, 14.0, 14.0), ["14", "± 0"]),
            (estimate(2.3456, 2.3444, 2.3468), ["2.3456", "± 0.0012"]),
            (estimate(999.5, 876.2, 1122.8), ["1000", "± 123"]),
            (estimate(1.0, 0.9962, 1.0), ["1", "0.9962 .. 1"]),
        ] {
            assert_eq!(row("messages", Some(estimate))[1..3], shown);
        }
        assert_eq!(row("delay", None)[..3], ["delay (s)", "none", ""]);
        let of_one_run = Estimate { ci95: None, ..estimate(0.1234567, 0.0, 0.0) };
        assert_eq!(row("messages", Some(of_one_run))[1..3], ["0.123457", "-"]);
    }
}
