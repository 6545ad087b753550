//! Many runs of an election, and what they say.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use hustings_protocol::{Instant, Message, Protocol};
use hustings_sim::statistics::{Estimate, Kind, Sample};
use hustings_sim::{Summary, monte_carlo};
use indicatif::{ProgressBar, ProgressStyle};

use crate::elections::Election;
use crate::failure::Failure;
use crate::trial::{End, Run, Trial};

/// What many runs say.
#[derive(Debug)]
pub(crate) struct Measurement {
    /// How many runs were done: fewer than asked for if the user stopped it.
    pub(crate) runs: u64,
    /// How many of them were stopped because of a flood.
    pub(crate) flooded: u64,
    /// The estimates by name; none where no run has anything to say.
    pub(crate) metrics: Vec<(String, Option<Estimate>)>,
}

/// Does `runs` runs of `trial` on `threads` threads (0: one a core).
pub(crate) fn measure<E: Election>(
    trial: &Trial<E>,
    runs: u64,
    threads: u16,
) -> Result<Measurement, Failure> {
    let mut metrics = Metrics::new(<E::Protocol as Protocol>::Message::KINDS);
    let whole_runs = AtomicU64::new(0);
    let (mut taken_in, mut flooded) = (0, 0);
    let one = |number| {
        let run = trial.run(number);
        whole_runs.fetch_add(run.is_some().into(), Ordering::Relaxed);
        run
    };
    let take = |run: Option<Run>| match run {
        Some(Run { summary, end }) => {
            metrics.take_in(&summary, end);
            taken_in += 1;
            flooded += u64::from(end == End::Flooded);
            ControlFlow::Continue(())
        }
        // The user wants to stop; but other runs that were done may still come.
        None if taken_in < whole_runs.load(Ordering::Relaxed) => ControlFlow::Continue(()),
        None => ControlFlow::Break(()),
    };
    let progress = progress_of(runs);
    monte_carlo::run(runs, threads.into(), one, || progress.inc(1), take)
        .map_err(|error| Failure::Failed(error.to_string()))?;
    progress.finish_and_clear();
    Ok(Measurement {
        runs: taken_in,
        flooded,
        metrics: metrics.estimates(),
    })
}

/// A bar on the terminal, if there is one to look at.
fn progress_of(runs: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} runs, {eta} left");
    let bar = ProgressBar::new(runs).with_style(style.expect("the template is well-formed"));
    bar.tick();
    bar
}

/// The samples of all metrics.
struct Metrics {
    kinds: &'static [&'static str],
    samples: Vec<(String, Sample)>,
}

impl Metrics {
    fn new(kinds: &'static [&'static str]) -> Self {
        let sample = |name: &str, kind| (name.to_owned(), Sample::new(kind));
        let mut samples = vec![
            sample("messages", Kind::Number),
            sample("unicasts", Kind::Number),
            sample("multicasts", Kind::Number),
        ];
        let by_kind = kinds.iter().map(|kind| format!("messages_{kind}"));
        samples.extend(by_kind.map(|name| (name, Sample::new(Kind::Number))));
        samples.extend([
            sample("rounds", Kind::Number),
            sample("delay", Kind::Number),
            sample("strong_success", Kind::Proportion),
            sample("weak_success", Kind::Fraction),
            sample("elected_best", Kind::Proportion),
            sample("finished", Kind::Proportion),
        ]);
        Self { kinds, samples }
    }

    /// Takes in one run. Its values come in the order of the samples.
    fn take_in(&mut self, summary: &Summary, end: End) {
        let tally = &summary.tally;
        let unicasts: u64 = tally.unicasts.iter().sum();
        let multicasts: u64 = tally.multicasts.iter().sum();
        let of_kind = |kind: usize| tally.unicasts[kind] + tally.multicasts[kind];
        let share = |holds: bool| if holds { 1.0 } else { 0.0 };
        let mut values = vec![
            Some((unicasts + multicasts) as f64),
            Some(unicasts as f64),
            Some(multicasts as f64),
        ];
        values.extend((0..self.kinds.len()).map(|kind| Some(of_kind(kind) as f64)));
        values.extend([
            Some(f64::from(tally.rounds)),
            summary.known_at.map(Instant::as_secs_f64),
            Some(share(summary.strong_success)),
            Some(summary.weak_success),
            Some(share(summary.elected_best)),
            Some(share(end == End::AtRest)),
        ]);
        for ((_, sample), value) in self.samples.iter_mut().zip(values) {
            if let Some(value) = value {
                sample.add(value);
            }
        }
    }

    fn estimates(self) -> Vec<(String, Option<Estimate>)> {
        let estimate = |(name, sample): (String, Sample)| (name, sample.estimate());
        self.samples.into_iter().map(estimate).collect()
    }
}
