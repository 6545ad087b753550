//! The fixture of the paper's draws.

use std::num::NonZeroU32;
use std::sync::Arc;

use hustings_protocol::Duration;
use hustings_protocol::wagner::subset::{Compare, Selection};
use hustings_protocol::wagner::{Config, Ring};
use hustings_sim::wagner::{
    Aim, Cheat, DrawRun as Run, DrawTrial as Trial, FastDraws, Scheme, Seat, Segment, draw,
};

use super::super::budget::{Budget, ExperimentError, seed_of};
use hustings_sim::Memory;

/// The delay of a hop. The paper has no unit of time; this one is ours.
const HOP: Duration = Duration::from_millis(100);
/// The greatest number of rounds. A draw that lasts longer counts as never ending.
const MOST_ROUNDS: u32 = 200;

/// Returns the paper's ring of `members` with a limit on response time, all members honest.
pub(super) fn honest(members: u32) -> Trial {
    Trial {
        members,
        config: Config {
            ring: Ring::BothWays,
            selection: Selection::Proportional,
            compare: Compare::NonStrict,
            stall_limit: None,
            respond_within: Some(HOP * u64::from(4 * members)),
        },
        cheaters: Vec::new(),
        hop: HOP,
        loss: 0.0,
        most_rounds: MOST_ROUNDS,
    }
}

/// Returns the same ring whose first `cheaters` members cheat with `cheat`.
pub(super) fn cheated(members: u32, cheaters: u32, cheat: Cheat) -> Trial {
    Trial { cheaters: vec![Segment { cheat, from: 0, to: cheaters - 1 }], ..honest(members) }
}

/// Returns the same trial whose first `cheaters` members choose the optimal flips for `aim`.
pub(super) fn schemed(trial: &Trial, cheaters: u32, aim: Aim) -> Result<Trial, ExperimentError> {
    let scheme = Scheme::find(trial.members, cheaters, &trial.config, aim);
    let scheme = scheme.map_err(|why| ExperimentError(why.to_string()))?;
    Ok(Trial {
        config: trial.config,
        ..cheated(trial.members, cheaters, Cheat::Best(Arc::new(scheme)))
    })
}

/// Returns the informal protocol of the introduction, all members honest.
pub(super) fn informal(members: u32) -> Trial {
    let trial = honest(members);
    Trial { config: Config { selection: Selection::Parity, ..trial.config }, ..trial }
}

/// Adds our limit on equal stages in a row.
pub(super) fn limited(trial: Trial) -> Trial {
    limited_to(trial, Config::USUAL_STALL_LIMIT)
}

/// Adds a limit of `limit` equal stages in a row.
pub(super) fn limited_to(trial: Trial, limit: NonZeroU32) -> Trial {
    Trial { config: Config { stall_limit: Some(limit), ..trial.config }, ..trial }
}

/// The fixture of a claim: the budget, and a change of each trial.
#[derive(Clone, Copy)]
pub(super) struct WagnerFixture<'a> {
    pub(super) budget: &'a Budget,
    /// Changes a trial. Mutants use it to break the rules.
    pub(super) conduct: fn(Trial) -> Trial,
}

impl<'a> WagnerFixture<'a> {
    /// Builds a fixture in which honest members follow the rules and cheaters cheat as intended.
    pub(super) fn honest(budget: &'a Budget) -> Self {
        Self { budget, conduct: |trial| trial }
    }

    /// Returns `quick` or `full`, by the budget.
    pub(super) fn choose<T>(&self, quick: T, full: T) -> T {
        self.budget.choose(quick, full)
    }

    /// Runs `runs` draws. Each trial has its own seed.
    pub(super) fn hold(&self, runs: u64, trial: &Trial) -> Result<Vec<Run>, ExperimentError> {
        let trial = (self.conduct)(trial.clone());
        let memory: Memory<Seat> = Memory::default();
        let fast_draws = FastDraws::of(&trial);
        let own = self.budget.reseeded(seed_of(&format!("{trial:?}")));
        own.each(runs, |_, seeds| {
            if let Some(run) = fast_draws.as_ref().and_then(|it| it.draw(seeds)) {
                return run;
            }
            let (run, scratch) = draw(&trial, seeds, memory.take());
            memory.give_back(scratch);
            run
        })
    }
}
