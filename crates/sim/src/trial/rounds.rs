//! Runs of the probabilistic election, which proceeds in rounds.

use std::io::{self, Write};

use hustings_protocol::probabilistic::{GroupSize, Probabilistic};

use crate::measure::{Account, Interruption, Metric, Study};
use crate::probabilistic::{ProbabilisticRun, ProbabilisticTrial, elect_traced};
use crate::statistics::Kind;
use crate::{JsonLines, Memory, Scratch, Seeds, Silent};

/// Everything that determines a run of the probabilistic election, except its seeds.
pub struct Rounds {
    trial: ProbabilisticTrial,
    /// The allocations of earlier runs, for reuse.
    memory: Memory<Probabilistic>,
}

// Every run ends, because there is a last round. So no run needs a remark.
impl Account for ProbabilisticRun {}

impl Rounds {
    /// Creates runs of this trial.
    pub fn new(trial: ProbabilisticTrial) -> Self {
        Self { trial, memory: Memory::default() }
    }
}

impl Study for Rounds {
    type Account = ProbabilisticRun;

    fn metrics(&self) -> Vec<Metric<ProbabilisticRun>> {
        let messages = |run: &ProbabilisticRun| (run.unicasts + run.multicasts) as f64;
        let mut metrics = vec![
            Metric::share("strong_success", |run: &ProbabilisticRun| run.strong_success),
            Metric::new("weak_success", Kind::Fraction, |run: &ProbabilisticRun| {
                Some(run.weak_success)
            }),
            Metric::number("rounds", |run: &ProbabilisticRun| run.rounds.into()),
            Metric::number("unicasts", |run: &ProbabilisticRun| run.unicasts as f64),
            Metric::number("multicasts", |run: &ProbabilisticRun| run.multicasts as f64),
            Metric::number("messages", messages),
            Metric::number("messages_rounds_1_to_4", |run: &ProbabilisticRun| {
                run.messages_rounds_1_to_4 as f64
            }),
            Metric::number("relay_members", |run: &ProbabilisticRun| run.relay_members.into()),
            Metric::new("detected", Kind::Proportion, |run: &ProbabilisticRun| {
                run.detected.map(|detected| f64::from(u8::from(detected)))
            }),
            Metric::number("delay", |run: &ProbabilisticRun| run.delay.as_secs_f64()),
            Metric::number("delay_in_rounds", |run: &ProbabilisticRun| {
                run.delay_in_rounds.as_secs_f64()
            }),
        ];
        if self.trial.config.size == GroupSize::Estimate {
            metrics.extend([
                Metric::new("estimate", Kind::Number, |run: &ProbabilisticRun| {
                    run.sizes.map(|sizes| sizes.mean)
                }),
                Metric::new("estimate_spread", Kind::Number, |run: &ProbabilisticRun| {
                    run.sizes.map(|sizes| sizes.deviation)
                }),
            ]);
        }
        metrics
    }

    fn run(&self, seeds: Seeds, interruption: &Interruption) -> Option<ProbabilisticRun> {
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
