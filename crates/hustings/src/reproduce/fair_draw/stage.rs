//! Where the paper's draws are held.

use hustings_protocol::Duration;
use hustings_protocol::wagner::subset::Compare;
use hustings_protocol::wagner::{Config, Ring};
use hustings_sim::wagner::{Cheat, Rehearsal, Run, Seat, Segment, Trial, draw};

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
            compare: Compare::NonStrict,
            stall_limit: None,
            respond_within: Some(HOP * u64::from(4 * members)),
        },
        cheaters: None,
        hop: HOP,
        loss: 0.0,
        most_rounds: MOST_ROUNDS,
    }
}

/// The same, in which the first `cheaters` cheat so.
pub(super) fn cheated(members: u32, cheaters: u32, cheat: Cheat) -> Trial {
    Trial {
        cheaters: Some(Segment {
            cheat,
            from: 0,
            to: cheaters - 1,
        }),
        ..honest(members)
    }
}

/// The same with our limit on equal stages in a row.
pub(super) fn limited(trial: Trial) -> Trial {
    Trial {
        config: Config {
            stall_limit: Some(Config::USUAL_STALL_LIMIT),
            ..trial.config
        },
        ..trial
    }
}

/// What each of `runs` draws came to, with chance of their own for each trial.
pub(super) fn hold(effort: &Effort, runs: u64, trial: &Trial) -> Result<Vec<Run>, ExperimentError> {
    let memory: Memory<Seat> = Memory::default();
    let rehearsal = Rehearsal::of(trial);
    let own = effort.reseeded(seed_of(&format!("{trial:?}")));
    own.each(runs, |_, seeds| {
        if let Some(run) = rehearsal.as_ref().and_then(|it| it.draw(seeds)) {
            return run;
        }
        let (run, scratch) = draw(trial, seeds, memory.take());
        memory.give_back(scratch);
        run
    })
}
