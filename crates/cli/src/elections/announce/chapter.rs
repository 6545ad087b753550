//! Closed forms of elections by announcement: section 5.3 of the chapter, corrected, with the
//! printed value beside each corrected one.

use hustings_protocol::announce::{
    Config, Correction, Heartbeat, Joining, Listen, Repeat, Takeover, Wake,
};
use hustings_protocol::{Duration, suppression};
use hustings_sim::LossModel;
use hustings_sim::elections::{AnnounceListening, Announcing, PriorityKind, Suppressing};
use hustings_sim::trial::Churn;
use hustings_theory::announce::{
    self as theory, AnnounceModel, MulticastLoss, Variant, delay, messages, printed, recurrence,
    reestablishment, repeats_until_heard,
};

use crate::elections::ClosedForm;
use crate::failure::Failure;
use crate::options::{Setup, no_closed_form, require_closed_form};

/// Evaluates the closed forms of LE-A, LE-S or LE-M.
pub(super) fn election(election: &Announcing, setup: &Setup) -> Result<ClosedForm, Failure> {
    let config = &election.config;
    require_chapter(config)?;
    require_nobody_goes(election.churn)?;
    let algorithm = match election.priority {
        _ if config.suppress == Duration::ZERO => Variant::LeA,
        PriorityKind::Id | PriorityKind::Priority => Variant::LeS,
        PriorityKind::Wake => Variant::LeM,
    };
    let model = model(election.members, config.suppress, config.announce, config.wake, setup)?;
    let undisturbed = nobody_is_missed(config, &model);
    let mut chapter = Chapter { algorithm, model, undisturbed, form: ClosedForm::default() };
    chapter.enter_election();
    chapter.enter_later(config);
    Ok(chapter.form)
}

/// Evaluates AL: a listener that misses the best member goes on announcing itself, as before.
pub(super) fn announce_listen(
    election: &AnnounceListening,
    setup: &Setup,
) -> Result<ClosedForm, Failure> {
    require_nobody_goes(election.churn)?;
    let announce = election.config.announce;
    let model = model(election.members, Duration::ZERO, announce, Wake::Uniform, setup)?;
    let (algorithm, undisturbed, form) = (Variant::Al, true, ClosedForm::default());
    let mut chapter = Chapter { algorithm, model, undisturbed, form };
    chapter.enter_election();
    Ok(chapter.form)
}

/// Evaluates SUP.
pub(super) fn suppression(election: &Suppressing, setup: &Setup) -> Result<ClosedForm, Failure> {
    let suppression::Config { suppress, wake } = election.config;
    require_closed_form(&[(suppress == Duration::ZERO, "with --suppress-interval 0s")])?;
    // No member announces itself twice, so the announce interval does not matter.
    let model = model(election.members, suppress, suppress, wake, setup)?;
    let mut form = ClosedForm::default();
    let algorithm = Variant::Sup;
    form.enter("messages", messages::messages_until_heard(algorithm, &model));
    form.enter("tmax", delay::last_send(algorithm, &model));
    form.enter("delay", delay::leadership_delay(algorithm, &model));
    if form.values.is_empty() {
        return Err(no_closed_form("for suppression with uncorrelated loss"));
    }
    Ok(form)
}

/// Checks that the rules are the chapter's.
fn require_chapter(config: &Config) -> Result<(), Failure> {
    require_closed_form(&[
        (config.leaders > 1, "with --leaders above 1"),
        (config.joining != Joining::Announce, "with --join query or suppress-then-query"),
        (config.correction == Correction::AtOnce, "with --correct at-once"),
        (config.takeover == Takeover::Never, "with --takeover never"),
        (config.heartbeat == Heartbeat::Ignored, "with --heartbeat ignored"),
    ])
}

fn require_nobody_goes(churn: Churn) -> Result<(), Failure> {
    require_closed_form(&[(!churn.is_none(), "with --churn")])
}

fn model(
    members: u32,
    suppress: Duration,
    announce: Duration,
    wake: Wake,
    setup: &Setup,
) -> Result<AnnounceModel, Failure> {
    setup.require_no_faults_but_loss()?;
    setup.require_constant_delay()?;
    let network = &setup.conditions.network;
    let loss = match (network.loss_model, network.multicast_loss) {
        (_, 0.0) => MulticastLoss::None,
        (_, loss) if loss >= 1.0 => return Err(no_closed_form("where everything is lost")),
        (LossModel::Correlated, loss) => MulticastLoss::Correlated(loss),
        (LossModel::Uncorrelated, loss) => MulticastLoss::Uncorrelated(loss),
    };
    let wake = match wake {
        Wake::Uniform => theory::Wake::Uniform,
        Wake::Exponential { rate } if rate > 0.0 => theory::Wake::Exponential { rate },
        Wake::Exponential { .. } => return Err(no_closed_form("with a --wake rate below 0")),
        Wake::ByPriority(_) => return Err(no_closed_form("with --wake merit")),
    };
    // If no member waits, the theory does not use the suppression interval.
    let suppress_interval = match suppress {
        Duration::ZERO => 1.0,
        suppress => suppress.as_secs_f64(),
    };
    Ok(AnnounceModel {
        members: members.into(),
        suppress_interval,
        announce_interval: announce.as_secs_f64(),
        delay: setup.conditions.mean_delay().as_secs_f64(),
        loss,
        wake,
    })
}

