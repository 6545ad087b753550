//! Where the paper's draws are held.

use std::num::NonZeroU32;
use std::sync::Arc;

use hustings_protocol::Duration;
use hustings_protocol::wagner::subset::{Compare, Selection};
use hustings_protocol::wagner::{Config, Ring};
use hustings_sim::wagner::{Aim, Cheat, Rehearsal, Run, Scheme, Seat, Segment, Trial, draw};

use super::super::effort::{Effort, ExperimentError, seed_of};
use crate::trial::Memory;

/// The paper has no unit of time: a hop is ours.
const HOP: Duration = Duration::from_millis(100);
/// Draws that last longer do not end.
const MOST_ROUNDS: u32 = 200;

/// The paper's ring of so many, with a limit on response time: all honest.
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

/// The same, in which the first `cheaters` cheat so.
pub(super) fn cheated(members: u32, cheaters: u32, cheat: Cheat) -> Trial {
    Trial {
        cheaters: vec![Segment {
            cheat,
            from: 0,
            to: cheaters - 1,
        }],
        ..honest(members)
    }
}

/// The same, in which the first `cheaters` choose the best flips there are for what they are after.
pub(super) fn schemed(trial: &Trial, cheaters: u32, aim: Aim) -> Result<Trial, ExperimentError> {
    let scheme = Scheme::find(trial.members, cheaters, &trial.config, aim);
    let scheme = scheme.map_err(|why| ExperimentError(why.to_string()))?;
    Ok(Trial {
        config: trial.config,
        ..cheated(trial.members, cheaters, Cheat::Best(Arc::new(scheme)))
    })
}

/// The informal protocol of the introduction, all honest.
pub(super) fn informal(members: u32) -> Trial {
    let trial = honest(members);
    Trial {
        config: Config {
            selection: Selection::Parity,
            ..trial.config
        },
        ..trial
    }
}

/// The same with a limit on equal stages in a row: ours.
pub(super) fn limited(trial: Trial) -> Trial {
    limited_to(trial, Config::USUAL_STALL_LIMIT)
}

/// The same with a limit of so many.
pub(super) fn limited_to(trial: Trial, limit: NonZeroU32) -> Trial {
    Trial {
        config: Config {
            stall_limit: Some(limit),
            ..trial.config
        },
        ..trial
    }
}

/// Where a claim's draws are held: how much is put into them, and what becomes of the rules.
#[derive(Clone, Copy)]
pub(super) struct Stage<'a> {
    pub(super) effort: &'a Effort,
    /// What becomes of a trial. A test that wants to see a claim fall gets it wrong.
    pub(super) conduct: fn(Trial) -> Trial,
}

impl<'a> Stage<'a> {
    /// Honest members keep to the rules, and the others cheat as they should.
    pub(super) fn honest(effort: &'a Effort) -> Self {
        Self {
            effort,
            conduct: |trial| trial,
        }
    }

    /// The one for a glance, the other for good.
    pub(super) fn choose<T>(&self, quick: T, full: T) -> T {
        self.effort.choose(quick, full)
    }

    /// What each of `runs` draws came to, with chance of their own for each trial.
    pub(super) fn hold(&self, runs: u64, trial: &Trial) -> Result<Vec<Run>, ExperimentError> {
        let trial = (self.conduct)(trial.clone());
        let memory: Memory<Seat> = Memory::default();
        let rehearsal = Rehearsal::of(&trial);
        let own = self.effort.reseeded(seed_of(&format!("{trial:?}")));
        own.each(runs, |_, seeds| {
            if let Some(run) = rehearsal.as_ref().and_then(|it| it.draw(seeds)) {
                return run;
            }
            let (run, scratch) = draw(&trial, seeds, memory.take());
            memory.give_back(scratch);
            run
        })
    }
}
