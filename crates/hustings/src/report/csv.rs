//! One row a metric, under one line of headings. A metric that no run could tell has empty fields; of one that a single run told, the
//! fields of the interval are empty.

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
                            || ",".to_owned(), // there is none
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
