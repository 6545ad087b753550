//! Reports as CSV: one row per metric under one header line. A metric without a value in any run
//! has empty fields. With a value in a single run, the fields of the confidence interval are empty.

use std::fmt::Write;

use super::Findings;

pub(super) fn write(findings: &Findings) -> String {
    match findings {
        Findings::Measured { metrics, .. } => {
            let mut csv = String::from("metric,mean,ci95_low,ci95_high,min,max\n");
            for (name, estimate) in metrics {
                let fields = estimate.map_or_else(
                    || ",,,,".to_owned(),
                    |e| {
                        let interval = e.ci95.map_or_else(
                            || ",".to_owned(), // no value
                            |[low, high]| format!("{low},{high}"),
                        );
                        format!("{},{interval},{},{}", e.mean, e.min, e.max)
                    },
                );
                row(&mut csv, name, &fields);
            }
            csv
        }
        Findings::Computed { values, .. } => {
            let mut csv = String::from("metric,value\n");
            for (name, value) in values {
                row(&mut csv, name, &value.to_string());
            }
            csv
        }
    }
}

fn row(csv: &mut String, name: &str, fields: &str) {
    writeln!(csv, "{name},{fields}").expect("a string takes all text");
}
