//! Runs an election many times and estimates its metrics.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::Seeds;
use crate::monte_carlo::{self, ThreadsError};
use crate::statistics::{Estimate, Kind, Sample};

/// An experiment that can be run many times, each time with other seeds.
pub trait Study: Sync {
    /// The result of a run.
    type Account: Account;

    /// Returns the metrics, in the order of display.
    fn metrics(&self) -> Vec<Metric<Self::Account>>;

    /// Executes the run that `seeds` determines. Returns `None` if it was interrupted.
    fn run(&self, seeds: Seeds, interruption: &Interruption) -> Option<Self::Account>;

    /// Executes the run that `seeds` determines, and writes its trace, one JSON object per line.
    /// Writes nothing if runs have no trace.
    ///
    /// # Errors
    /// If the trace cannot be written.
    fn record(&self, seeds: Seeds, interruption: &Interruption, out: impl Write) -> io::Result<()>;
}

/// The result of a run.
pub trait Account: Send {
    /// Returns a remark on runs like this one, to follow the words "5 of 1000 runs".
    fn caveat(&self) -> Option<&'static str> {
        None
    }
}

/// A request to end the runs early. Clones share one state.
#[derive(Debug, Clone, Default)]
pub struct Interruption {
    raised: Arc<AtomicBool>,
}

impl Interruption {
    /// Requests the end. Returns true if it was requested before.
    pub fn raise(&self) -> bool {
        self.raised.swap(true, Ordering::Relaxed)
    }

    /// True if the end was requested.
    pub fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Relaxed)
    }
}

/// The number of runs, their seed and the threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Runs {
    /// The number of runs.
    pub count: u64,
    /// The seed of all randomness. The same seed gives the same result.
    pub seed: u64,
    /// The number of threads; 0 stands for one per core. The result does not depend on it.
    pub threads: u16,
}

/// The result of many runs.
#[derive(Debug)]
pub struct Measurement {
    /// The number of executed runs: fewer than requested after an interruption.
    pub runs: u64,
    /// The remarks on some of the runs, with the number of those runs.
    pub caveats: BTreeMap<&'static str, u64>,
    /// The estimates by name. `None` if no run has a value.
    pub metrics: Vec<(String, Option<Estimate>)>,
}

/// A quantity of a run. Some runs may have no value.
pub struct Metric<A> {
    name: String,
    kind: Kind,
    read: Box<Reading<A>>,
}

/// Reads a quantity from the result of a run.
type Reading<A> = dyn Fn(&A) -> Option<f64> + Send;

impl<A> Metric<A> {
    /// Creates a number that every run has.
    pub fn number(name: impl Into<String>, read: impl Fn(&A) -> f64 + Send + 'static) -> Self {
        Self::new(name, Kind::Number, move |account| Some(read(account)))
    }

    /// Creates a quantity that some runs have.
    pub fn new(
        name: impl Into<String>,
        kind: Kind,
        read: impl Fn(&A) -> Option<f64> + Send + 'static,
    ) -> Self {
        Self { name: name.into(), kind, read: Box::new(read) }
    }

    /// Creates the proportion of runs for which `holds` returns true.
    pub fn share(name: impl Into<String>, holds: impl Fn(&A) -> bool + Send + 'static) -> Self {
        Self::new(name, Kind::Proportion, move |account| Some(f64::from(u8::from(holds(account)))))
    }
}

/// Executes all runs of `study`, and calls `done` after each.
///
/// # Errors
/// If the threads cannot be started.
pub fn measure<S: Study>(
    study: &S,
    runs: Runs,
    interruption: &Interruption,
    done: impl Fn() + Sync,
) -> Result<Measurement, ThreadsError> {
    let metrics = study.metrics().into_iter();
    let mut samples: Vec<_> = metrics.map(|it| (Sample::new(it.kind), it)).collect();
    let whole_runs = AtomicU64::new(0);
    let mut taken_in = 0;
    let mut caveats: BTreeMap<&'static str, u64> = BTreeMap::new();
    let one = |number| {
        if interruption.is_raised() {
            return None;
        }
        let run = study.run(Seeds::new(runs.seed, number), interruption);
        whole_runs.fetch_add(run.is_some().into(), Ordering::Relaxed);
        run
    };
    let take = |run: Option<S::Account>| match run {
        Some(account) => {
            for (sample, metric) in &mut samples {
                if let Some(value) = (metric.read)(&account) {
                    sample.add(value);
                }
            }
            taken_in += 1;
            if let Some(caveat) = account.caveat() {
                *caveats.entry(caveat).or_default() += 1;
            }
            ControlFlow::Continue(())
        }
        // The end was requested, but results of other finished runs may still arrive.
        None if taken_in < whole_runs.load(Ordering::Relaxed) => ControlFlow::Continue(()),
        None => ControlFlow::Break(()),
    };
    monte_carlo::run(runs.count, runs.threads.into(), one, done, take)?;
    let metrics = samples.into_iter().map(|(sample, it)| (it.name, sample.estimate())).collect();
    Ok(Measurement { runs: taken_in, caveats, metrics })
}
