//! The conditions under which an election is held: the network and the faults.

use clap::{Args, ValueEnum};
use hustings_protocol::Duration;
use hustings_sim::{self as sim, Delay, Detection, Network, Reordering};

use super::name_of;
use super::values::{self, HoldingBack};
use crate::failure::Failure;
use crate::report::Parameters;

/// What the network does to messages.
#[derive(Debug, Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct NetworkOptions {
    /// How long a message takes: 100ms, uniform:50ms..150ms, exponential:100ms (its mean), or
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

    /// Who loses a multicast together
    #[arg(long, value_enum, default_value_t = LossModel::Uncorrelated)]
    loss_model: LossModel,

    /// The probability that a message arrives twice
    #[arg(long, value_name = "P", default_value = "0", value_parser = values::probability,
          allow_negative_numbers = true)]
    duplicate: f64,

    /// The probability that a message is held back, by up to one mean delay, or, as in 0.1:2s, by
    /// up to that
    #[arg(long, value_name = "P[:DURATION]", default_value = "0", value_parser = values::holding_back,
          allow_hyphen_values = true)]
    reorder: HoldingBack,
}

/// Who loses a multicast together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LossModel {
    /// Each receiver loses it by its own chance
    Uncorrelated,
    /// All receivers lose it, or none
    Correlated,
}

/// What befalls members, and what others know of it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Faults")]
pub(crate) struct FaultOptions {
    /// The probability that a member crashes in a round, for as long as the election lasts. A round
    /// is once round the ring; for the bully, both time-outs together; for the announce family, one
    /// announce interval, or T_S and a delay for suppression; for probabilistic, one of its rounds
    #[arg(long, value_name = "P", default_value = "0", value_parser = values::probability,
          allow_negative_numbers = true)]
    crash: f64,

    /// The probability that a member knows another
    #[arg(long, value_name = "P", default_value = "1", value_parser = values::probability,
          allow_negative_numbers = true)]
    view: f64,

    /// How members learn that others crashed: at once and untold (oracle), never, or so long after
    /// it, with a notice. Default: oracle on rings, never for the bully; the announce family has no
    /// views; those of probabilistic lose between rounds who has crashed
    #[arg(long, value_name = "oracle|never|DURATION", value_parser = values::detection,
          allow_hyphen_values = true)]
    detect: Option<Detection>,
}

/// The conditions under which an election is held.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Conditions {
    pub(crate) network: Network,
    /// The probability that a member crashes in a round.
    pub(crate) crash: f64,
    /// The probability that a member knows another.
    pub(crate) view: f64,
    /// None: as the protocol's source assumes.
    detection: Option<Detection>,
    loss_model: LossModel,
}

impl Conditions {
    pub(super) fn new(network: &NetworkOptions, faults: &FaultOptions) -> Self {
        Self {
            network: Network {
                delay: network.delay,
                unicast_loss: network.loss.unwrap_or(network.unicast_loss),
                multicast_loss: network.loss.unwrap_or(network.multicast_loss),
                loss_model: match network.loss_model {
                    LossModel::Uncorrelated => sim::LossModel::Uncorrelated,
                    LossModel::Correlated => sim::LossModel::Correlated,
                },
                duplicate: network.duplicate,
                reordering: Reordering {
                    probability: network.reorder.probability,
                    by: network.reorder.by.unwrap_or(network.delay.mean()),
                },
            },
            crash: faults.crash,
            view: faults.view,
            detection: faults.detect,
            loss_model: network.loss_model,
        }
    }

    /// The mean delay of a message.
    pub(crate) fn mean_delay(&self) -> Duration {
        self.network.delay.mean()
    }

    /// Whether the copies of a multicast arrive each at its own time.
    pub(crate) fn copies_part(&self) -> bool {
        let network = &self.network;
        !matches!(network.delay, Delay::Constant(_)) || network.reordering.probability > 0.0
    }

    /// A delay that messages keep below: always if delays are bounded, else mostly.
    pub(crate) fn delay_bound(&self) -> Duration {
        match self.network.delay {
            Delay::Constant(delay) => delay,
            Delay::Uniform { to, .. } => to,
            Delay::Exponential { .. } | Delay::LogNormal { .. } => self.mean_delay() * 4,
        }
    }

    /// How members learn that others come and go, if the user does not say, as `usual`.
    pub(crate) fn detection(&self, usual: Detection) -> Detection {
        self.detection.unwrap_or(usual)
    }

    /// All of it, for the record.
    pub(crate) fn parameters(&self) -> Parameters {
        let network = &self.network;
        Parameters::new()
            .with("delay", values::show_delay(network.delay))
            .with("unicast_loss", network.unicast_loss)
            .with("multicast_loss", network.multicast_loss)
            .with("loss_model", name_of(&self.loss_model))
            .with("duplicate", network.duplicate)
            .with("reorder", network.reordering.probability)
            .with("reorder_by", network.reordering.by.to_string())
            .with("crash", self.crash)
            .with("view", self.view)
    }

