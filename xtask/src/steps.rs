//! Steps in a row: each announced and timed, the first failure ends it, a table closes it.

use crate::Result;
use std::fmt;
use std::time::{Duration, Instant};

/// How a step ended, when it did not fail.
pub(crate) enum Outcome {
    Passed,
    Skipped { reason: String },
}

/// One line of the closing table.
struct Line {
    name: String,
    result: String,
    took: Duration,
}

/// The closing table.
struct Summary(Vec<Line>);

/// Carries the steps out, in order, up to the first that fails.
///
/// `repeat` tells the command line that runs one step alone.
pub(crate) fn run<S: Copy + fmt::Display>(
    steps: &[S],
    mut carry_out: impl FnMut(S) -> Result<Outcome>,
    repeat: impl Fn(S) -> String,
) -> Result<()> {
    let mut summary = Summary(Vec::new());
    for &step in steps {
        println!("\n==> {step}");
        let began = Instant::now();
        let outcome = carry_out(step);
        let took = began.elapsed();
        let result = match &outcome {
            Ok(Outcome::Passed) => "passed".to_owned(),
            Ok(Outcome::Skipped { reason }) => format!("skipped: {reason}"),
            Err(_) => "failed".to_owned(),
        };
        println!("<== {step} {result} ({})", seconds(took));
        summary.0.push(Line {
            name: step.to_string(),
            result,
            took,
        });
        if let Err(error) = outcome {
            println!("\n{summary}");
            return Err(format!(
                "{step}: {error}\nto repeat just this step: {}",
                repeat(step)
            )
            .into());
        }
    }
    println!("\n{summary}");
    Ok(())
}

impl fmt::Display for Summary {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.0.iter().map(|line| line.name.len()).max();
        let width = width.unwrap_or_default().max("total".len());
        for Line { name, result, took } in &self.0 {
            writeln!(out, "{name:width$}  {:>8}  {result}", seconds(*took))?;
        }
        let total = self.0.iter().map(|line| line.took).sum();
        write!(out, "{:width$}  {:>8}", "total", seconds(total))
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::{Line, Outcome, Summary, run};
    use std::time::Duration;

    #[test]
    fn the_first_failure_ends_the_row_and_tells_how_to_repeat_it() {
        let mut carried_out = Vec::new();
        let carry_out = |step| {
            carried_out.push(step);
            match step {
                "wash" => Ok(Outcome::Skipped {
                    reason: "no water".to_owned(),
                }),
                "dry" => Err("no sun".into()),
                _ => Ok(Outcome::Passed),
            }
        };
        let error = run(&["wash", "dry", "fold"], carry_out, |step| {
            format!("laundry {step}")
        })
        .expect_err("a step failed");
        assert_eq!(carried_out, ["wash", "dry"]);
        assert_eq!(
            error.to_string(),
            "dry: no sun\nto repeat just this step: laundry dry"
        );
    }

    #[test]
    fn the_summary_lines_up() {
        let line = |name: &str, result: &str, millis| Line {
            name: name.to_owned(),
            result: result.to_owned(),
            took: Duration::from_millis(millis),
        };
        let summary = Summary(vec![
            line("fmt", "passed", 400),
            line("clippy", "failed", 12_340),
        ]);
        assert_eq!(
            summary.to_string(),
            "fmt        0.4 s  passed\nclippy    12.3 s  failed\ntotal     12.7 s"
        );
    }
}
