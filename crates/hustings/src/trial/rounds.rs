//! Runs of the probabilistic election, which goes round by round.

use std::path::Path;

use hustings_protocol::probabilistic::{GroupSize, Probabilistic};
use hustings_sim::probabilistic::{Run, Trial, elect_traced};
use hustings_sim::statistics::Kind;
use hustings_sim::{Scratch, Seeds, Silent};

use super::{Account, Memory, close, open};
use crate::failure::Failure;
use crate::interruption::Interruption;
use crate::measure::{Experiment, Metric};

/// Everything that decides a run of the probabilistic election, save its number.
pub(crate) struct Rounds {
    pub(crate) trial: Trial,
    pub(crate) seed: u64,
    /// Whether the user wants to stop.
    pub(crate) interruption: Interruption,
    /// What earlier runs left for later ones.
    pub(crate) memory: Memory<Probabilistic>,
}

impl Account for Run {
    fn caveat(&self) -> Option<&'static str> {
        None // every run ends: there is a last round
    }
}

impl Rounds {
    /// Does the first run and writes down all that happens, one JSON object a line.
    pub(crate) fn record(&self, path: &Path) -> Result<(), Failure> {
        let (seeds, scratch) = (Seeds::new(self.seed, 0), Scratch::default());
        let goes_on = || !self.interruption.is_raised();
        let (_, trace, _) = elect_traced(&self.trial, seeds, scratch, open(path)?, goes_on);
        close(trace, path)
    }
}

impl Experiment for Rounds {
    type Account = Run;

    fn metrics(&self) -> Vec<Metric<Run>> {
        let messages = |run: &Run| (run.unicasts + run.multicasts) as f64;
        let mut metrics = vec![
            Metric::share("strong_success", |run: &Run| run.strong_success),
            Metric::new("weak_success", Kind::Fraction, |run: &Run| {
                Some(run.weak_success)
            }),
            Metric::number("rounds", |run: &Run| run.rounds.into()),
            Metric::number("unicasts", |run: &Run| run.unicasts as f64),
            Metric::number("multicasts", |run: &Run| run.multicasts as f64),
            Metric::number("messages", messages),
            Metric::number("messages_rounds_1_to_4", |run: &Run| {
                run.messages_rounds_1_to_4 as f64
            }),
            Metric::number("relay_members", |run: &Run| run.relay_members.into()),
            Metric::new("detected", Kind::Proportion, |run: &Run| {
                run.detected.map(|detected| f64::from(u8::from(detected)))
            }),
            Metric::number("delay", |run: &Run| run.delay.as_secs_f64()),
            Metric::number("delay_in_rounds", |run: &Run| {
                run.delay_in_rounds.as_secs_f64()
            }),
        ];
        if self.trial.config.size == GroupSize::Estimate {
            metrics.extend([
                Metric::new("estimate", Kind::Number, |run: &Run| {
                    run.sizes.map(|sizes| sizes.mean)
                }),
                Metric::new("estimate_spread", Kind::Number, |run: &Run| {
                    run.sizes.map(|sizes| sizes.deviation)
                }),
            ]);
        }
        metrics
    }

    fn run(&self, number: u64) -> Option<Run> {
        let goes_on = || !self.interruption.is_raised();
        if !goes_on() {
            return None;
        }
        let (seeds, scratch) = (Seeds::new(self.seed, number), self.memory.take());
        let (run, Silent, scratch) = elect_traced(&self.trial, seeds, scratch, Silent, goes_on);
        self.memory.give_back(scratch);
        goes_on().then_some(run) // else it may have been cut off
    }
}
