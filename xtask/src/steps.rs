//! Runs steps in sequence and in parallel. Each step is announced and timed, a failure ends the
//! run, and a table sums it up.

use crate::Result;
use crate::shell::Console;
use std::time::{Duration, Instant};
use std::{fmt, thread};

/// The result of a step that did not fail.
pub(crate) enum Outcome {
    Passed,
    /// The parts that could run passed; the reason names the part that could not run.
    Partly(String),
    /// The step could not run, for this reason.
    Skipped(String),
}

/// Steps that run in parallel. Those in `front` print at once; the output of those in `behind` is
/// shown when all have ended.
pub(crate) struct Phase<S> {
    pub(crate) front: Vec<S>,
    pub(crate) behind: Vec<S>,
}

impl<S: Copy> Phase<S> {
    pub(crate) fn steps(&self) -> impl Iterator<Item = S> {
        self.front.iter().chain(&self.behind).copied()
    }
}

/// One line of the final table.
struct Line {
    name: String,
    result: String,
    took: Duration,
}

/// The final table.
struct Summary {
    lines: Vec<Line>,
    took: Duration,
}

/// Runs the phases in order, up to the first in which a step fails.
///
/// `repeat` returns the command line that runs one step alone.
pub(crate) fn run<S: Copy + fmt::Display + Sync>(
    phases: &[Phase<S>],
    carry_out: impl Fn(S, &mut Console) -> Result<Outcome> + Sync,
    repeat: impl Fn(S) -> String + Sync,
) -> Result<()> {
    let began = Instant::now();
    let mut summary = Summary { lines: Vec::new(), took: Duration::ZERO };
    let in_a_row =
        |steps: &[S], console: &mut Console| in_a_row(steps, console, &carry_out, &repeat);
    for Phase { front, behind } in phases {
        let mut kept = Console::Behind(String::new());
        let (before, after) = thread::scope(|scope| {
            let after = scope.spawn(|| in_a_row(behind, &mut kept));
            let before = in_a_row(front, &mut Console::Front);
            (before, after.join())
        });
        if let Console::Behind(kept) = kept {
            print!("{kept}");
        }
        let after = after.map_err(|_| "a step panicked")?;
        let failures = [before, after].map(|(lines, failure)| {
            summary.lines.extend(lines);
            failure
        });
        summary.took = began.elapsed();
        if let Some(failure) = failures.into_iter().flatten().next() {
            println!("\n{summary}");
            return Err(failure.into());
        }
    }
    println!("\n{summary}");
    Ok(())
}

/// Runs steps in sequence, up to the first that fails. Returns their lines, and the error with the
/// command that repeats the step.
fn in_a_row<S: Copy + fmt::Display>(
    steps: &[S],
    console: &mut Console,
    carry_out: impl Fn(S, &mut Console) -> Result<Outcome>,
    repeat: impl Fn(S) -> String,
) -> (Vec<Line>, Option<String>) {
    let mut lines = Vec::new();
    for &step in steps {
        console.say(&format!("\n==> {step}"));
        let began = Instant::now();
        let outcome = carry_out(step, console);
        let took = began.elapsed();
        let result = match &outcome {
            Ok(Outcome::Passed) => "passed".to_owned(),
            Ok(Outcome::Partly(reason)) => format!("passed, not all tried: {reason}"),
            Ok(Outcome::Skipped(reason)) => format!("skipped: {reason}"),
            Err(_) => "failed".to_owned(),
        };
        console.say(&format!("<== {step} {result} ({})", seconds(took)));
        lines.push(Line { name: step.to_string(), result, took });
        if let Err(error) = outcome {
            let repeat = repeat(step);
            let failure = format!("{step}: {error}\nto repeat just this step: {repeat}");
            return (lines, Some(failure));
        }
    }
    (lines, None)
}

impl fmt::Display for Summary {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.lines.iter().map(|line| line.name.len()).max();
        let width = width.unwrap_or_default().max("total".len());
        for Line { name, result, took } in &self.lines {
            writeln!(out, "{name:width$}  {:>8}  {result}", seconds(*took))?;
        }
        write!(out, "{:width$}  {:>8}", "total", seconds(self.took))
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::{Line, Outcome, Phase, Summary, run};
    use crate::shell::Console;
    use std::sync::Mutex;
    use std::time::Duration;

    #[test]
    fn first_failure_ends_the_run_and_names_the_repeat_command() {
        let carried_out = Mutex::new(Vec::new());
        let carry_out = |step, _: &mut Console| {
            carried_out.lock().expect("nobody panicked").push(step);
            match step {
                "wash" => Ok(Outcome::Skipped("no water".to_owned())),
                "dry" => Err("no sun".into()),
                _ => Ok(Outcome::Passed),
            }
        };
        let phases = [
            Phase { front: vec!["wash", "dry", "fold"], behind: Vec::new() },
            Phase { front: vec!["iron"], behind: Vec::new() },
        ];
        let error =
            run(&phases, carry_out, |step| format!("laundry {step}")).expect_err("a step failed");
        assert_eq!(*carried_out.lock().expect("nobody panicked"), ["wash", "dry"]);
        assert_eq!(error.to_string(), "dry: no sun\nto repeat just this step: laundry dry");
    }

    #[test]
    fn steps_run_in_parallel_and_either_can_fail() {
        let meeting = std::sync::Barrier::new(2);
        let carry_out = |step, _: &mut Console| {
            // Neither step continues before both have arrived.
            meeting.wait();
            match step {
                "sing" => Ok(Outcome::Passed),
                _ => Err("fell".into()),
            }
        };
        let phases = [Phase { front: vec!["sing"], behind: vec!["dance"] }];
        let error = run(&phases, carry_out, str::to_owned).expect_err("one failed");
        assert_eq!(error.to_string(), "dance: fell\nto repeat just this step: dance");
    }

    #[test]
    fn summary_columns_are_aligned() {
        let line = |name: &str, result: &str, millis| Line {
            name: name.to_owned(),
            result: result.to_owned(),
            took: Duration::from_millis(millis),
        };
        let summary = Summary {
            lines: vec![line("fmt", "passed", 400), line("clippy", "failed", 12_340)],
            took: Duration::from_millis(12_740),
        };
        assert_eq!(
            summary.to_string(),
            "fmt        0.4 s  passed\nclippy    12.3 s  failed\ntotal     12.7 s"
        );
    }
}
