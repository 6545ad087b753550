//! Many runs of an election, and what they say.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use hustings_sim::monte_carlo;
use hustings_sim::statistics::{Estimate, Kind, Sample};
use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;
use crate::report::Findings;
use crate::trial::Account;

/// What can be run many times, each time from its own chance.
pub(crate) trait Experiment: Sync {
    /// What is left of a run.
    type Account: Account;

    /// What is measured, in the order in which it is shown.
    fn metrics(&self) -> Vec<Metric<Self::Account>>;

    /// Does run number `number`; nothing comes of it if the user wants to stop.
    fn run(&self, number: u64) -> Option<Self::Account>;
}

/// What many runs say.
#[derive(Debug)]
pub(crate) struct Measurement {
    /// How many runs were done: fewer than asked for if the user stopped it.
    pub(crate) runs: u64,
    /// What is to be said of some of them, and of how many.
    pub(crate) caveats: BTreeMap<&'static str, u64>,
    /// The estimates by name; none where no run has anything to say.
    pub(crate) metrics: Vec<(String, Option<Estimate>)>,
}

impl Measurement {
    /// For a report, with the seed that the runs came from.
    pub(crate) fn findings(self, seed: u64) -> Findings {
        Findings::Measured {
            runs: self.runs,
            seed,
            metrics: self.metrics,
        }
    }
}

/// A quantity that a run has, or has not.
pub(crate) struct Metric<A> {
    name: String,
    kind: Kind,
    read: Box<Reading<A>>,
}

/// How a quantity is read from what is left of a run.
type Reading<A> = dyn Fn(&A) -> Option<f64> + Send;

impl<A> Metric<A> {
    /// A number that every run has.
    pub(crate) fn number(
        name: impl Into<String>,
        read: impl Fn(&A) -> f64 + Send + 'static,
    ) -> Self {
        Self::new(name, Kind::Number, move |account| Some(read(account)))
    }

    /// A quantity that some runs have.
    pub(crate) fn new(
        name: impl Into<String>,
        kind: Kind,
        read: impl Fn(&A) -> Option<f64> + Send + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            kind,
            read: Box::new(read),
        }
    }

    /// Whether something holds of a run.
    pub(crate) fn share(
        name: impl Into<String>,
        holds: impl Fn(&A) -> bool + Send + 'static,
    ) -> Self {
        Self::new(name, Kind::Proportion, move |account| {
            Some(f64::from(u8::from(holds(account))))
        })
    }
}

/// Does `runs` runs of `experiment` on `threads` threads (0: one a core).
pub(crate) fn measure<X: Experiment>(
    experiment: &X,
    runs: u64,
    threads: u16,
) -> Result<Measurement, Failure> {
    let mut samples = Samples::of(experiment.metrics());
    let whole_runs = AtomicU64::new(0);
    let mut taken_in = 0;
    let mut caveats: BTreeMap<&'static str, u64> = BTreeMap::new();
    let one = |number| {
        let run = experiment.run(number);
        whole_runs.fetch_add(run.is_some().into(), Ordering::Relaxed);
        run
    };
    let take = |run: Option<X::Account>| match run {
        Some(account) => {
            samples.take_in(&account);
            taken_in += 1;
            if let Some(caveat) = account.caveat() {
                *caveats.entry(caveat).or_default() += 1;
            }
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
        caveats,
        metrics: samples.estimates(),
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
struct Samples<A>(Vec<(Metric<A>, Sample)>);

impl<A> Samples<A> {
    fn of(metrics: Vec<Metric<A>>) -> Self {
        let sampled = |metric: Metric<A>| {
            let sample = Sample::new(metric.kind);
            (metric, sample)
        };
        Self(metrics.into_iter().map(sampled).collect())
    }

    /// Takes in one run.
    fn take_in(&mut self, account: &A) {
        for (metric, sample) in &mut self.0 {
            if let Some(value) = (metric.read)(account) {
                sample.add(value);
            }
        }
    }

    fn estimates(self) -> Vec<(String, Option<Estimate>)> {
        let estimate = |(metric, sample): (Metric<A>, Sample)| (metric.name, sample.estimate());
        self.0.into_iter().map(estimate).collect()
    }
}
