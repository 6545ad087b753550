//! The fixture of the paper's draws.

use std::num::NonZeroU32;
use std::sync::Arc;

use hustings_protocol::Duration;
use hustings_protocol::wagner::subset::{Compare, Selection};
use hustings_protocol::wagner::{Config, Ring};
use hustings_sim::Memory;
use hustings_sim::wagner::{
    Aim, Cheat, DrawRun, DrawTrial, FastDraws, Scheme, Seat, Segment, draw,
};

use super::super::budget::{Budget, ExperimentError, Fixture, Result, seed_of};

/// The delay of a hop. The paper has no unit of time; this one is ours.
const HOP: Duration = Duration::from_millis(100);
/// The greatest number of rounds. A draw that lasts longer counts as never ending.
const MOST_ROUNDS: u32 = 200;

/// Returns the paper's ring of `members` with a limit on response time, all members honest.
pub(super) fn honest(members: u32) -> DrawTrial {
    DrawTrial {
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
pub(super) fn cheated(members: u32, cheaters: u32, cheat: Cheat) -> DrawTrial {
    DrawTrial { cheaters: vec![Segment { cheat, from: 0, to: cheaters - 1 }], ..honest(members) }
}

/// Returns the same trial whose first `cheaters` members choose the optimal flips for `aim`.
pub(super) fn schemed(trial: &DrawTrial, cheaters: u32, aim: Aim) -> Result<DrawTrial> {
    let scheme = Scheme::find(trial.members, cheaters, &trial.config, aim);
    let scheme = scheme.map_err(|why| ExperimentError(why.to_string()))?;
    Ok(DrawTrial {
        config: trial.config,
        ..cheated(trial.members, cheaters, Cheat::Best(Arc::new(scheme)))
    })
}

/// Returns the informal protocol of the introduction, all members honest.
pub(super) fn informal(members: u32) -> DrawTrial {
    let trial = honest(members);
    DrawTrial { config: Config { selection: Selection::Parity, ..trial.config }, ..trial }
}

/// Adds our limit on equal stages in a row.
pub(super) fn limited(trial: DrawTrial) -> DrawTrial {
    limited_to(trial, Config::USUAL_STALL_LIMIT)
}

/// Adds a limit of `limit` equal stages in a row.
pub(super) fn limited_to(trial: DrawTrial, limit: NonZeroU32) -> DrawTrial {
    DrawTrial { config: Config { stall_limit: Some(limit), ..trial.config }, ..trial }
}

/// The fixture of the paper's claims. Mutants change a trial.
pub(super) type WagnerFixture<'a> = Fixture<'a, fn(DrawTrial) -> DrawTrial>;

/// Builds a fixture in which honest members follow the rules and cheaters cheat as intended.
pub(super) fn obedient(budget: &Budget) -> WagnerFixture<'_> {
    Fixture { budget, conduct: |trial| trial }
}

impl WagnerFixture<'_> {
    /// Runs `runs` draws. Each trial has its own seed.
    pub(super) fn hold(&self, runs: u64, trial: &DrawTrial) -> Result<Vec<DrawRun>> {
        let trial = (self.conduct)(trial.clone());
        let memory: Memory<Seat> = Memory::default();
        let fast_draws = FastDraws::of(&trial);
        // The seeds of the recorded numbers come from the type's former name.
        let text = format!("{trial:?}").replacen("DrawTrial", "Trial", 1);
        let own = self.budget.reseeded(seed_of(&text));
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
