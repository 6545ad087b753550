//! Closed forms of one round, and the choice of K.

use hustings_protocol::probabilistic::{Introduction, Recall, ReplyRule};
use hustings_sim::Detection;
use hustings_theory::probabilistic::adaptive::{OutOfReach, smallest_k};
use hustings_theory::probabilistic::{Model, cost, detection, factors, success};

use super::{ClosedForm, Probabilistic, ProbabilisticOptions, Size};
use crate::failure::Failure;
use crate::options::{Setup, no_closed_form};

/// Returns the smallest K with which a round succeeds with probability `target`.
///
/// # Errors
/// If there is none.
pub(super) fn k_for(model: &Model, target: f64) -> Result<u32, Failure> {
    let chosen =
        smallest_k(model, target).map_err(|shortfall| out_of_reach(model, target, &shortfall))?;
    // K is at most the number of members, which fits.
    Ok(u32::try_from(chosen.k).unwrap_or(u32::MAX))
}

/// Returns the model in which drawn members know as many of each other as they do after all have
/// introduced themselves.
pub(super) fn acquainted(introduction: Introduction, model: Model) -> Model {
    match introduction {
        Introduction::View => model,
        // A member that receives another's multicast knows that member.
        Introduction::Multicast => Model { view: 1.0 - model.multicast_loss, ..model },
    }
}

/// Evaluates a round with the first K.
///
/// # Errors
/// If there is no closed form under these conditions.
pub(super) fn closed_form(election: &Probabilistic, setup: &Setup) -> Result<ClosedForm, Failure> {
    setup.require_independent_losses()?;
    if setup.conditions.detection(Detection::Never) != Detection::Never {
        return Err(no_closed_form("with --detect"));
    }
    let ProbabilisticOptions { group_size, introduction, recall, reply, target_success, .. } =
        election.options;
    match group_size {
        Size::Known => {}
        Size::View => return Err(no_closed_form("with --group-size view")),
        Size::Estimate => return Err(no_closed_form("with --group-size estimate")),
    }
    let model = &acquainted(introduction, election.model);
    let k = f64::from(election.strategy.first);
    let mut form = ClosedForm::default();
    if target_success.is_some() {
        form.add([("k", k)]);
    }
    let detection_bound = match recall {
        Recall::Hash => detection::detection_bound_by_hash(model, k),
        Recall::Delay | Recall::All => detection::detection_bound(model, k),
    };
    form.add([
        ("e1", factors::e1(model, k)),
        ("e2", factors::e2(model, k)),
        ("e3", factors::e3(model, k)),
        ("e4", factors::e4(model, k)),
        ("e5", factors::e5(model, k)),
        ("success_bound", factors::success_bound(model, k)),
        ("success_corrected", success::success_corrected(model, k)),
        ("detection_bound", detection_bound),
        ("detection_bound_printed", detection::detection_bound_printed(model, k)),
    ]);
    match reply {
        ReplyRule::Worse => form.add([("unicasts_bound", cost::unicasts_bound(model, k))]),
        ReplyRule::Once | ReplyRule::Literal => form.missing.push("unicasts_bound"),
    }
    if target_success.is_some() {
        let multicasts = cost::multicasts_bound(model, k);
        let (first_unicasts, multicasts_bound) = match introduction {
            Introduction::View => (cost::first_unicasts(model, k), multicasts),
            // Every member that sends a final multicast also multicasts its first choice.
            Introduction::Multicast => (0.0, 2.0 * multicasts - 1.0),
        };
        form.add([
            ("relay_members", model.relay_members(k)),
            ("first_unicasts", first_unicasts),
            ("multicasts_bound", multicasts_bound),
        ]);
    }
    Ok(form)
}

fn out_of_reach(model: &Model, target: f64, shortfall: &OutOfReach) -> Failure {
    let OutOfReach { ceiling, best } = shortfall;
    Failure::Usage(if *ceiling <= 0.0 {
        format!(
            "no K reaches --target-success {target}: with --crash {} no member is left at the \
             end of a round: choose a --crash below 1",
            model.crash
        )
    } else if target >= *ceiling {
        format!(
            "no K reaches --target-success {target}: with --crash {} the leader itself crashes \
             so often that a round succeeds with probability {ceiling} at most: choose a target \
             below that",
            model.crash
        )
    } else {
        // Rounded down, so that the user can ask for the value.
        let success = (best.success * 1e6).floor() / 1e6;
        format!(
            "no K reaches --target-success {target}: the best for --members {} is K {}, with \
             {success}: choose a lower target, more members, wider views or less loss",
            model.members, best.k
        )
    })
}
