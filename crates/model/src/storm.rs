//! Tenure in storms: long runs under random faults, where [`crate::World`] takes short ones apart.
//!
//! A storm is made from a seed: a group of voters and nominees, their clocks and configurations, and a
//! list of what strikes them. The same seed is the same storm on every machine, and whatever version
//! of tenure goes through it. In every fifth little happens but that voters lose their disks.
//!
//! # What strikes
//! - Messages are lost, doubled, overtaken, and later than any tenure lasts.
//! - The group is divided, or one member does not hear another any more.
//! - Members crash: between two steps, or amid one, after some of its effects. They restart with what
//!   they saved. Voters lose their disks, and are initialised with what a majority tells.
//! - Processes are stopped and go on; machines sleep and wake up.
//! - Clocks go at different rates, which change, all within the bound; some show coarse units.
//! - Nominees are asked to acquire, withdraw, release and hand over, fall ill, recover, and leave.
//!   Their ttl changes, and so does what voters grant, while they run and when they restart.
//!
//! # What must hold
//! After every step, in real time, which no member knows: see [`Broken`].

mod chance;
mod clock;
mod diary;
mod group;
mod happen;
mod judge;
mod letters;
mod season;
mod seat;
mod strike;
mod tally;
mod weather;
mod world;

use hustings_protocol::Duration;
use hustings_protocol::tenure::{Durable, Tenure};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use diary::Diary;
use world::World;

use crate::{Subject, wrong};

pub use judge::{Broken, Holder};
pub use tally::{Count, Longest, Tally};

/// How many storms rage between two looks at how far it got.
const BLOCK: u64 = 64;

/// With what a voter that lost its disk is initialised, given the highest counter that a majority
/// tells, and the most that it may have granted.
pub type Operator = fn(u64, Duration) -> Durable;

/// What came of one storm.
#[derive(Debug)]
pub struct Run {
    /// How often what happened.
    pub tally: Tally,
    /// The first promise that was broken; the storm ended there.
    pub broken: Option<Broken>,
    /// What happened, if it was to be told.
    pub lines: Vec<String>,
}

/// A version of tenure, or of what is done with it.
#[derive(Debug, Clone, Copy)]
pub struct Version {
    /// What it is called.
    pub name: &'static str,
    run: fn(u64, Operator, Diary) -> Run,
    operator: Operator,
}

/// What many storms came to.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Of all of them.
    pub tally: Tally,
    /// The seeds of those that broke a promise, ascending.
    pub broken: Vec<(u64, Broken)>,
}

impl Version {
    /// The honest one.
    pub const HONEST: Self = Self::of::<Tenure>("tenure");

    /// The honest one, where whoever initialises a voter gives it just what the others know.
    const WRONG_OPERATOR: Self = Self {
        operator: |highest, max_ttl| Durable {
            counter: highest,
            ..Durable::replacing(highest, max_ttl)
        },
        ..Self::of::<Tenure>("lost-disk-initialised-with-just-what-others-know")
    };

    pub(crate) const fn of<S: Subject>(name: &'static str) -> Self {
        Self {
            name,
            run: |seed, operator, diary| World::<S>::new(seed, operator, diary).run(),
            operator: Durable::replacing,
        }
    }

    /// All that are wrong.
    pub fn wrong() -> impl Iterator<Item = Self> {
        wrong::VERSIONS
            .iter()
            .copied()
            .chain([Self::WRONG_OPERATOR])
    }

    /// The version of this name, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::wrong().chain([Self::HONEST]);
        all.find(|version| version.name == name)
    }

    /// Goes through the storm of a seed.
    pub fn run(&self, seed: u64) -> Run {
        (self.run)(seed, self.operator, Diary::closed())
    }

    /// The same, and tells what happened.
    pub fn replay(&self, seed: u64) -> Run {
        (self.run)(seed, self.operator, Diary::open())
    }

    /// Goes through the storms of seeds 1, 2, ... until so many messages have arrived, or a promise is
    /// broken. `progress` hears how many there were so far. Over how many threads it is spread makes
    /// no difference to what comes of it.
    pub fn weather(&self, messages: u64, mut progress: impl FnMut(u64)) -> Outcome {
        let mut outcome = Outcome::default();
        let mut first = 1;
        while outcome.tally.of(Count::Messages) < messages && outcome.broken.is_empty() {
            let block = first..first + BLOCK;
            first = block.end;
            let runs: Vec<(u64, Run)> = block
                .into_par_iter()
                .map(|seed| (seed, self.run(seed)))
                .collect();
            for (seed, run) in runs {
                outcome.tally.add(&run.tally);
                outcome
                    .broken
                    .extend(run.broken.map(|broken| (seed, broken)));
            }
            progress(outcome.tally.of(Count::Messages));
        }
        outcome
    }
}
