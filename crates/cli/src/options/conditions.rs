//! The conditions under which an election is held: the network and the faults.

use clap::Args;
use hustings_protocol::Duration;
use hustings_sim::{Conditions, Delay, Detection, LossModel, Network, Reordering};

use super::named::{Named, one_of};
use super::values::{self, HoldingBack};
use crate::failure::Failure;
use crate::report::Parameters;

/// The options of the network.
#[derive(Debug, Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct NetworkOptions {
    /// The delay of a message: 100ms, uniform:50ms..150ms, exponential:100ms (its mean), or
    /// lognormal:100ms:0.5 (median, and standard deviation of the logarithm)
    #[arg(long, value_name = "DELAY", default_value = "100ms", value_parser = values::delay,
          allow_hyphen_values = true)]
    delay: Delay,

    /// The probability that a message is lost; short for --unicast-loss P --multicast-loss P
    #[arg(long, value_name = "P", value_parser = values::probability, allow_negative_numbers = true,
          conflicts_with_all = ["unicast_loss", "multicast_loss"])]
    loss: Option<f64>,

    /// The probability that a unicast is lost
    #[arg(long, value_name = "P", default_value = "0", value_parser = values::probability,
          allow_negative_numbers = true)]
    unicast_loss: f64,

    /// The probability that a multicast is lost
    #[arg(long, value_name = "P", default_value = "0", value_parser = values::probability,
          allow_negative_numbers = true)]
    multicast_loss: f64,

    /// The receivers that lose a multicast together
    #[arg(long, value_parser = one_of::<LossModel>(), default_value = "uncorrelated")]
    loss_model: LossModel,

    /// The probability that a message arrives twice
    #[arg(long, value_name = "P", default_value = "0", value_parser = values::probability,
          allow_negative_numbers = true)]
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
pub(crate) struct FaultOptions {
    /// The probability that a member crashes in a round, for as long as the election lasts. A round
    /// is once round the ring; for bully, both time-outs together; for the announce family, one
    /// announce interval, or T_S plus a delay for suppression; for probabilistic, one of its rounds
    #[arg(long, value_name = "P", default_value = "0", value_parser = values::probability,
          allow_negative_numbers = true)]
    crash: f64,

    /// The probability that a member knows another
    #[arg(long, value_name = "P", default_value = "1", value_parser = values::probability,
          allow_negative_numbers = true)]
    view: f64,

    /// The failure detection: at once and without a notice (oracle), never, or this long after the
    /// crash, with a notice. Default: oracle on rings, never for bully. The announce family has no
    /// views. Views of probabilistic drop crashed members between rounds
    #[arg(long, value_name = "oracle|never|DURATION", value_parser = values::detection,
          allow_hyphen_values = true)]
    detect: Option<Detection>,
}

/// Builds the conditions from the options.
pub(super) fn conditions(network: &NetworkOptions, faults: &FaultOptions) -> Conditions {
    Conditions {
        network: Network {
            delay: network.delay,
            unicast_loss: network.loss.unwrap_or(network.unicast_loss),
            multicast_loss: network.loss.unwrap_or(network.multicast_loss),
            loss_model: network.loss_model,
            duplicate: network.duplicate,
            reordering: Reordering {
                probability: network.reorder.probability,
                by: network.reorder.by.unwrap_or(network.delay.mean()),
            },
        },
        crash: faults.crash,
        view: faults.view,
        detection: faults.detect,
    }
}

/// Descriptions and checks of the conditions, in terms of the options.
pub(crate) trait ConditionsExt {
    /// All settings, for the record.
    fn parameters(&self) -> Parameters;

    /// The settings in one sentence for people: the delay, and every fault.
    fn sentence(&self) -> String;

    /// Checks that messages are only delayed and members have no faults, as closed forms assume.
    ///
    /// # Errors
    /// Names the first condition that closed forms do not cover.
    fn require_no_faults(&self) -> Result<(), Failure>;

    /// Checks the same, but messages may be lost.
    ///
    /// # Errors
    /// Names the first condition that closed forms do not cover.
    fn require_no_faults_but_loss(&self) -> Result<(), Failure>;

    /// Checks that messages are at worst lost, independently for each receiver. Members may crash,
    /// and may not know each other.
    ///
    /// # Errors
    /// Names the first condition that closed forms do not cover.
    fn require_independent_losses(&self) -> Result<(), Failure>;

    /// Checks that no option is given that has no effect on members without views, which send only
    /// multicasts.
    ///
    /// # Errors
    /// Names the option to leave out.
    fn require_multicast_alone(&self, protocol: &str) -> Result<(), Failure>;

    /// Checks that every message takes one constant delay, arrives at most once and is lost
    /// independently for each receiver, because rounds depend on that. Members may crash, and may
    /// not know each other. Returns the delay.
    ///
    /// # Errors
    /// Names the option to leave out.
    fn require_steps(&self, protocol: &str) -> Result<Duration, Failure>;

    /// Checks that every member knows the ring and stays on it, and that no option about multicasts
    /// is given, because the ring sends none.
    ///
    /// # Errors
    /// Names the option to leave out.
    fn require_agreed_ring(&self, protocol: &str) -> Result<(), Failure>;

    /// Checks that all members are up and stay up.
    ///
    /// # Errors
    /// Names the option to leave out.
    fn require_all_up(&self, protocol: &str) -> Result<(), Failure>;

    /// Checks that all messages take equally long.
    fn require_constant_delay(&self) -> Result<(), Failure>;
}

