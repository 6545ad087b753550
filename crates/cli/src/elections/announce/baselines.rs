//! The baselines: suppression (SUP) and announce-listen (AL).

use clap::Args;
use hustings_protocol::announce::{Repeat, Wake};
use hustings_protocol::{Duration, Priority, announce_listen, suppression};
use hustings_sim::elections::{AnnounceListening, Suppressing};

use super::churn::{self, ChurnOptions};
use super::options::{WakeUp, show_wake, wake_up};
use super::{chapter, schedule};
use crate::elections::{ClosedForm, Described};
use crate::failure::Failure;
use crate::options::{Setup, SignedArg, values};
use crate::report::Parameters;
use crate::simulation::Simulation;

/// The options of `suppression`.
#[derive(Debug, Args)]
pub(crate) struct SuppressionOptions {
    /// The number of members in the group: 2 to 10000000
    #[arg(long, value_name = "N", default_value = "100",
          number = values::whole(2..=10_000_000_u32))]
    members: u32,

    /// T_S: every member that speaks does so within this time
    #[arg(long, value_name = "DURATION", default_value = "1s", signed = values::duration)]
    suppress_interval: Duration,

    /// The distribution of wake-ups within T_S: uniform; late, with a density like e^(LAMBDA
    /// t/T_S); or earlier for greater identities
    #[arg(long, value_name = "uniform|exponential:LAMBDA|merit", default_value = "uniform",
          value_parser = wake_up, allow_hyphen_values = true)]
    wake: WakeUp,
}

impl SuppressionOptions {
    pub(crate) fn settle(self, setup: &Setup) -> Result<Suppressing, Failure> {
        setup.require_multicast_alone()?;
        let config = suppression::Config {
            suppress: self.suppress_interval,
            wake: self.wake.settle(Priority(u64::from(self.members) - 1)),
        };
        config.check().map_err(Failure::usage)?;
        super::require_room(self.members, config.suppress, setup)?;
        Ok(Suppressing { members: self.members, config, conditions: setup.conditions })
    }
}

impl Described for Suppressing {
    fn parameters(&self) -> Parameters {
        Parameters::default()
            .with("members", self.members)
            .with("suppress_interval", self.config.suppress.to_string())
            .with("wake", show_wake(self.config.wake))
    }

    fn sentence(&self) -> String {
        let suppression::Config { suppress, wake } = self.config;
        let wake = match wake {
            Wake::Uniform => String::new(),
            _ => format!(", wake-up {}", show_wake(wake)),
        };
        format!("{} members, T_S {suppress}{wake}", self.members)
    }

    fn closed_form(&self, setup: &Setup) -> Result<ClosedForm, Failure> {
        chapter::suppression(self, setup)
    }

    fn simulate(&self, simulation: &Simulation) -> Result<(), Failure> {
        simulation.elect(self, *self)
    }
}

/// The options of `announce-listen`.
#[derive(Debug, Args)]
pub(crate) struct AnnounceListenOptions {
    /// The number of members in the group: 2 to 10000000. Time grows with the square of N
    #[arg(long, value_name = "N", default_value = "100",
          number = values::whole(2..=10_000_000_u32))]
    members: u32,

    /// T_A: the interval between the announcements of each member
    #[arg(long, value_name = "DURATION", default_value = "1s", signed = values::some_time)]
    announce_interval: Duration,

    /// T_L: the time without a message after which a member takes the best one to be gone: never
    /// (none), or this duration
    #[arg(long, value_name = "none|DURATION", default_value = "none", value_parser = listen,
          allow_hyphen_values = true)]
    listen_interval: Listen,

    #[command(flatten)]
    churn: ChurnOptions,
}

/// The time for which the best member counts as present, or `None` for ever.
type Listen = Option<Duration>;

fn listen(text: &str) -> Result<Listen, String> {
    match values::some_time(text) {
        _ if text == "none" => Ok(None),
        Ok(span) => Ok(Some(span)),
        Err(_) => Err("choose none, or a duration of 1ns or more, as in 3s".to_owned()),
    }
}

impl AnnounceListenOptions {
    pub(crate) fn settle(self, setup: &Setup) -> Result<AnnounceListening, Failure> {
        setup.require_multicast_alone()?;
        let (members, announce, listen) =
            (self.members, self.announce_interval, self.listen_interval);
        let config = announce_listen::Config { announce, listen };
        config.check().map_err(Failure::usage)?;
        let churn = self.churn.settle(announce)?;
        churn::require_notice(churn, listen.is_some(), Repeat::Times(0))?;
        let schedule = schedule(members, Duration::ZERO, announce, setup)?;
        Ok(AnnounceListening { members, config, churn, schedule })
    }
}

impl Described for AnnounceListening {
    fn parameters(&self) -> Parameters {
        let listen = self.config.listen.map(|span| span.to_string());
        Parameters::default()
            .with("members", self.members)
            .with("announce_interval", self.config.announce.to_string())
            .with("listen_interval", listen.unwrap_or("none".to_owned()))
            .and(churn::parameters(self.churn))
    }

    fn sentence(&self) -> String {
        let announce_listen::Config { announce, listen } = self.config;
        let listen = listen.map_or_else(String::new, |span| format!(", T_L {span}"));
        let (members, churn) = (self.members, churn::sentence(self.churn));
        format!("{members} members, T_A {announce}{listen}{churn}")
    }

    fn closed_form(&self, setup: &Setup) -> Result<ClosedForm, Failure> {
        chapter::announce_listen(self, setup)
    }

    fn simulate(&self, simulation: &Simulation) -> Result<(), Failure> {
        simulation.elect(self, *self)
    }
}
