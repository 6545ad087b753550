//! How much is put into an experiment, and how its runs are done.

use std::fmt;
use std::ops::ControlFlow;

use hustings_sim::monte_carlo::{self, ThreadsError};
use hustings_sim::statistics::{Kind, Sample};
use hustings_sim::{Seeds, Stream};

/// How much is put into the experiments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Enough for a glance.
    Quick,
    /// Enough to publish.
    Full,
}

/// How much is put into an experiment, and where its chance comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) extent: Extent,
    pub(crate) seed: u64,
    /// 0: one a core.
    pub(crate) threads: u16,
}

/// Why an experiment could not be run.
#[derive(Debug)]
pub(crate) struct ExperimentError(pub(crate) String);

impl fmt::Display for ExperimentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<ThreadsError> for ExperimentError {
    fn from(error: ThreadsError) -> Self {
        Self(error.to_string())
    }
}

impl Effort {
    /// The one for a glance, the other for good.
    pub(crate) fn choose<T>(&self, quick: T, full: T) -> T {
        match self.extent {
            Extent::Quick => quick,
            Extent::Full => full,
        }
    }

    /// The same effort with chance of its own, so that one more experiment changes no other.
    pub(crate) fn reseeded(self, by: u64) -> Self {
        Self {
            seed: Seeds::new(self.seed, by).number(Stream::Layout),
            ..self
        }
    }

    /// What runs `0..runs` come to, by run number.
    pub(crate) fn each<R: Send>(
        &self,
        runs: u64,
        one: impl Fn(u64, Seeds) -> R + Sync,
    ) -> Result<Vec<R>, ExperimentError> {
        let mut results = Vec::new();
        let one = |number| one(number, Seeds::new(self.seed, number));
        let take = |result| {
            results.push(result);
            ControlFlow::Continue(())
        };
        monte_carlo::run(runs, self.threads.into(), one, || (), take)?;
        Ok(results)
    }

    /// A number from each of `runs` runs.
    pub(crate) fn sample(
        &self,
        runs: u64,
        one: impl Fn(Seeds) -> f64 + Sync,
    ) -> Result<Sample, ExperimentError> {
        let values = self.each(runs, |_, seeds| one(seeds))?;
        Ok(sample_of(Kind::Number, values))
    }

    /// Several numbers from each of `runs` runs.
    pub(crate) fn samples<const COUNT: usize>(
        &self,
        runs: u64,
        one: impl Fn(Seeds) -> [f64; COUNT] + Sync,
    ) -> Result<[Sample; COUNT], ExperimentError> {
        let mut samples = [Sample::new(Kind::Number); COUNT];
        for values in self.each(runs, |_, seeds| one(seeds))? {
            for (sample, value) in samples.iter_mut().zip(values) {
                sample.add(value);
            }
        }
        Ok(samples)
    }

    /// How often something is so in `runs` runs.
    pub(crate) fn share(
        &self,
        runs: u64,
        one: impl Fn(Seeds) -> bool + Sync,
    ) -> Result<Sample, ExperimentError> {
        let values = self.each(runs, |_, seeds| f64::from(u8::from(one(seeds))))?;
        Ok(sample_of(Kind::Proportion, values))
    }
}

fn sample_of(kind: Kind, values: Vec<f64>) -> Sample {
    let mut sample = Sample::new(kind);
    for value in values {
        sample.add(value);
    }
    sample
}

/// A number for a name, the same on every machine (FNV-1a).
pub(super) fn seed_of(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
