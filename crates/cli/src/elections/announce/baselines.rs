//! The baselines: suppression (SUP) and announce-listen (AL).

use clap::Args;
use hustings_protocol::announce::{Repeat, Wake};
use hustings_protocol::{Duration, Priority, announce_listen, suppression};
use hustings_sim::elections::{AnnounceListening, Suppressing};

use super::churn::{self, ChurnOptions};
use super::options::{WakeUp, show_wake};
use super::{chapter, schedule};
use crate::elections::{ClosedForm, Described};
use crate::failure::Failure;
use crate::options::{Conditions, ConditionsExt, values};
use crate::report::Parameters;
use crate::simulation::Simulation;

/// The options of `suppression`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Election")]
pub(crate) struct SuppressionOptions {
    /// The number of members in the group: 2 to 10000000
    #[arg(long, value_name = "N", default_value = "100", allow_negative_numbers = true,
          value_parser = values::whole(2..=10_000_000_u32))]
    members: u32,

    /// T_S: every member that speaks does so within this time
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = values::duration,
          allow_hyphen_values = true)]
    suppress_interval: Duration,

    /// The distribution of wake-ups within T_S: uniform; late, with a density like e^(LAMBDA
    /// t/T_S); or earlier for greater identities
    #[arg(
        long,
        value_name = "uniform|exponential:LAMBDA|merit",
        default_value = "uniform",
        allow_hyphen_values = true
    )]
    wake: WakeUp,
}

impl SuppressionOptions {
    pub(in crate::elections) fn settle(
        &self,
        conditions: &Conditions,
    ) -> Result<Suppressing, Failure> {
        conditions.require_multicast_alone("suppression")?;
        let config = suppression::Config {
            suppress: self.suppress_interval,
            wake: self.wake.settle(Priority(u64::from(self.members) - 1)),
        };
        config.check().map_err(Failure::usage)?;
        super::require_room(self.members, config.suppress, conditions)?;
        Ok(Suppressing::new(self.members, config, conditions))
    }
}

impl Described for Suppressing {
    fn name(&self) -> &'static str {
        "suppression"
    }

    fn parameters(&self) -> Parameters {
        Parameters::new()
            .with("members", self.members)
            .with("suppress_interval", self.config.suppress.to_string())
            .with("wake", show_wake(self.config.wake))
    }

    fn sentence(&self) -> String {
        let suppression::Config { suppress, wake } = self.config;
        let wake = match wake {
            Wake::Uniform => String::new(),
            Wake::Exponential { .. } | Wake::ByPriority(_) => {
                format!(", wake-up {}", show_wake(wake))
            }
        };
        format!("{} members, T_S {suppress}{wake}", self.members)
    }

    fn closed_form(&self, conditions: &Conditions) -> Result<ClosedForm, Failure> {
        chapter::suppression(self, conditions)
    }

    fn simulate(&self, simulation: &Simulation) -> Result<(), Failure> {
        simulation.elect(self, *self)
    }
}

/// The options of `announce-listen`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Election")]
pub(crate) struct AnnounceListenOptions {
    /// The number of members in the group: 2 to 10000000. Time grows with the square of N
    #[arg(long, value_name = "N", default_value = "100", allow_negative_numbers = true,
          value_parser = values::whole(2..=10_000_000_u32))]
    members: u32,

    /// T_A: the interval between the announcements of each member
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = values::some_time,
          allow_hyphen_values = true)]
    announce_interval: Duration,

    /// T_L: the time without a message after which a member takes the best one to be gone: never
    /// (none), or this duration
    #[arg(long, value_name = "none|DURATION", default_value = "none", allow_hyphen_values = true)]
    listen_interval: ListenFor,

    #[command(flatten)]
    churn: ChurnOptions,
}

/// The time for which the best member counts as present.
#[derive(Debug, Clone, Copy)]
struct ListenFor(Option<Duration>);

impl std::str::FromStr for ListenFor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self(None)),
            _ => values::some_time(text)
                .map(|span| Self(Some(span)))
                .map_err(|_| "choose none, or a duration of 1ns or more, as in 3s".to_owned()),
        }
    }
}

impl AnnounceListenOptions {
    pub(in crate::elections) fn settle(
        &self,
        conditions: &Conditions,
    ) -> Result<AnnounceListening, Failure> {
        conditions.require_multicast_alone("announce-listen")?;
        let (announce, ListenFor(listen)) = (self.announce_interval, self.listen_interval);
        let config = announce_listen::Config { announce, listen };
        config.check().map_err(Failure::usage)?;
        let churn = self.churn.settle(announce)?;
        churn::require_notice(churn, listen.is_some(), Repeat::Times(0))?;
        Ok(AnnounceListening {
            members: self.members,
            config,
            churn,
            schedule: schedule(self.members, Duration::ZERO, announce, conditions)?,
        })
    }
}

impl Described for AnnounceListening {
    fn name(&self) -> &'static str {
        "announce-listen"
    }

    fn parameters(&self) -> Parameters {
        let listen = self.config.listen.map(|span| span.to_string());
        Parameters::new()
            .with("members", self.members)
            .with("announce_interval", self.config.announce.to_string())
            .with("listen_interval", listen.unwrap_or("none".to_owned()))
            .and(churn::parameters(self.churn))
    }

    fn sentence(&self) -> String {
        let listen = self.config.listen.map(|span| format!(", T_L {span}"));
        format!(
            "{} members, T_A {}{}{}",
            self.members,
            self.config.announce,
            listen.unwrap_or_default(),
            churn::sentence(self.churn)
        )
    }

    fn closed_form(&self, conditions: &Conditions) -> Result<ClosedForm, Failure> {
        chapter::announce_listen(self, conditions)
    }

    fn simulate(&self, simulation: &Simulation) -> Result<(), Failure> {
        simulation.elect(self, *self)
    }
}