/// Returns true if no listener ever misses a leader that is up.
fn nobody_is_missed(config: &Config, model: &AnnounceModel) -> bool {
    match config.listen {
        Listen::Never => true,
        Listen::For(span) => model.loss == MulticastLoss::None && span > config.announce,
        Listen::Measured { .. } => model.loss == MulticastLoss::None,
    }
}

/// The values of one election by the chapter.
struct Chapter {
    algorithm: Variant,
    model: AnnounceModel,
    /// True if no listener ever misses a leader that is up.
    undisturbed: bool,
    form: ClosedForm,
}

impl Chapter {
    /// Enters the values of the first election. A listener that misses its leader costs messages.
    /// If the wake-up decides, it also changes the leader.
    fn enter_election(&mut self) {
        let Self { algorithm, ref model, undisturbed, ref mut form } = *self;
        let hears_the_same = undisturbed || algorithm != Variant::LeM;
        let if_undisturbed = |value: Option<f64>| value.filter(|_| undisturbed);
        let if_same = |value: Option<f64>| value.filter(|_| hears_the_same);
        let suppresses = algorithm == Variant::LeS;

        form.enter("messages", if_undisturbed(messages::messages_until_heard(algorithm, model)));
        form.enter("tmax", if_same(delay::last_send(algorithm, model)));
        let delay = if_same(delay::leadership_delay(algorithm, model));
        form.enter_beside("delay", delay, printed::leadership_delay(algorithm, model));
        form.enter("rounds", if_same(Some(repeats_until_heard::rounds(model))));
        form.enter("avg_rounds", if_same(Some(repeats_until_heard::average_rounds(model))));
        let first_round = if_undisturbed(messages::first_round_messages(algorithm, model));
        let printed = suppresses.then(|| printed::first_round_messages_of_le_s(model));
        form.enter_beside("first_round_messages", first_round, printed.flatten());
        if suppresses {
            enter_without_delay(form, model);
        }
        let first_round = if_undisturbed(delay::last_send_of_first_round(algorithm, model));
        form.enter("first_round_tmax", first_round);
        let by_tmax = suppresses.then(|| messages::messages_of_le_s_until_sent(model));
        form.enter("messages_by_tmax", if_undisturbed(by_tmax.flatten()));
    }

    /// Enters the values after the first election: true and false departures, and late joiners.
    fn enter_later(&mut self, config: &Config) {
        if self.algorithm == Variant::LeM {
            return; // late joiners, and listeners that miss the leader, draw their priority anew
        }
        if let Listen::For(span) = config.listen {
            self.enter_departures(span.as_secs_f64(), config.farewell);
        }
        let Self { algorithm, ref model, ref mut form, .. } = *self;
        let suppresses = algorithm == Variant::LeS;
        let printed = suppresses.then(|| printed::greater_joiner(model));
        let greater = reestablishment::greater_joiner(algorithm, model);
        form.enter_beside("join_greater", greater, printed);
        let printed = suppresses.then(|| printed::lesser_joiner(model));
        form.enter_beside("join_lesser", reestablishment::lesser_joiner(model), printed);
    }

    /// Enters the values for a leader that is gone, or is missed although it is up.
    fn enter_departures(&mut self, listen: f64, farewell: Repeat) {
        let Self { algorithm, ref model, ref mut form, .. } = *self;
        if model.loss.probability() > 0.0 || listen < model.announce_interval {
            let any = reestablishment::inconsistent_fraction_of_any(model, listen);
            form.enter("inconsistent", any);
            let printed = printed::inconsistent_fraction(model, listen);
            let inconsistent = reestablishment::inconsistent_fraction(model, listen);
            form.enter_beside("inconsistent_false", inconsistent, printed);
            let printed = printed::false_departure(model, listen);
            let departure = reestablishment::false_departure(model, listen);
            form.enter_beside("reestablishment_false", departure, printed);
        }
        // The remaining members must agree, and there must be at least two.
        if model.members > 2 && farewell == Repeat::Times(0) {
            let left = AnnounceModel { members: model.members - 1, ..*model };
            let at = model.announce_interval / 2.0;
            let suppresses = algorithm == Variant::LeS;
            let printed = suppresses.then(|| printed::leader_departure(&left, listen, at));
            let departure = reestablishment::leader_departure(algorithm, &left, listen, at);
            form.enter_beside("reestablishment_departure", departure, printed);
        }
    }
}

/// Enters the recurrence for uncorrelated loss. It assumes no delay, and no member that announces
/// itself twice while others sleep.
fn enter_without_delay(form: &mut ClosedForm, model: &AnnounceModel) {
    if let MulticastLoss::Uncorrelated(loss) = model.loss
        && model.announce_interval >= model.suppress_interval
    {
        let mean = recurrence::has_mean(model.members, loss)
            .then(|| recurrence::mean_messages(model.members, loss));
        let printed = printed::mean_messages(model.members, loss);
        form.enter_beside("first_round_messages_without_delay", mean, printed);
    }
}