    /// What is worth saying of it: the delay, and whatever goes wrong.
    pub(crate) fn sentence(&self) -> String {
        let network = &self.network;
        let mut said = vec![format!("delay {}", values::show_delay(network.delay))];
        let mut say_if_any = |what: &str, probability: f64| {
            if probability > 0.0 {
                said.push(format!("{what} {probability}"));
            }
        };
        let together = match self.loss_model {
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

    /// Makes sure that only delay befalls messages, and nothing befalls members: closed forms know
    /// of nothing else.
    ///
    /// # Errors
    /// Names the first condition that they cannot honour.
    pub(crate) fn require_no_faults(&self) -> Result<(), Failure> {
        let loss = self.network.unicast_loss.max(self.network.multicast_loss);
        if loss > 0.0 {
            return Err(no_closed_form("with loss"));
        }
        self.require_no_faults_but_loss()
    }

    /// The same, but messages may be lost.
    ///
    /// # Errors
    /// Names the first condition that closed forms cannot honour.
    pub(crate) fn require_no_faults_but_loss(&self) -> Result<(), Failure> {
        require_none(&[
            ("duplicates", self.network.duplicate),
            ("reordering", self.network.reordering.probability),
            ("crashes", self.crash),
            ("partial views", 1.0 - self.view),
        ])
    }

    /// Makes sure that messages are lost at worst, and each receiver's by itself. Members may crash, and not know
    /// each other.
    ///
    /// # Errors
    /// Names the first condition that closed forms cannot honour.
    pub(crate) fn require_independent_losses(&self) -> Result<(), Failure> {
        let lost_together = match self.loss_model {
            LossModel::Uncorrelated => 0.0,
            LossModel::Correlated => self.network.multicast_loss,
        };
        require_none(&[
            ("duplicates", self.network.duplicate),
            ("reordering", self.network.reordering.probability),
            ("correlated loss", lost_together),
        ])
    }

    /// Makes sure that nothing is asked for that members without views, which multicast all they say,
    /// cannot notice.
    ///
    /// # Errors
    /// Names the option to leave out.
    pub(crate) fn require_multicast_alone(&self, protocol: &str) -> Result<(), Failure> {
        let network = &self.network;
        let (option, reason) = if self.view < 1.0 {
            ("--view", "have no views")
        } else if self.detection.is_some() {
            ("--detect", "have no views")
        } else if network.unicast_loss > 0.0 && network.unicast_loss != network.multicast_loss {
            ("--unicast-loss", "multicast all they say")
        } else {
            return Ok(());
        };
        Err(Failure::Usage(format!(
            "{option} changes nothing for {protocol}, whose members {reason}: leave it out"
        )))
    }

    /// Makes sure that every message takes one delay, arrives once if at all, and that each receiver loses its own:
    /// rounds are timed by that. Members may crash, and not know each other. Returns the delay.
    ///
    /// # Errors
    /// Names the option to leave out.
    pub(crate) fn require_steps(&self, protocol: &str) -> Result<Duration, Failure> {
        let network = &self.network;
        let refuse = |what: &str, remedy: &str| {
            Err(Failure::Usage(format!(
                "{protocol} cannot be simulated with {what}: {remedy}"
            )))
        };
        let Delay::Constant(delay) = network.delay else {
            return refuse("delays that vary", "choose one, as in --delay 100ms");
        };
        let others = [
            ("--reorder", network.reordering.probability > 0.0),
            ("--duplicate", network.duplicate > 0.0),
            (
                "--loss-model correlated",
                self.loss_model == LossModel::Correlated,
            ),
            ("--detect", self.detection.is_some()),
        ];
        match others.iter().find(|(_, is_asked_for)| *is_asked_for) {
            Some((option, _)) => refuse(option, "leave it out"),
            None => Ok(delay),
        }
    }

    /// Makes sure that everybody knows the ring and stays on it, and that nothing is asked for of multicasts, of which it has
    /// none.
    ///
    /// # Errors
    /// Names the option to leave out.
    pub(crate) fn require_agreed_ring(&self, protocol: &str) -> Result<(), Failure> {
        self.require_all_up(protocol)?;
        let network = &self.network;
        if network.multicast_loss != network.unicast_loss && network.multicast_loss > 0.0 {
            return Err(Failure::Usage(format!(
                "{protocol} cannot be simulated with --multicast-loss: leave it out"
            )));
        }
        Ok(())
    }

    /// Makes sure that all members are there, and stay.
    ///
    /// # Errors
    /// Names the option to leave out.
    pub(crate) fn require_all_up(&self, protocol: &str) -> Result<(), Failure> {
        let asked = [("--view", self.view < 1.0), ("--crash", self.crash > 0.0)];
        match asked.iter().find(|(_, is_asked_for)| *is_asked_for) {
            Some((option, _)) => Err(Failure::Usage(format!(
                "{protocol} cannot be simulated with {option}: leave it out"
            ))),
            None => Ok(()),
        }
    }

    /// Makes sure that all messages take equally long.
    pub(crate) fn require_constant_delay(&self) -> Result<(), Failure> {
        match self.network.delay {
            Delay::Constant(_) => Ok(()),
            Delay::Uniform { .. } | Delay::Exponential { .. } | Delay::LogNormal { .. } => {
                Err(no_closed_form("with delays that vary"))
            }
        }
    }
}

/// Makes sure that none of these befalls anybody.
fn require_none(faults: &[(&str, f64)]) -> Result<(), Failure> {
    match faults.iter().find(|(_, probability)| *probability > 0.0) {
        Some((fault, _)) => Err(no_closed_form(&format!("with {fault}"))),
        None => Ok(()),
    }
}

/// The error of whoever asks `theory` for something that only `sim` can do.
pub(crate) fn no_closed_form(when: &str) -> Failure {
    Failure::Usage(format!("theory has no closed form {when}: use sim"))
}
