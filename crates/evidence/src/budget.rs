//! The budget of an experiment, and the runs that it pays for.

use std::ops::ControlFlow;

use hustings_sim::monte_carlo;
use hustings_sim::statistics::{Kind, Sample};
use hustings_sim::{Seeds, Stream};

/// The size of an experiment and the source of its randomness.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// True for few runs and small groups, enough for a first look. Otherwise there are as many
    /// runs as a publication needs.
    pub quick: bool,
    /// The seed of all randomness.
    pub seed: u64,
    /// The number of threads; 0 means one for each core.
    pub threads: u16,
}

/// The reason why an experiment could not be run.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ExperimentError(pub(crate) String);

/// The result of an experiment, if it could be run.
pub(crate) type Result<T> = std::result::Result<T, ExperimentError>;

impl Budget {
    /// Returns `quick` or `full`, by the size.
    pub(crate) fn choose<T>(&self, quick: T, full: T) -> T {
        if self.quick { quick } else { full }
    }

    /// Returns the same budget with a seed of its own. An additional experiment then changes no
    /// other.
    pub(crate) fn reseeded(self, by: u64) -> Self {
        Self { seed: Seeds::new(self.seed, by).number(Stream::Layout), ..self }
    }

    /// Returns the results of runs `0..runs`, ordered by run number.
    pub(crate) fn each<R: Send>(
        &self,
        runs: u64,
        one: impl Fn(u64, Seeds) -> R + Sync,
    ) -> Result<Vec<R>> {
        let mut results = Vec::new();
        let one = |number| one(number, Seeds::new(self.seed, number));
        let take = |result| {
            results.push(result);
            ControlFlow::Continue(())
        };
        let done = monte_carlo::run(runs, self.threads.into(), one, || (), take);
        done.map_err(|error| ExperimentError(error.to_string()))?;
        Ok(results)
    }

    /// Collects one number from each of `runs` runs.
    pub(crate) fn sample(&self, runs: u64, one: impl Fn(Seeds) -> f64 + Sync) -> Result<Sample> {
        Ok(sample_of(Kind::Number, self.each(runs, |_, seeds| one(seeds))?))
    }

    /// Collects several numbers from each of `runs` runs.
    pub(crate) fn samples<const COUNT: usize>(
        &self,
        runs: u64,
        one: impl Fn(Seeds) -> [f64; COUNT] + Sync,
    ) -> Result<[Sample; COUNT]> {
        let mut samples = [Sample::new(Kind::Number); COUNT];
        for values in self.each(runs, |_, seeds| one(seeds))? {
            for (sample, value) in samples.iter_mut().zip(values) {
                sample.add(value);
            }
        }
        Ok(samples)
    }

    /// Measures the share of `runs` runs in which `one` is true.
    pub(crate) fn share(&self, runs: u64, one: impl Fn(Seeds) -> bool + Sync) -> Result<Sample> {
        Ok(share_of(self.each(runs, |_, seeds| one(seeds))?))
    }
}

/// The fixture of a claim: the budget, and a change of each experiment, which only mutants use.
#[derive(Clone, Copy)]
pub(crate) struct Fixture<'a, C> {
    pub(crate) budget: &'a Budget,
    pub(crate) conduct: C,
}

impl<C> Fixture<'_, C> {
    /// Returns `quick` or `full`, by the budget.
    pub(crate) fn choose<T>(&self, quick: T, full: T) -> T {
        self.budget.choose(quick, full)
    }
}

/// Collects values of one kind.
pub(crate) fn sample_of(kind: Kind, values: impl IntoIterator<Item = f64>) -> Sample {
    let mut sample = Sample::new(kind);
    values.into_iter().for_each(|value| sample.add(value));
    sample
}

/// Returns the share of true cases.
pub(crate) fn share_of(cases: impl IntoIterator<Item = bool>) -> Sample {
    sample_of(Kind::Proportion, cases.into_iter().map(|it| f64::from(u8::from(it))))
}

/// Names in the labels of experiments that have changed since the numbers were recorded, with the
/// recorded name. Labels contain the debug text of configurations, and seeds follow from labels, so
/// a renamed field would change every number of its claim.
const RECORDED_NAMES: &[(&str, &str)] = &[
    ("Priority", "Merit"),
    ("priority", "merit"),
    ("election_timeout", "patience"),
    ("repair_time", "life"),
    ("AnnounceModel", "Model"),
];

/// Hashes the label of an experiment to a number that is the same on every machine (FNV-1a).
pub(super) fn seed_of(label: &str) -> u64 {
    let recorded = RECORDED_NAMES
        .iter()
        .fold(label.to_owned(), |label, (new, recorded)| label.replace(new, recorded));
    recorded.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
