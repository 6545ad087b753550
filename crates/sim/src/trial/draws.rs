//! Runs of Wagner's ring, in which members may cheat.

use std::io::{self, Write};

use crate::measure::{Account, Interruption, Metric, Study};
use crate::statistics::Kind;
use crate::wagner::{DrawRun as Run, DrawTrial, FastDraws, Seat, draw_traced};
use crate::{JsonLines, Memory, Scratch, Seeds, Silent};

/// Everything that determines a run of Wagner's ring, except its seeds.
pub struct Draws {
    trial: DrawTrial,
    /// The fast computation, for trials in which no fault is possible.
    fast_draws: Option<FastDraws>,
    /// The allocations of earlier runs, for reuse.
    memory: Memory<Seat>,
}

// A metric already counts draws that do not end.
impl Account for Run {}

impl Draws {
    /// Creates runs of this trial.
    pub fn new(trial: DrawTrial) -> Self {
        Self { fast_draws: FastDraws::of(&trial), trial, memory: Memory::default() }
    }
}

impl Study for Draws {
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
            Metric::new("fault_round", Kind::Number, |run: &Run| run.fault_round.map(f64::from)),
            Metric::share("leader_is_cheater", |run: &Run| run.leader_is_cheater),
            Metric::share("stalled", Run::stalled),
        ]
    }

    fn run(&self, seeds: Seeds, interruption: &Interruption) -> Option<Run> {
        let goes_on = || !interruption.is_raised();
        if let Some(run) = self.fast_draws.as_ref().and_then(|it| it.draw(seeds)) {
            return Some(run);
        }
        let scratch = self.memory.take();
        let (run, Silent, scratch) = draw_traced(&self.trial, seeds, scratch, Silent, goes_on);
        self.memory.give_back(scratch);
        goes_on().then_some(run) // an interrupted run may be incomplete
    }

    fn record(&self, seeds: Seeds, interruption: &Interruption, out: impl Write) -> io::Result<()> {
        let scratch = Scratch::default();
        let goes_on = || !interruption.is_raised();
        let (_, trace, _) = draw_traced(&self.trial, seeds, scratch, JsonLines::new(out), goes_on);
        trace.finish().map(drop)
    }
}