impl ConditionsExt for Conditions {
    fn parameters(&self) -> Parameters {
        let network = &self.network;
        Parameters::new()
            .with("delay", values::show_delay(network.delay))
            .with("unicast_loss", network.unicast_loss)
            .with("multicast_loss", network.multicast_loss)
            .with("loss_model", network.loss_model.name())
            .with("duplicate", network.duplicate)
            .with("reorder", network.reordering.probability)
            .with("reorder_by", network.reordering.by.to_string())
            .with("crash", self.crash)
            .with("view", self.view)
    }

    fn sentence(&self) -> String {
        let network = &self.network;
        let mut said = vec![format!("delay {}", values::show_delay(network.delay))];
        let mut say_if_any = |what: &str, probability: f64| {
            if probability > 0.0 {
                said.push(format!("{what} {probability}"));
            }
        };
        let together = match self.network.loss_model {
            LossModel::Uncorrelated => "",
            LossModel::Correlated => "correlated ",
        };
        if network.unicast_loss == network.multicast_loss {
            say_if_any(&format!("{together}loss"), network.unicast_loss);
        } else {
            say_if_any("unicast loss", network.unicast_loss);
            let multicast_loss = format!("{together}multicast loss");
            say_if_any(&multicast_loss, network.multicast_loss);
        }
        say_if_any("duplicates", network.duplicate);
        say_if_any("reordering", network.reordering.probability);
        if self.crash > 0.0 {
            said.push(format!("crashes {} a round", self.crash));
        }
        if self.view < 1.0 {
            said.push(format!("views {}", self.view));
        }
        said.join(", ")
    }

    fn require_no_faults(&self) -> Result<(), Failure> {
        let loss = self.network.unicast_loss.max(self.network.multicast_loss);
        if loss > 0.0 {
            return Err(no_closed_form("with loss"));
        }
        self.require_no_faults_but_loss()
    }

    fn require_no_faults_but_loss(&self) -> Result<(), Failure> {
        require_none(&[
            ("duplicates", self.network.duplicate),
            ("reordering", self.network.reordering.probability),
            ("crashes", self.crash),
            ("partial views", 1.0 - self.view),
        ])
    }

    fn require_independent_losses(&self) -> Result<(), Failure> {
        let lost_together = match self.network.loss_model {
            LossModel::Uncorrelated => 0.0,
            LossModel::Correlated => self.network.multicast_loss,
        };
        require_none(&[
            ("duplicates", self.network.duplicate),
            ("reordering", self.network.reordering.probability),
            ("correlated loss", lost_together),
        ])
    }

    fn require_multicast_alone(&self, protocol: &str) -> Result<(), Failure> {
        let network = &self.network;
        let (option, reason) = if self.view < 1.0 {
            ("--view", "have no views")
        } else if self.detection.is_some() {
            ("--detect", "have no views")
        } else if network.unicast_loss > 0.0 && network.unicast_loss != network.multicast_loss {
            ("--unicast-loss", "multicast all their messages")
        } else {
            return Ok(());
        };
        Err(Failure::Usage(format!(
            "{option} has no effect for {protocol}, whose members {reason}: leave {option} out"
        )))
    }

    fn require_steps(&self, protocol: &str) -> Result<Duration, Failure> {
        let network = &self.network;
        let Delay::Constant(delay) = network.delay else {
            return Err(Failure::Usage(format!(
                "{protocol} cannot be simulated with delays that vary: choose a constant, as in \
                 --delay 100ms"
            )));
        };
        require_unasked(
            protocol,
            &[
                ("--reorder", network.reordering.probability > 0.0),
                ("--duplicate", network.duplicate > 0.0),
                ("--loss-model correlated", network.loss_model == LossModel::Correlated),
                ("--detect", self.detection.is_some()),
            ],
        )?;
        Ok(delay)
    }

    fn require_agreed_ring(&self, protocol: &str) -> Result<(), Failure> {
        self.require_all_up(protocol)?;
        let Network { unicast_loss, multicast_loss, .. } = self.network;
        let is_apart = multicast_loss != unicast_loss && multicast_loss > 0.0;
        require_unasked(protocol, &[("--multicast-loss", is_apart)])
    }

    fn require_all_up(&self, protocol: &str) -> Result<(), Failure> {
        require_unasked(protocol, &[("--view", self.view < 1.0), ("--crash", self.crash > 0.0)])
    }

    fn require_constant_delay(&self) -> Result<(), Failure> {
        match self.network.delay {
            Delay::Constant(_) => Ok(()),
            Delay::Uniform { .. } | Delay::Exponential { .. } | Delay::LogNormal { .. } => {
                Err(no_closed_form("with delays that vary"))
            }
        }
    }
}

/// Checks that the user asked for none of these options, with which `protocol` cannot be simulated.
///
/// # Errors
/// Names the first that the user asked for.
pub(crate) fn require_unasked(protocol: &str, options: &[(&str, bool)]) -> Result<(), Failure> {
    match options.iter().find(|(_, is_asked_for)| *is_asked_for) {
        Some((option, _)) => Err(Failure::Usage(format!(
            "{protocol} cannot be simulated with {option}: leave {option} out"
        ))),
        None => Ok(()),
    }
}

/// Checks that the probability of each fault is 0.
fn require_none(faults: &[(&str, f64)]) -> Result<(), Failure> {
    match faults.iter().find(|(_, probability)| *probability > 0.0) {
        Some((fault, _)) => Err(no_closed_form(&format!("with {fault}"))),
        None => Ok(()),
    }
}

/// The error for a request to `theory` that only `sim` can answer.
pub(crate) fn no_closed_form(when: &str) -> Failure {
    Failure::Usage(format!("theory has no closed form {when}: use sim"))
}
