//! The baselines: suppression (SUP) and announce-listen (AL).

use clap::Args;
use hustings_protocol::announce::Repeat;
use hustings_protocol::announce_listen::{self, AnnounceListen};
use hustings_protocol::suppression::{self, Suppression};
use hustings_protocol::{Duration, Merit};
use hustings_sim::watch::Expected;
use hustings_sim::{Boot, Detection, Scenario, Seeds, announcing};

use super::churn::{self, ChurnOptions};
use super::onlooker::{self, Close, Onlooker, Story};
use super::options::WakeUp;
use super::{Schedule, all_start, paper};
use crate::elections::{ClosedForm, Election};
use crate::failure::Failure;
use crate::measure::Metric;
use crate::options::{Conditions, values};
use crate::report::Parameters;
use crate::trial::{Churn, Course};

/// The options of `suppression`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Election")]
pub(crate) struct SuppressionOptions {
    /// How many members the group has: 2 to 10000000
    #[arg(long, value_name = "N", default_value = "100", allow_negative_numbers = true,
          value_parser = values::whole(2..=10_000_000_u32))]
    members: u32,

    /// T_S: everyone who speaks does so within this time
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = values::duration,
          allow_hyphen_values = true)]
    suppress_interval: Duration,

    /// When within T_S a member wakes up: at any time alike; late, with a density like
    /// e^(LAMBDA t/T_S); or the greater its identity the earlier
    #[arg(
        long,
        value_name = "uniform|exponential:LAMBDA|merit",
        default_value = "uniform",
        allow_hyphen_values = true
    )]
    wake: WakeUp,
}

impl SuppressionOptions {
    pub(in crate::elections) fn settle(&self, conditions: &Conditions) -> Result<Sup, Failure> {
        conditions.require_multicast_alone("suppression")?;
        let config = suppression::Config {
            suppress: self.suppress_interval,
            wake: self.wake.settle(Merit(u64::from(self.members) - 1)),
        };
        config
            .check()
            .map_err(|error| Failure::Usage(error.to_string()))?;
        super::require_room(self.members, config.suppress, conditions)?;
        Ok(Sup {
            members: self.members,
            wake: self.wake,
            config,
            mean_delay: conditions.mean_delay(),
            delay_bound: conditions.delay_bound(),
        })
    }
}

/// Suppression.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sup {
    members: u32,
    wake: WakeUp,
    config: suppression::Config,
    mean_delay: Duration,
    delay_bound: Duration,
}

impl Sup {
    fn close(&self) -> Close {
        Close::Spoken {
            delay: self.mean_delay,
        }
    }
}

impl Election for Sup {
    type Protocol = Suppression;
    type Observer = Onlooker;
    const DETECTION: Detection = Detection::Never;

    fn name(&self) -> &'static str {
        "suppression"
    }

    fn members(&self) -> u32 {
        self.members
    }

    fn round(&self) -> Duration {
        self.config.suppress + self.mean_delay
    }

    fn long_enough(&self) -> Duration {
        self.config.suppress + self.delay_bound * 10
    }

    fn pace(&self) -> Duration {
        self.config.suppress.mul_f64(0.25)
    }

    fn flood(&self) -> u64 {
        100_000 + 10 * u64::from(self.members)
    }

    fn layout(&self, _: Seeds) -> (Vec<Merit>, Scenario) {
        (announcing::merits(self.members), all_start())
    }

    fn config(&self) -> suppression::Config {
        self.config
    }

    fn member(&self, _: Boot<Suppression>) -> Suppression {
        Suppression::new()
    }

    fn observer(&self, merits: &[Merit], course: Course) -> Onlooker {
        Onlooker::new(merits, Expected::FirstAnnouncer, self.close(), course)
    }

    fn metrics(&self, course: Course) -> Vec<Metric<Story>> {
        onlooker::metrics::<Suppression>(self.close(), course)
    }

    fn parameters(&self) -> Parameters {
        Parameters::new()
            .with("members", self.members)
            .with("suppress_interval", self.config.suppress.to_string())
            .with("wake", self.wake.show())
    }

    fn sentence(&self) -> String {
        let wake = match self.wake {
            WakeUp::Uniform => String::new(),
            WakeUp::Exponential(_) | WakeUp::ByMerit => format!(", wake-up {}", self.wake.show()),
        };
        format!(
            "{} members, T_S {}{wake}",
            self.members, self.config.suppress
        )
    }

    fn closed_form(&self, conditions: &Conditions) -> Result<ClosedForm, Failure> {
        paper::suppression(self.members, self.config.suppress, self.wake, conditions)
    }
}

/// The options of `announce-listen`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Election")]
pub(crate) struct AnnounceListenOptions {
    /// How many members the group has: 2 to 10000000. Time grows with the square of N
    #[arg(long, value_name = "N", default_value = "100", allow_negative_numbers = true,
          value_parser = values::whole(2..=10_000_000_u32))]
    members: u32,

    /// T_A: how often everyone announces itself
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = values::some_time,
          allow_hyphen_values = true)]
    announce_interval: Duration,

    /// T_L: how long a member that hears nothing of the best takes it to be there: for ever (none), or
    /// so long
    #[arg(
        long,
        value_name = "none|DURATION",
        default_value = "none",
        allow_hyphen_values = true
    )]
    listen_interval: ListenFor,

    #[command(flatten)]
    churn: ChurnOptions,
}

/// How long the best is taken to be there.
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
    pub(in crate::elections) fn settle(&self, conditions: &Conditions) -> Result<Al, Failure> {
        conditions.require_multicast_alone("announce-listen")?;
        let (announce, ListenFor(listen)) = (self.announce_interval, self.listen_interval);
        let config = announce_listen::Config { announce, listen };
        config
            .check()
            .map_err(|error| Failure::Usage(error.to_string()))?;
        let churn = self.churn.settle(announce)?;
        churn::require_notice(churn, listen.is_some(), Repeat::Times(0))?;
        Ok(Al {
            members: self.members,
            config,
            churn,
            schedule: Schedule::new(self.members, Duration::ZERO, announce, conditions)?,
        })
    }
}

/// Announce-listen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Al {
    members: u32,
    config: announce_listen::Config,
    churn: Churn,
    schedule: Schedule,
}

impl Election for Al {
    type Protocol = AnnounceListen;
    type Observer = Onlooker;
    const DETECTION: Detection = Detection::Never;

    fn name(&self) -> &'static str {
        "announce-listen"
    }

    fn members(&self) -> u32 {
        self.members
    }

    fn round(&self) -> Duration {
        self.config.announce
    }

    fn long_enough(&self) -> Duration {
        self.schedule.long_enough(self.churn)
    }

    fn pace(&self) -> Duration {
        self.schedule.pace
    }

    fn flood(&self) -> u64 {
        self.schedule.flood
    }

    fn layout(&self, _: Seeds) -> (Vec<Merit>, Scenario) {
        (announcing::merits(self.members), all_start())
    }

    fn config(&self) -> announce_listen::Config {
        self.config
    }

    fn member(&self, _: Boot<AnnounceListen>) -> AnnounceListen {
        AnnounceListen::new()
    }

    fn churn(&self) -> Churn {
        self.churn
    }

    fn observer(&self, merits: &[Merit], course: Course) -> Onlooker {
        let expected = Expected::Member(self.members - 1);
        Onlooker::new(merits, expected, Close::Heard, course)
    }

    fn metrics(&self, course: Course) -> Vec<Metric<Story>> {
        onlooker::metrics::<AnnounceListen>(Close::Heard, course)
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
        paper::announce_listen(self.members, self.config.announce, self.churn, conditions)
    }
}
