//! Closed forms of a council election.

use hustings_protocol::council::{Algorithm as Drawn, Search};
use hustings_theory::council::estimate::by_pseudocode;
use hustings_theory::council::{
    Algorithm, Cost, Election, Knowledge, Loss, Reset, by_evidence, misprints,
};

use super::Council;
use crate::elections::ClosedForm;
use crate::failure::Failure;
use crate::options::{no_closed_form, require_closed_form};

/// Evaluates the cost, with the paper's printed value beside each one that it gets wrong.
///
/// # Errors
/// If there is no closed form.
pub(super) fn council(council: &Council) -> Result<ClosedForm, Failure> {
    let is_by_merit = council.options.algorithm == Drawn::Priority;
    require_closed_form(&[(is_by_merit, "of seats by merit")])?;
    let election = &council.election;
    let is_estimated = matches!(election.knowledge, Knowledge::Estimated(_));
    if council.search == Search::Guarded && is_estimated {
        return guarded(election);
    }
    let cost = council.cost;
    let mut form = of_cost(&cost, election.c);
    match election.knowledge {
        // The equations describe exactly this centre.
        Knowledge::Estimated(_) if counts_all(election.algorithm) => {}
        Knowledge::Estimated(_) => {
            let cost = (!takes_long(election)).then(|| by_pseudocode(election)).flatten();
            form.enter("rounds_pseudocode", cost.map(|it| it.rounds));
            form.enter("messages_pseudocode", cost.map(|it| it.messages));
        }
        Knowledge::Known | Knowledge::Taken(_) if election.loss != Loss::NONE => {
            // The printed equation treats loss as a smaller c, which must be a valid c, too.
            let limit = Election { loss: Loss::NONE, ..*election }.limit_of_c();
            if election.c * (1.0 - election.loss.reply) < limit {
                let printed = misprints::with_loss(election);
                form.add([
                    ("rounds_printed", printed.rounds),
                    ("messages_printed", printed.messages),
                ]);
            }
        }
        Knowledge::Known | Knowledge::Taken(_) => {
            let is_drawn = !election.is_decided_by_the_poll();
            if election.algorithm == Algorithm::Basic && is_drawn {
                form.add([("messages_printed", misprints::basic_messages(election))]);
            }
        }
    }
    Ok(form)
}

fn of_cost(cost: &Cost, c: f64) -> ClosedForm {
    ClosedForm::of([
        ("rounds", cost.rounds),
        ("messages", cost.messages),
        ("success_first_round", cost.success_first_round),
        ("c", c),
    ])
}

/// Evaluates the cost with the search that agents use.
fn guarded(election: &Election) -> Result<ClosedForm, Failure> {
    let why = match election.algorithm {
        _ if election.loss.multicast > 0.0 => {
            "with multicast loss: each host lowers its own estimate for every call that it \
             missed, so hosts draw with different numbers"
        }
        Algorithm::Naive => {
            "with --algorithm naive: all hosts draw in every round, and the next estimate of the \
             centre depends on all earlier rounds"
        }
        Algorithm::Basic | Algorithm::Choice(_, Reset::Polled) => {
            "with --algorithm basic: after too few replies all hosts are counted, which agents \
             do not do either"
        }
        Algorithm::Choice(_, Reset::Skipped) => {
            "with --algorithm choice: the two draws of a round give information about n \
             together, but the centre continues with one"
        }
        Algorithm::SkipReset | Algorithm::History => "",
    };
    let cost = by_evidence(election).filter(|_| why.is_empty());
    let cost = cost.ok_or_else(|| no_closed_form(&format!("of --search guarded {why}")))?;
    Ok(of_cost(&cost, election.c))
}

/// Returns true if all hosts reply after an undershoot that follows an overshoot.
fn counts_all(algorithm: Algorithm) -> bool {
    matches!(algorithm, Algorithm::Basic | Algorithm::Choice(_, Reset::Polled))
}

/// Returns true if the theory takes minutes for an estimate and its successors. That is so if
/// messages are lost and the state is more than the number of active hosts.
fn takes_long(election: &Election) -> bool {
    let Loss { reply, multicast } = election.loss;
    let is_estimated = matches!(election.knowledge, Knowledge::Estimated(_));
    match election.algorithm {
        Algorithm::Naive | Algorithm::Basic | Algorithm::SkipReset => false,
        Algorithm::Choice(_, _) => is_estimated && (reply > 0.0 || multicast > 0.0),
        Algorithm::History => is_estimated && reply > 0.0,
    }
}
