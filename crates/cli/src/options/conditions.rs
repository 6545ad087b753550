//! The protocol of an election and its conditions: the network and the faults.

use clap::Args;
use hustings_protocol::Duration;
use hustings_sim::{Conditions, Delay, Detection, LossModel, Network, Reordering};

use super::ExperimentOptions;
use super::named::{Named, one_of};
use super::values::{self, HoldingBack, SignedArg};
use crate::failure::Failure;
use crate::report::{Parameters, sentence_of};

/// The options that all protocols share.
#[derive(Debug, Args)]
pub(crate) struct Common {
    #[command(flatten)]
    network: NetworkOptions,
    #[command(flatten)]
    faults: FaultOptions,
    #[command(flatten)]
    pub(crate) experiment: ExperimentOptions,
}

impl Common {
    /// Returns the setup of an election by `protocol`.
    pub(crate) fn setup(&self, protocol: &'static str) -> Setup {
        let NetworkOptions { delay, loss_model, duplicate, reorder, .. } = self.network;
        let by = reorder.by.unwrap_or(delay.mean());
        let network = Network {
            delay,
            unicast_loss: self.network.loss.unwrap_or(self.network.unicast_loss),
            multicast_loss: self.network.loss.unwrap_or(self.network.multicast_loss),
            loss_model,
            duplicate,
            reordering: Reordering { probability: reorder.probability, by },
        };
        let FaultOptions { crash, view, detect: detection } = self.faults;
        Setup { protocol, conditions: Conditions { network, crash, view, detection } }
    }
}

/// The options of the network.
#[derive(Debug, Args)]
#[command(next_help_heading = "Network")]
struct NetworkOptions {
    /// The delay of a message: 100ms, uniform:50ms..150ms, exponential:100ms (its mean), or
    /// lognormal:100ms:0.5 (median, and standard deviation of the logarithm)
    #[arg(long, value_name = "DELAY", default_value = "100ms", value_parser = values::delay,
          allow_hyphen_values = true)]
    delay: Delay,

    /// The probability that a message is lost; short for --unicast-loss P --multicast-loss P
    #[arg(long, value_name = "P", number = values::probability,
          conflicts_with_all = ["unicast_loss", "multicast_loss"])]
    loss: Option<f64>,

    /// The probability that a unicast is lost
    #[arg(long, value_name = "P", default_value = "0", number = values::probability)]
    unicast_loss: f64,

    /// The probability that a multicast is lost
    #[arg(long, value_name = "P", default_value = "0", number = values::probability)]
    multicast_loss: f64,

    /// The receivers that lose a multicast together
    #[arg(long, value_parser = one_of::<LossModel>(), default_value = "uncorrelated")]
    loss_model: LossModel,

    /// The probability that a message arrives twice
    #[arg(long, value_name = "P", default_value = "0", number = values::probability)]
    duplicate: f64,

    /// The probability that a message is held back, by up to one mean delay, or, as in 0.1:2s, by
    /// up to the given duration
    #[arg(long, value_name = "P[:DURATION]", default_value = "0", value_parser = values::holding_back,
          allow_hyphen_values = true)]
    reorder: HoldingBack,
}

/// The options for faults and for their detection.
#[derive(Debug, Args)]
#[command(next_help_heading = "Faults")]
struct FaultOptions {
    /// The probability that a member crashes in a round, for as long as the election lasts. A round
    /// is once round the ring; for bully, both time-outs together; for the announce family, one
    /// announce interval, or T_S plus a delay for suppression; for probabilistic, one of its rounds
    #[arg(long, value_name = "P", default_value = "0", number = values::probability)]
    crash: f64,

    /// The probability that a member knows another
    #[arg(long, value_name = "P", default_value = "1", number = values::probability)]
    view: f64,

    /// The failure detection: at once and without a notice (oracle), never, or this long after the
    /// crash, with a notice. Default: oracle on rings, never for bully. The announce family has no
    /// views. Views of probabilistic drop crashed members between rounds
    #[arg(long, value_name = "oracle|never|DURATION", value_parser = values::detection,
          allow_hyphen_values = true)]
    detect: Option<Detection>,
}

/// The protocol that the user chose, and the conditions of its election.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup {
    /// The protocol's name on the command line.
    pub(crate) protocol: &'static str,
    pub(crate) conditions: Conditions,
}

/// The checks name the option to leave out, or the condition that closed forms do not cover.
impl Setup {
    /// Returns all conditions, for the record.
    pub(crate) fn parameters(&self) -> Parameters {
        let Conditions { network, crash, view, .. } = &self.conditions;
        Parameters::default()
            .with("delay", values::show_delay(network.delay))
            .with("unicast_loss", network.unicast_loss)
            .with("multicast_loss", network.multicast_loss)
            .with("loss_model", network.loss_model.name())
            .with("duplicate", network.duplicate)
            .with("reorder", network.reordering.probability)
            .with("reorder_by", network.reordering.by.to_string())
            .with("crash", *crash)
            .with("view", *view)
    }

    /// Describes the conditions in one sentence for people: the delay, and every fault.
    pub(crate) fn sentence(&self) -> String {
        let Conditions { network, crash, view, .. } = &self.conditions;
        let Network { unicast_loss, multicast_loss, duplicate, .. } = *network;
        let reordering = network.reordering.probability;
        let is_correlated = network.loss_model == LossModel::Correlated;
        let together = if is_correlated { "correlated " } else { "" };
        let is_one = unicast_loss == multicast_loss;
        sentence_of([
            (true, format!("delay {}", values::show_delay(network.delay))),
            (is_one && unicast_loss > 0.0, format!("{together}loss {unicast_loss}")),
            (!is_one && unicast_loss > 0.0, format!("unicast loss {unicast_loss}")),
            (!is_one && multicast_loss > 0.0, format!("{together}multicast loss {multicast_loss}")),
            (duplicate > 0.0, format!("duplicates {duplicate}")),
            (reordering > 0.0, format!("reordering {reordering}")),
            (*crash > 0.0, format!("crashes {crash} a round")),
            (*view < 1.0, format!("views {view}")),
        ])
    }

