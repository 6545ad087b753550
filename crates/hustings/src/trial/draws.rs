//! Runs of Wagner's ring, in which members may cheat.

use std::path::Path;

use hustings_sim::statistics::Kind;
use hustings_sim::wagner::{Rehearsal, Run, Seat, Trial, draw_traced};
use hustings_sim::{Scratch, Seeds, Silent};

use super::{Account, Memory, close, open};
use crate::failure::Failure;
use crate::interruption::Interruption;
use crate::measure::{Experiment, Metric};

/// Everything that decides a run of Wagner's ring, save its number.
pub(crate) struct Draws {
    pub(crate) trial: Trial,
    /// The short way, where nothing can go wrong.
    pub(crate) rehearsal: Option<Rehearsal>,
    pub(crate) seed: u64,
    /// Whether the user wants to stop.
    pub(crate) interruption: Interruption,
    /// What earlier runs left for later ones.
    pub(crate) memory: Memory<Seat>,
}

impl Account for Run {
    fn caveat(&self) -> Option<&'static str> {
        None // that a draw does not end is a metric
    }
}

impl Draws {
    /// Does the first run and writes down all that happens, one JSON object a line.
    pub(crate) fn record(&self, path: &Path) -> Result<(), Failure> {
        let (seeds, scratch) = (Seeds::new(self.seed, 0), Scratch::default());
        let goes_on = || !self.interruption.is_raised();
        let (_, trace, _) = draw_traced(&self.trial, seeds, scratch, open(path)?, goes_on);
        close(trace, path)
    }
}

impl Experiment for Draws {
    type Account = Run;

    fn metrics(&self) -> Vec<Metric<Run>> {
        let informed = |run: &Run| f64::from(run.informed) / f64::from(run.honest);
        vec![
            Metric::number("stages", |run: &Run| run.stages.into()),
            Metric::number("flips", |run: &Run| run.flips.into()),
            Metric::number("basic_rounds", |run: &Run| {
                f64::from(run.stages) + f64::from(run.flips)
            }),
            Metric::number("messages", |run: &Run| run.messages() as f64),
            Metric::number("bits", |run: &Run| run.bits() as f64),
            Metric::number("delay", |run: &Run| run.delay.as_secs_f64()),
            Metric::share("elected", |run: &Run| run.leader.is_some()),
            Metric::share("fault_detected", Run::fault_detected),
            Metric::new("honest_informed", Kind::Fraction, move |run: &Run| {
                run.fault_detected().then(|| informed(run))
            }),
            Metric::new("fault_round", Kind::Number, |run: &Run| {
                run.fault_round.map(f64::from)
            }),
            Metric::share("leader_is_cheater", |run: &Run| run.leader_is_cheater),
            Metric::share("stalled", Run::stalled),
        ]
    }

    fn run(&self, number: u64) -> Option<Run> {
        let goes_on = || !self.interruption.is_raised();
        if !goes_on() {
            return None;
        }
        let seeds = Seeds::new(self.seed, number);
        if let Some(run) = self.rehearsal.as_ref().and_then(|it| it.draw(seeds)) {
            return Some(run);
        }
        let scratch = self.memory.take();
        let (run, Silent, scratch) = draw_traced(&self.trial, seeds, scratch, Silent, goes_on);
        self.memory.give_back(scratch);
        goes_on().then_some(run) // else it may have been cut off
    }
}
