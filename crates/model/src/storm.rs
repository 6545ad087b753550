//! Storms: long runs of tenure under random faults, where [`crate::World`] explores short ones
//! exhaustively.
//!
//! A seed determines a storm: a group of voters and nominees, their clocks and configurations, and
//! a list of faults. The same seed gives the same storm on every machine and for every version of
//! tenure. In every fifth storm the main faults are lost disks of voters.
//!
//! # Faults
//! - Messages are lost, duplicated, reordered, and delayed by more than any tenure lasts.
//! - The group is partitioned, or one member does not hear another any more.
//! - Members crash: between two steps, or within a step, after some of its effects. They restart
//!   with their saved state. Voters lose their disks, and are initialised with the counter that a
//!   majority reports.
//! - Processes are stopped and continue; machines sleep and wake up.
//! - Clocks run at different rates, which change, all within the bound; some show coarse units.
//! - Nominees are asked to acquire, withdraw, release and hand over, become unhealthy, recover, and
//!   leave. Their ttl and the voters' `max_ttl` change, at run time and at restarts.
//!
//! # Properties
//! The properties must hold after every step, in real time, which no member knows: see `Broken`.

mod apply;
mod chance;
mod clock;
mod fault;
mod group;
mod in_flight;
mod judge;
mod log;
mod machine;
mod network_faults;
mod storm_run;
mod tally;

use hustings_protocol::Duration;
use hustings_protocol::tenure::{Durable, Tenure};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use log::Log;
use storm_run::StormRun;

use crate::{Sut, wrong};

use judge::Broken;
pub use tally::{Count, Longest, Tally};

/// Number of storms between two reports of progress.
const BLOCK: u64 = 64;

/// The initial state of a voter that lost its disk, given the highest counter that a majority
/// reports and the longest ttl that it may have granted.
pub type Operator = fn(u64, Duration) -> Durable;

/// The result of one storm.
#[derive(Debug)]
pub struct Run {
    /// The counts of events.
    pub tally: Tally,
    /// The first broken promise; the storm ended there.
    pub broken: Option<Broken>,
    /// The log, if it was requested.
    pub lines: Vec<String>,
}

/// A version of tenure, or of its operation.
#[derive(Debug, Clone, Copy)]
pub struct Version {
    /// The name of the version.
    pub name: &'static str,
    run: fn(u64, Operator, Log) -> Run,
    operator: Operator,
}

/// The result of many storms.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The counts over all storms.
    pub tally: Tally,
    /// The seeds of storms that broke a promise, ascending.
    pub broken: Vec<(u64, Broken)>,
}

impl Version {
    /// The original.
    pub const HONEST: Self = Self::of::<Tenure>("tenure");

    /// The original, where the operator initialises a voter with exactly the counter that the
    /// others report.
    const WRONG_OPERATOR: Self = Self {
        operator: |highest, max_ttl| Durable {
            counter: highest,
            ..Durable::replacing(highest, max_ttl)
        },
        ..Self::of::<Tenure>("lost-disk-initialised-with-just-what-others-know")
    };

    pub(crate) const fn of<S: Sut>(name: &'static str) -> Self {
        Self {
            name,
            run: |seed, operator, log| StormRun::<S>::new(seed, operator, log).run(),
            operator: Durable::replacing,
        }
    }

    /// All wrong versions.
    pub fn wrong() -> impl Iterator<Item = Self> {
        wrong::VERSIONS.iter().copied().chain([Self::WRONG_OPERATOR])
    }

    /// The version of this name, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::wrong().chain([Self::HONEST]);
        all.find(|version| version.name == name)
    }

    /// Runs the storm of a seed.
    pub fn run(&self, seed: u64) -> Run {
        (self.run)(seed, self.operator, Log::closed())
    }

    /// As [`Version::run`], with a log.
    pub fn replay(&self, seed: u64) -> Run {
        (self.run)(seed, self.operator, Log::open())
    }

    /// Runs the storms of seeds 1, 2, ... until `messages` messages have arrived, or a promise is
    /// broken. Calls `progress` with the number of messages up to now. The number of threads does
    /// not change the result.
    pub fn run_many(&self, messages: u64, mut progress: impl FnMut(u64)) -> Outcome {
        let mut outcome = Outcome::default();
        let mut first = 1;
        while outcome.tally.of(Count::Messages) < messages && outcome.broken.is_empty() {
            let block = first..first + BLOCK;
            first = block.end;
            let runs: Vec<(u64, Run)> =
                block.into_par_iter().map(|seed| (seed, self.run(seed))).collect();
            for (seed, run) in runs {
                outcome.tally.add(&run.tally);
                outcome.broken.extend(run.broken.map(|broken| (seed, broken)));
            }
            progress(outcome.tally.of(Count::Messages));
        }
        outcome
    }
}
