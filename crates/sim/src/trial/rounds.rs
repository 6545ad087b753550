//! Runs of the probabilistic election, which proceeds in rounds.

use std::io::{self, Write};

use hustings_protocol::probabilistic::{GroupSize, Probabilistic};

use crate::measure::{Account, Interruption, Metric, Study};
use crate::probabilistic::{ProbabilisticRun as Run, ProbabilisticTrial, Sizes, elect_traced};
use crate::statistics::Kind;
use crate::{JsonLines, Memory, Scratch, Seeds, Silent};

/// Everything that determines a run of the probabilistic election, except its seeds.
pub struct Rounds {
    trial: ProbabilisticTrial,
    /// The allocations of earlier runs, for reuse.
    memory: Memory<Probabilistic>,
}

// Every run ends, because there is a last round. So no run needs a remark.
impl Account for Run {}

impl Rounds {
    /// Creates runs of this trial.
    pub fn new(trial: ProbabilisticTrial) -> Self {
        Self { trial, memory: Memory::default() }
    }
}

impl Study for Rounds {
    type Account = Run;

    fn metrics(&self) -> Vec<Metric<Run>> {
        let mut metrics = vec![
            Metric::share("strong_success", |run: &Run| run.strong_success),
            Metric::new("weak_success", Kind::Fraction, |run: &Run| Some(run.weak_success)),
            Metric::number("rounds", |run: &Run| run.rounds.into()),
            Metric::number("unicasts", |run: &Run| run.unicasts as f64),
            Metric::number("multicasts", |run: &Run| run.multicasts as f64),
            Metric::number("messages", |run: &Run| (run.unicasts + run.multicasts) as f64),
            Metric::number("messages_rounds_1_to_4", |run: &Run| run.messages_rounds_1_to_4 as f64),
            Metric::number("relay_members", |run: &Run| run.relay_members.into()),
            Metric::new("detected", Kind::Proportion, |run: &Run| {
                run.detected.map(|detected| f64::from(u8::from(detected)))
            }),
            Metric::number("delay", |run: &Run| run.delay.as_secs_f64()),
            Metric::number("delay_in_rounds", |run: &Run| run.delay_in_rounds.as_secs_f64()),
        ];
        if self.trial.config.size == GroupSize::Estimate {
            let estimate = |name, read: fn(Sizes) -> f64| {
                Metric::new(name, Kind::Number, move |run: &Run| run.sizes.map(read))
            };
            metrics.push(estimate("estimate", |sizes| sizes.mean));
            metrics.push(estimate("estimate_spread", |sizes| sizes.deviation));
        }
        metrics
    }

    fn run(&self, seeds: Seeds, interruption: &Interruption) -> Option<Run> {
        let goes_on = || !interruption.is_raised();
        let scratch = self.memory.take();
        let (run, Silent, scratch) = elect_traced(&self.trial, seeds, scratch, Silent, goes_on);
        self.memory.give_back(scratch);
        goes_on().then_some(run) // an interrupted run may be incomplete
    }

    fn record(&self, seeds: Seeds, interruption: &Interruption, out: impl Write) -> io::Result<()> {
        let scratch = Scratch::default();
        let goes_on = || !interruption.is_raised();
        let (_, trace, _) = elect_traced(&self.trial, seeds, scratch, JsonLines::new(out), goes_on);
        trace.finish().map(drop)
    }
}
