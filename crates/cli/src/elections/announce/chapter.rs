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
    self as theory, AnnounceModel, MulticastLoss, Variant, announcements, delay, messages, printed,
    recurrence, reestablishment,
};

use crate::elections::ClosedForm;
use crate::failure::Failure;
use crate::options::{Setup, no_closed_form};

/// The relative difference below which a printed value counts as equal, to allow for rounding.
const ROUNDING: f64 = 1e-9;

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
    let mut form = ClosedForm::default();
    let undisturbed = nobody_is_missed(config, &model);
    enter_election(&mut form, algorithm, &model, undisturbed);
    enter_later(&mut form, algorithm, &model, config);
    Ok(form)
}

/// Evaluates AL: a listener that misses the best member goes on announcing itself, as before.
pub(super) fn announce_listen(
    election: &AnnounceListening,
    setup: &Setup,
) -> Result<ClosedForm, Failure> {
    require_nobody_goes(election.churn)?;
    let announce = election.config.announce;
    let model = model(election.members, Duration::ZERO, announce, Wake::Uniform, setup)?;
    let mut form = ClosedForm::default();
    enter_election(&mut form, Variant::Al, &model, true);
    Ok(form)
}

/// Evaluates SUP.
pub(super) fn suppression(election: &Suppressing, setup: &Setup) -> Result<ClosedForm, Failure> {
    let suppression::Config { suppress, wake } = election.config;
    if suppress == Duration::ZERO {
        return Err(no_closed_form("with --suppress-interval 0s"));
    }
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
    let departs = if config.leaders > 1 {
        "with --leaders above 1"
    } else if config.joining != Joining::Announce {
        "with --join query or suppress-then-query"
    } else if config.correction == Correction::AtOnce {
        "with --correct at-once"
    } else if config.takeover == Takeover::Never {
        "with --takeover never"
    } else if config.heartbeat == Heartbeat::Ignored {
        "with --heartbeat ignored"
    } else {
        return Ok(());
    };
    Err(no_closed_form(departs))
}

fn require_nobody_goes(churn: Churn) -> Result<(), Failure> {
    if churn.is_none() { Ok(()) } else { Err(no_closed_form("with --churn")) }
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

/// Enters the values of the first election. A listener that misses its leader costs messages. If
/// the wake-up decides, it also changes the leader.
fn enter_election(
    form: &mut ClosedForm,
    algorithm: Variant,
    model: &AnnounceModel,
    undisturbed: bool,
) {
    let hears_the_same = undisturbed || algorithm != Variant::LeM;
    let if_undisturbed = |value: Option<f64>| value.filter(|_| undisturbed);
    let if_same = |value: Option<f64>| value.filter(|_| hears_the_same);

    form.enter("messages", if_undisturbed(messages::messages_until_heard(algorithm, model)));
    form.enter("tmax", if_same(delay::last_send(algorithm, model)));
    form.enter("delay", if_same(delay::leadership_delay(algorithm, model)));
    form.enter_printed("delay", printed::leadership_delay(algorithm, model));
    form.enter("rounds", if_same(Some(announcements::rounds(model))));
    form.enter("avg_rounds", if_same(Some(announcements::average_rounds(model))));
    form.enter(
        "first_round_messages",
        if_undisturbed(messages::first_round_messages(algorithm, model)),
    );
    if algorithm == Variant::LeS {
        form.enter_printed("first_round_messages", printed::first_round_messages_of_le_s(model));
        enter_without_delay(form, model);
    }
    form.enter(
        "first_round_tmax",
        if_undisturbed(delay::last_send_of_first_round(algorithm, model)),
    );
    let by_tmax = match algorithm {
        Variant::LeS => messages::messages_of_le_s_until_sent(model),
        Variant::LeA | Variant::LeM | Variant::Sup | Variant::Al => None,
    };
    form.enter("messages_by_tmax", if_undisturbed(by_tmax));
}

/// Enters the recurrence for uncorrelated loss. It assumes no delay, and no member that announces
/// itself twice while others sleep.
fn enter_without_delay(form: &mut ClosedForm, model: &AnnounceModel) {
    if let MulticastLoss::Uncorrelated(loss) = model.loss
        && model.announce_interval >= model.suppress_interval
    {
        let name = "first_round_messages_without_delay";
        let mean = recurrence::has_mean(model.members, loss)
            .then(|| recurrence::mean_messages(model.members, loss));
        form.enter(name, mean);
        form.enter_printed(name, Some(printed::mean_messages(model.members, loss)));
    }
}

/// Enters the values after the first election: true and false departures, and late joiners.
fn enter_later(form: &mut ClosedForm, algorithm: Variant, model: &AnnounceModel, config: &Config) {
    if algorithm == Variant::LeM {
        return; // late joiners, and listeners that miss the leader, draw their priority anew
    }
    let suppresses = algorithm == Variant::LeS;
    if let Listen::For(span) = config.listen {
        enter_departures(form, algorithm, model, span.as_secs_f64(), config.farewell);
    }
    form.enter("join_greater", reestablishment::greater_joiner(algorithm, model));
    form.enter_printed("join_greater", suppresses.then(|| printed::greater_joiner(model)));
    form.enter("join_lesser", Some(reestablishment::lesser_joiner(model)));
    form.enter_printed("join_lesser", suppresses.then(|| printed::lesser_joiner(model)));
}

/// Enters the values for a leader that is gone, or is missed although it is up.
fn enter_departures(
    form: &mut ClosedForm,
    algorithm: Variant,
    model: &AnnounceModel,
    listen: f64,
    farewell: Repeat,
) {
    let suppresses = algorithm == Variant::LeS;
    let loss = model.loss.probability();
    if loss > 0.0 || listen < model.announce_interval {
        form.enter(
            "inconsistent",
            Some(reestablishment::inconsistent_fraction_of_any(model, listen)),
        );
        form.enter(
            "inconsistent_false",
            Some(reestablishment::inconsistent_fraction(model, listen)),
        );
        form.enter_printed(
            "inconsistent_false",
            Some(printed::inconsistent_fraction(model, listen)),
        );
        form.enter("reestablishment_false", Some(reestablishment::false_departure(model, listen)));
        form.enter_printed("reestablishment_false", Some(printed::false_departure(model, listen)));
    }
    // The remaining members must agree, and there must be at least two.
    if model.members > 2 && farewell == Repeat::Times(0) {
        let left = AnnounceModel { members: model.members - 1, ..*model };
        let at = model.announce_interval / 2.0;
        form.enter(
            "reestablishment_departure",
            reestablishment::leader_departure(algorithm, &left, listen, at),
        );
        form.enter_printed(
            "reestablishment_departure",
            suppresses.then(|| printed::leader_departure(&left, listen, at)),
        );
    }
}

impl ClosedForm {
    /// Enters a value, or records that it is missing.
    fn enter(&mut self, name: &'static str, value: Option<f64>) {
        match value {
            Some(value) => self.values.push((name.to_owned(), value)),
            None => self.missing.push(name),
        }
    }

    /// Enters the printed value beside the value just entered, if the two differ.
    fn enter_printed(&mut self, name: &'static str, printed: Option<f64>) {
        if let (Some(printed), Some((last, value))) = (printed, self.values.last())
            && last == name
            && (printed - value).abs() > ROUNDING * value.abs().max(1.0)
        {
            self.values.push((format!("{name}_printed"), printed));
        }
    }
}
