//! The fixture of the report's elections: its model, put into the simulator.

use hustings_protocol::Duration;
use hustings_protocol::probabilistic::{
    Config, LastRound, Probabilistic, Recall, ReplyRule, Strategy,
};
use hustings_sim::Memory;
use hustings_sim::probabilistic::{ProbabilisticRun, ProbabilisticTrial, elect};
use hustings_sim::statistics::{Kind, Sample};
use hustings_theory::probabilistic::Model;

use super::super::budget::{Budget, Fixture, Result, sample_of, seed_of, share_of};

/// The message delay. The report has no unit of time; this one is ours.
pub(super) const DELAY: Duration = Duration::from_millis(100);
/// The greatest group with a last round of all members. That round takes the square of N messages,
/// so larger groups use an ordinary last round.
const MOST_AT_ONCE: u64 = 20_000;

/// The figure's rule for the choice of the member that starts the next round, and the report's
/// alternative.
pub(super) const RULES: [(&str, Recall); 2] = [("hash", Recall::Hash), ("delay", Recall::Delay)];

/// The parameters of the members' strategy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) k: u32,
    pub(super) rounds: u16,
    pub(super) recall: Recall,
    pub(super) reply: ReplyRule,
}

impl Plan {
    /// Returns the strategy of section 5.
    pub(super) fn whole(recall: Recall) -> Self {
        Self {
            k: Strategy::DOCUMENT.first,
            rounds: Strategy::DOCUMENT.rounds,
            recall,
            reply: ReplyRule::Worse,
        }
    }

    /// Returns a strategy of one round.
    pub(super) fn round(k: u32) -> Self {
        Self { k, rounds: 1, ..Self::whole(Recall::Delay) }
    }

    /// Returns K of each round in a group of `members`.
    pub(super) fn ks(self, members: u64) -> Vec<u32> {
        self.strategy(members).ks(members).collect()
    }

    fn strategy(self, members: u64) -> Strategy {
        Strategy {
            first: self.k,
            rounds: self.rounds,
            last: if members <= MOST_AT_ONCE { LastRound::Everybody } else { LastRound::Grown },
            ..Strategy::DOCUMENT
        }
    }
}

/// Returns the group of Figure 5 (d) to (f), with hardly any loss.
pub(super) fn group(members: u64) -> Model {
    Model { members, view: 0.5, crash: 0.001, unicast_loss: 0.001, multicast_loss: 0.001 }
}

/// Returns the same group with the same loss of unicasts and multicasts.
pub(super) fn with_loss(members: u64, loss: f64) -> Model {
    Model { unicast_loss: loss, multicast_loss: loss, ..group(members) }
}

/// The fixture of the report's claims. Mutants change the configuration in a group of some size.
pub(super) type ProbabilisticFixture<'a> = Fixture<'a, fn(Config, u64) -> Config>;

/// Builds a fixture whose members follow the rules.
pub(super) fn honest(budget: &Budget) -> ProbabilisticFixture<'_> {
    Fixture { budget, conduct: |config, _| config }
}

impl ProbabilisticFixture<'_> {
    /// Returns a trial of `plan` in the group of `model`.
    pub(super) fn trial(&self, model: &Model, plan: Plan) -> ProbabilisticTrial {
        let config = Config {
            strategy: plan.strategy(model.members),
            recall: plan.recall,
            reply: plan.reply,
            ..Config::paper(model.members, DELAY)
        };
        ProbabilisticTrial {
            members: model.members as u32,
            view: model.view,
            crash: model.crash,
            unicast_loss: model.unicast_loss,
            multicast_loss: model.multicast_loss,
            config: (self.conduct)(config, model.members),
            purge: true,
        }
    }

    /// Runs `runs` elections. Each plan and group has its own seed.
    pub(super) fn runs(
        &self,
        runs: u64,
        model: &Model,
        plan: Plan,
    ) -> Result<Vec<ProbabilisticRun>> {
        let trial = self.trial(model, plan);
        let memory: Memory<Probabilistic> = Memory::default();
        let own = self.budget.reseeded(seed_of(&format!("{plan:?} {model:?}")));
        own.each(runs, |_, seeds| {
            let (run, scratch) = elect(&trial, seeds, memory.take());
            memory.give_back(scratch);
            run
        })
    }

    /// Runs `count` elections and returns their measures.
    pub(super) fn held(
        &self,
        count: u64,
        model: &Model,
        plan: Plan,
    ) -> Result<ProbabilisticResults> {
        Ok(ProbabilisticResults::of(&self.runs(count, model, plan)?))
    }

    /// Runs `count` elections in each of several groups.
    pub(super) fn all_held(
        &self,
        count: u64,
        models: &[Model],
        plan: Plan,
    ) -> Result<Vec<ProbabilisticResults>> {
        models.iter().map(|model| self.held(count, model, plan)).collect()
    }
}

/// The measures of many elections.
pub(super) struct ProbabilisticResults {
    pub(super) strong: Sample,
    pub(super) weak: Sample,
    pub(super) rounds: Sample,
    pub(super) unicasts: Sample,
    pub(super) multicasts: Sample,
    /// Messages of both kinds before the fifth round.
    pub(super) messages: Sample,
    /// The share of detected failures among elections whose first round failed.
    pub(super) detected: Sample,
}

impl ProbabilisticResults {
    fn of(runs: &[ProbabilisticRun]) -> Self {
        let number =
            |of: fn(&ProbabilisticRun) -> f64| sample_of(Kind::Number, runs.iter().map(of));
        Self {
            strong: share_of(runs.iter().map(|run| run.strong_success)),
            weak: sample_of(Kind::Fraction, runs.iter().map(|run| run.weak_success)),
            rounds: number(|run| run.rounds.into()),
            unicasts: number(|run| run.unicasts as f64),
            multicasts: number(|run| run.multicasts as f64),
            messages: number(|run| run.messages_rounds_1_to_4 as f64),
            detected: share_of(runs.iter().filter_map(|run| run.detected)),
        }
    }
}

/// Returns one measure of each group.
pub(super) fn each(
    held: &[ProbabilisticResults],
    of: fn(&ProbabilisticResults) -> Sample,
) -> Vec<Sample> {
    held.iter().map(of).collect()
}