    /// Checks that messages are only delayed and members have no faults, as closed forms assume.
    pub(crate) fn require_no_faults(&self) -> Result<(), Failure> {
        let Network { unicast_loss, multicast_loss, .. } = self.conditions.network;
        require_closed_form(&[(unicast_loss.max(multicast_loss) > 0.0, "with loss")])?;
        self.require_no_faults_but_loss()
    }

    /// Checks the same, but messages may be lost.
    pub(crate) fn require_no_faults_but_loss(&self) -> Result<(), Failure> {
        let Conditions { network, crash, view, .. } = &self.conditions;
        require_closed_form(&[
            (network.duplicate > 0.0, "with duplicates"),
            (network.reordering.probability > 0.0, "with reordering"),
            (*crash > 0.0, "with crashes"),
            (1.0 - *view > 0.0, "with partial views"),
        ])
    }

    /// Checks that messages are at worst lost, independently for each receiver. Members may crash,
    /// and may not know each other.
    pub(crate) fn require_independent_losses(&self) -> Result<(), Failure> {
        let network = &self.conditions.network;
        let is_correlated = network.loss_model == LossModel::Correlated;
        require_closed_form(&[
            (network.duplicate > 0.0, "with duplicates"),
            (network.reordering.probability > 0.0, "with reordering"),
            (is_correlated && network.multicast_loss > 0.0, "with correlated loss"),
        ])
    }

    /// Checks that no option is given that has no effect on members without views, which send only
    /// multicasts.
    pub(crate) fn require_multicast_alone(&self) -> Result<(), Failure> {
        let Conditions { network, view, detection, .. } = &self.conditions;
        let Network { unicast_loss, multicast_loss, .. } = *network;
        let (option, reason) = if *view < 1.0 {
            ("--view", "have no views")
        } else if detection.is_some() {
            ("--detect", "have no views")
        } else if unicast_loss > 0.0 && unicast_loss != multicast_loss {
            ("--unicast-loss", "multicast all their messages")
        } else {
            return Ok(());
        };
        Err(Failure::Usage(format!(
            "{option} has no effect for {}, whose members {reason}: leave {option} out",
            self.protocol
        )))
    }

    /// Checks that every message takes one constant delay, arrives at most once and is lost
    /// independently for each receiver, because rounds depend on that. Members may crash, and may
    /// not know each other. Returns the delay.
    pub(crate) fn require_steps(&self) -> Result<Duration, Failure> {
        let network = &self.conditions.network;
        let Delay::Constant(delay) = network.delay else {
            return Err(Failure::Usage(format!(
                "{} cannot be simulated with delays that vary: choose a constant, as in --delay \
                 100ms",
                self.protocol
            )));
        };
        self.require_unasked(&[
            ("--reorder", network.reordering.probability > 0.0),
            ("--duplicate", network.duplicate > 0.0),
            ("--loss-model correlated", network.loss_model == LossModel::Correlated),
            ("--detect", self.conditions.detection.is_some()),
        ])?;
        Ok(delay)
    }

    /// Checks that every member knows the ring and stays on it, and that no option about multicasts
    /// is given, because the ring sends none.
    pub(crate) fn require_agreed_ring(&self) -> Result<(), Failure> {
        self.require_all_up()?;
        let Network { unicast_loss, multicast_loss, .. } = self.conditions.network;
        let is_apart = multicast_loss != unicast_loss && multicast_loss > 0.0;
        self.require_unasked(&[("--multicast-loss", is_apart)])
    }

    /// Checks that every member is up, and knows all others.
    pub(crate) fn require_all_up(&self) -> Result<(), Failure> {
        let Conditions { view, crash, .. } = self.conditions;
        self.require_unasked(&[("--view", view < 1.0), ("--crash", crash > 0.0)])
    }

    /// Checks that all messages take equally long.
    pub(crate) fn require_constant_delay(&self) -> Result<(), Failure> {
        let is_constant = matches!(self.conditions.network.delay, Delay::Constant(_));
        require_closed_form(&[(!is_constant, "with delays that vary")])
    }

    /// Checks that the user gave none of the `options`, with which the protocol cannot be
    /// simulated.
    pub(crate) fn require_unasked(&self, options: &[(&str, bool)]) -> Result<(), Failure> {
        match options.iter().find(|(_, is_asked_for)| *is_asked_for) {
            Some((option, _)) => Err(Failure::Usage(format!(
                "{} cannot be simulated with {option}: leave {option} out",
                self.protocol
            ))),
            None => Ok(()),
        }
    }
}

/// Checks that none of the `cases` applies, for which there is no closed form.
pub(crate) fn require_closed_form(cases: &[(bool, &str)]) -> Result<(), Failure> {
    match cases.iter().find(|(applies, _)| *applies) {
        Some((_, case)) => Err(no_closed_form(case)),
        None => Ok(()),
    }
}

/// The error for a request to `theory` that only `sim` can answer.
pub(crate) fn no_closed_form(when: &str) -> Failure {
    Failure::Usage(format!("theory has no closed form {when}: use sim"))
}
