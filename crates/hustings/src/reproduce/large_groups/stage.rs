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

/// A run of `plan` in the group of `model`.
pub(super) fn trial(model: &Model, plan: Plan) -> Trial {
    let strategy = Strategy {
        first: plan.k,
        rounds: plan.rounds,
        last: if model.members <= MOST_AT_ONCE {
            LastRound::Everybody
        } else {
            LastRound::Grown
        },
        ..Strategy::DOCUMENT
    };
    Trial {
        members: model.members as u32,
        view: model.view,
        crash: model.crash,
        unicast_loss: model.unicast_loss,
        multicast_loss: model.multicast_loss,
        config: Config {
            strategy,
            recall: plan.recall,
            reply: plan.reply,
            ..Config::document(model.members, DELAY)
        },
        purge: true,
    }
}

/// What each of `runs` elections came to, with chance of their own for each plan and group.
pub(super) fn runs(
    effort: &Effort,
    runs: u64,
    model: &Model,
    plan: Plan,
) -> Result<Vec<Run>, ExperimentError> {
    let trial = trial(model, plan);
    let memory: Memory<Probabilistic> = Memory::default();
    let own = effort.reseeded(seed_of(&format!("{plan:?} {model:?}")));
    own.each(runs, |_, seeds| {
        let (run, scratch) = elect(&trial, seeds, memory.take());
        memory.give_back(scratch);
        run
    })
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

/// Holds so many elections.
pub(super) fn held(
    effort: &Effort,
    count: u64,
    model: &Model,
    plan: Plan,
) -> Result<Held, ExperimentError> {
    Ok(Held::of(&runs(effort, count, model, plan)?))
}

/// The same in several groups.
pub(super) fn all_held(
    effort: &Effort,
    count: u64,
    models: &[Model],
    plan: Plan,
) -> Result<Vec<Held>, ExperimentError> {
    let held = |model| held(effort, count, model, plan);
    models.iter().map(held).collect()
}

/// One measure of each.
pub(super) fn each(held: &[Held], of: fn(&Held) -> Sample) -> Vec<Sample> {
    held.iter().map(of).collect()
}
