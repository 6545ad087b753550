//! Where the report's elections are held: its model, put into the simulator.

use hustings_protocol::Duration;
use hustings_protocol::probabilistic::{Config, LastRound, Probabilistic, Recall, Reply, Strategy};
use hustings_sim::probabilistic::{Run, Trial, elect};
use hustings_sim::statistics::{Kind, Sample};
use hustings_theory::probabilistic::Model;

use super::super::effort::{Effort, ExperimentError, seed_of};
use crate::trial::Memory;

/// The report has no unit of time: a delay is ours.
pub(super) const DELAY: Duration = Duration::from_millis(100);
/// In larger groups the last round is as any other: among all it would take the square of their number in messages.
const MOST_AT_ONCE: u64 = 20_000;

/// The figure's rule for who calls the next round, and the alternative that the report mentions.
pub(super) const RULES: [(&str, Recall); 2] = [("hash", Recall::Hash), ("delay", Recall::Delay)];

/// How members go about it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) k: u32,
    pub(super) rounds: u16,
    pub(super) recall: Recall,
    pub(super) reply: Reply,
}

impl Plan {
    /// The strategy of section 5.
    pub(super) fn whole(recall: Recall) -> Self {
        Self {
            k: Strategy::DOCUMENT.first,
            rounds: Strategy::DOCUMENT.rounds,
            recall,
            reply: Reply::Worse,
        }
    }

    /// One round.
    pub(super) fn round(k: u32) -> Self {
        Self {
            k,
            rounds: 1,
            ..Self::whole(Recall::Delay)
        }
    }

    /// K of each round in a group of so many.
    pub(super) fn ks(self, members: u64) -> Vec<u32> {
        self.strategy(members).ks(members).collect()
    }

    fn strategy(self, members: u64) -> Strategy {
        Strategy {
            first: self.k,
            rounds: self.rounds,
            last: if members <= MOST_AT_ONCE {
                LastRound::Everybody
            } else {
                LastRound::Grown
            },
            ..Strategy::DOCUMENT
        }
    }
}

/// The group of Figure 5 (d) to (f): hardly any loss.
pub(super) fn group(members: u64) -> Model {
    Model {
        members,
        view: 0.5,
        crash: 0.001,
        unicast_loss: 0.001,
        multicast_loss: 0.001,
    }
}

/// The same, where so much is lost of unicasts and multicasts alike.
pub(super) fn with_loss(members: u64, loss: f64) -> Model {
    Model {
        unicast_loss: loss,
        multicast_loss: loss,
        ..group(members)
    }
}

/// Where a claim's elections are held: how much is put into them, and what members make of the rules.
#[derive(Clone, Copy)]
pub(super) struct Stage<'a> {
    pub(super) effort: &'a Effort,
    /// What becomes of the rules in a group of this size. A test that wants to see a claim fall gets them wrong.
    pub(super) conduct: fn(Config, u64) -> Config,
}

impl<'a> Stage<'a> {
    /// Members keep to the rules.
    pub(super) fn honest(effort: &'a Effort) -> Self {
        Self {
            effort,
            conduct: |config, _| config,
        }
    }

    /// The one for a glance, the other for good.
    pub(super) fn choose<T>(&self, quick: T, full: T) -> T {
        self.effort.choose(quick, full)
    }

    /// A run of `plan` in the group of `model`.
    pub(super) fn trial(&self, model: &Model, plan: Plan) -> Trial {
        let config = Config {
            strategy: plan.strategy(model.members),
            recall: plan.recall,
            reply: plan.reply,
            ..Config::document(model.members, DELAY)
        };
        Trial {
            members: model.members as u32,
            view: model.view,
            crash: model.crash,
            unicast_loss: model.unicast_loss,
            multicast_loss: model.multicast_loss,
            config: (self.conduct)(config, model.members),
            purge: true,
        }
    }

    /// What each of `runs` elections came to, with chance of their own for each plan and group.
    pub(super) fn runs(
        &self,
        runs: u64,
        model: &Model,
        plan: Plan,
    ) -> Result<Vec<Run>, ExperimentError> {
        let trial = self.trial(model, plan);
        let memory: Memory<Probabilistic> = Memory::default();
        let own = self
            .effort
            .reseeded(seed_of(&format!("{plan:?} {model:?}")));
        own.each(runs, |_, seeds| {
            let (run, scratch) = elect(&trial, seeds, memory.take());
            memory.give_back(scratch);
            run
        })
    }

    /// Holds so many elections.
    pub(super) fn held(
        &self,
        count: u64,
        model: &Model,
        plan: Plan,
    ) -> Result<Held, ExperimentError> {
        Ok(Held::of(&self.runs(count, model, plan)?))
    }

    /// The same in several groups.
    pub(super) fn all_held(
        &self,
        count: u64,
        models: &[Model],
        plan: Plan,
    ) -> Result<Vec<Held>, ExperimentError> {
        let held = |model| self.held(count, model, plan);
        models.iter().map(held).collect()
    }
}

/// What many elections came to.
pub(super) struct Held {
    pub(super) strong: Sample,
    pub(super) weak: Sample,
    pub(super) rounds: Sample,
    pub(super) unicasts: Sample,
    pub(super) multicasts: Sample,
    /// Of both kinds, before the fifth round.
    pub(super) messages: Sample,
    /// Of those whose first round failed.
    pub(super) detected: Sample,
}

impl Held {
    fn of(runs: &[Run]) -> Self {
        let sample = |kind, value: fn(&Run) -> Option<f64>| {
            let mut sample = Sample::new(kind);
            runs.iter().filter_map(value).for_each(|it| sample.add(it));
            sample
        };
        let share = Kind::Proportion;
        Self {
            strong: sample(share, |run| Some(f64::from(u8::from(run.strong_success)))),
            weak: sample(Kind::Fraction, |run| Some(run.weak_success)),
            rounds: sample(Kind::Number, |run| Some(run.rounds.into())),
            unicasts: sample(Kind::Number, |run| Some(run.unicasts as f64)),
            multicasts: sample(Kind::Number, |run| Some(run.multicasts as f64)),
            messages: sample(Kind::Number, |run| Some(run.messages_rounds_1_to_4 as f64)),
            detected: sample(share, |run| Some(f64::from(u8::from(run.detected?)))),
        }
    }
}

/// One measure of each.
pub(super) fn each(held: &[Held], of: fn(&Held) -> Sample) -> Vec<Sample> {
    held.iter().map(of).collect()
}
