//! A council election on paper.

use hustings_theory::council::estimate::by_pseudocode;
use hustings_theory::council::{Algorithm, Election, Knowledge, Loss, printed};

use crate::elections::{ClosedForm, named};

/// What it costs, and beside it what the paper prints where that is wrong.
pub(super) fn council(election: &Election) -> ClosedForm {
    let cost = election.cost();
    let mut values = named([
        ("rounds", cost.rounds),
        ("messages", cost.messages),
        ("success_first_round", cost.success_first_round),
        ("c", election.c),
    ]);
    let mut missing = Vec::new();
    match election.knowledge {
        Knowledge::Estimated(_) if takes_long(election) => {
            missing.extend(["rounds_pseudocode", "messages_pseudocode"]);
        }
        Knowledge::Estimated(_) => {
            if let Some(cost) = by_pseudocode(election) {
                values.extend(named([
                    ("rounds_pseudocode", cost.rounds),
                    ("messages_pseudocode", cost.messages),
                ]));
            }
        }
        Knowledge::Known | Knowledge::Taken(_) if election.loss != Loss::NONE => {
            // As if c were smaller: which must be a c, too.
            let limit = Election {
                loss: Loss::NONE,
                ..*election
            }
            .limit_of_c();
            if election.c * (1.0 - election.loss.reply) < limit {
                let printed = printed::with_loss(election);
                values.extend(named([
                    ("rounds_printed", printed.rounds),
                    ("messages_printed", printed.messages),
                ]));
            }
        }
        Knowledge::Known | Knowledge::Taken(_) => {
            let is_drawn = !election.is_decided_by_the_poll();
            if election.algorithm == Algorithm::Basic && is_drawn {
                let messages = printed::basic_messages(election);
                values.extend(named([("messages_printed", messages)]));
            }
        }
    }
    ClosedForm { values, missing }
}

/// Whether the pseudocode, with every estimate that can follow, takes theory minutes: where replies are lost, and what follows
/// depends on more than how many are active.
fn takes_long(election: &Election) -> bool {
    match election.algorithm {
        Algorithm::Naive | Algorithm::Basic | Algorithm::SkipReset => false,
        Algorithm::Choice(_, _) | Algorithm::History => election.loss.reply > 0.0,
    }
}
