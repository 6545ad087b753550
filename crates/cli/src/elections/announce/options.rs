//! The options of the announce family, with their parsers and formats.

use std::str::FromStr;

use clap::{Args, ValueEnum};
use hustings_protocol::announce::{
    Config, Correction, Criterion, Heartbeat, Joining, Listen, PriorityScale, Repeat, Takeover,
    Wake,
};
use hustings_protocol::{Duration, Priority};
use hustings_sim::elections::{Announcing, BEST_PRIORITY, PriorityKind};
use serde_json::Value;

use super::chapter;
use super::churn::{self, ChurnOptions};
use crate::elections::{ClosedForm, Described};
use crate::failure::Failure;
use crate::options::{Conditions, ConditionsExt, Named, name_of, one_of, values};
use crate::report::Parameters;
use crate::simulation::Simulation;

/// The probability of missing a present leader, or of losing every goodbye, when these are
/// measured.
const MISS: f64 = 1e-3;

/// The options that LE-A, LE-S and LE-M share.
#[derive(Debug, Args)]
#[command(next_help_heading = "Election")]
pub(crate) struct AnnounceOptions {
    /// The number of members in the group: 2 to 10000000. If all announce themselves at once (T_S =
    /// 0), time grows with the square of N
    #[arg(long, value_name = "N", default_value = "100", allow_negative_numbers = true,
          value_parser = values::whole(2..=10_000_000_u32))]
    members: u32,

    /// The set of defaults for the other options. With field rules every member hears every
    /// announcement: time grows with the square of N, and a million members take minutes
    #[arg(long, value_enum, default_value_t = Rules::Chapter)]
    rules: Rules,

    /// T_S: a member announces itself within this time after it starts or misses its leader, unless
    /// it hears of a better one first. Default: 1s, for `announce` 0s; with --rules field half the
    /// announce interval
    #[arg(long, value_name = "DURATION", value_parser = values::duration,
          allow_hyphen_values = true)]
    suppress_interval: Option<Duration>,

    /// T_A: the interval between a leader's announcements
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = values::some_time,
          allow_hyphen_values = true)]
    announce_interval: Duration,

    /// T_L: the time without a message after which a member takes its leader to be gone: never
    /// (none), this duration, or (measured) as many announce intervals as the measured loss
    /// requires. Default: none; measured with --rules field
    #[arg(long, value_name = "none|measured|DURATION", value_parser = listen,
          allow_hyphen_values = true)]
    listen_interval: Option<Listen>,

    /// The distribution of wake-ups within T_S: uniform; late, with a density like e^(LAMBDA
    /// t/T_S); or earlier for better members
    #[arg(
        long,
        value_name = "uniform|exponential:LAMBDA|merit",
        default_value = "uniform",
        allow_hyphen_values = true
    )]
    wake: WakeUp,

    /// The rule that ranks members. Default: id; for `earliest` wake
    #[arg(long = "merit", value_parser = one_of::<PriorityKind>())]
    priority: Option<PriorityKind>,

    /// The number of leaders to elect: the best K keep announcing themselves, and all members name
    /// the best
    #[arg(long, value_name = "K", default_value = "1", allow_negative_numbers = true,
          value_parser = values::whole(1..=10_000_000_u32))]
    leaders: u32,

    /// The way in which a member without a leader looks for one. Default: announce;
    /// suppress-then-query with --rules field
    #[arg(long, value_enum)]
    join: Option<Join>,

    /// The time that a member waits for a leader's answer to its query. Default: 2.5 x the mean
    /// delay
    #[arg(long = "patience", value_name = "DURATION", value_parser = values::some_time,
          allow_hyphen_values = true)]
    election_timeout: Option<Duration>,

    /// The number of queries to a silent leader before T_L is over and the leader counts as gone.
    /// Default: 0; 8 with --rules field
    #[arg(long, value_name = "N", value_parser = values::whole(0..=100_u32),
          allow_hyphen_values = true)]
    asks: Option<u32>,

    /// The time at which a leader corrects a worse member that announces itself. Default: at-next;
    /// at-once with --rules field
    #[arg(long, value_parser = one_of::<Correction>())]
    correct: Option<Correction>,

    /// The reaction of a better newcomer to an established leader
    #[arg(long, value_parser = one_of::<Takeover>(), default_value = "better")]
    takeover: Takeover,

    /// The number of goodbyes of a leader that leaves: N, or (measured) as many as the loss
    /// requires that its listeners measure; 3 before they have measured it. Default: 0; measured
    /// with --rules field
    #[arg(long, value_name = "N|measured", value_parser = farewell, allow_hyphen_values = true)]
    farewell: Option<Repeat>,

    /// The effect of a leader's heartbeat on a listener's timer
    #[arg(long, value_parser = one_of::<Heartbeat>(), default_value = "restarts")]
    heartbeat: Heartbeat,

    #[command(flatten)]
    churn: ChurnOptions,
}

/// The sets of defaults for the other options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Rules {
    /// As for the chapter's figures: no member is ever missed, queries, or says goodbye
    Chapter,
    /// For real networks: leaders are missed, queried, corrected at once, and say goodbye
    Field,
}

/// The ways in which a member without a leader looks for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Join {
    /// It waits for its wake-up, then announces itself
    Announce,
    /// It queries at once, and announces itself if no leader answers in time
    Query,
    /// It waits for its wake-up, then queries, and announces itself if no leader answers in time
    SuppressThenQuery,
}

/// The distribution of wake-ups, before the priorities are known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum WakeUp {
    Uniform,
    Exponential(f64),
    ByPriority,
}

impl FromStr for WakeUp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.split_once(':')) {
            ("uniform", _) => Ok(Self::Uniform),
            ("merit", _) => Ok(Self::ByPriority),
            (_, Some(("exponential", rate))) => match rate.parse::<f64>() {
                Ok(rate) if rate.abs() <= 100.0 && rate != 0.0 => Ok(Self::Exponential(rate)),
                Ok(rate) => Err(format!(
                    "the rate {rate} is out of range: choose from -100 to 100, but not 0"
                )),
                Err(_) if rate.is_empty() => Err(
                    "the rate is missing: choose from -100 to 100, but not 0, as in exponential:10"
                        .to_owned(),
                ),
                Err(_) => Err(format!(
                    "the rate `{rate}` is not a number: choose from -100 to 100, but not 0, as in exponential:10"
                )),
            },
            _ => Err("choose uniform, merit, or a rate as in exponential:10".to_owned()),
        }
    }
}

impl WakeUp {
    pub(super) fn settle(self, best: Priority) -> Wake {
        match self {
            Self::Uniform => Wake::Uniform,
            Self::Exponential(rate) => Wake::Exponential { rate },
            Self::ByPriority => Wake::ByPriority(PriorityScale::up_to(best)),
        }
    }
}

/// Formats a distribution as [`WakeUp`] reads it.
pub(super) fn show_wake(wake: Wake) -> String {
    match wake {
        Wake::Uniform => "uniform".to_owned(),
        Wake::Exponential { rate } => format!("exponential:{rate}"),
        Wake::ByPriority(_) => "merit".to_owned(),
    }
}

fn listen(text: &str) -> Result<Listen, String> {
    match text {
        "none" => Ok(Listen::Never),
        "measured" => Ok(Listen::Measured { miss: MISS }),
        _ => values::some_time(text).map(Listen::For).map_err(|_| {
            "choose none, measured, or a duration of 1ns or more, as in 3s".to_owned()
        }),
    }
}

fn show_listen(listen: Listen) -> String {
    match listen {
        Listen::Never => "none".to_owned(),
        Listen::For(span) => span.to_string(),
        Listen::Measured { .. } => "measured".to_owned(),
    }
}

fn farewell(text: &str) -> Result<Repeat, String> {
    match (text, text.parse()) {
        ("measured", _) => Ok(Repeat::Measured { miss: MISS }),
        (_, Ok(times)) if times <= 1000 => Ok(Repeat::Times(times)),
        _ => Err("choose measured, or a whole number from 0 to 1000".to_owned()),
    }
}

fn show_farewell(farewell: Repeat) -> Value {
    match farewell {
        Repeat::Times(times) => times.into(),
        Repeat::Measured { .. } => "measured".into(),
    }
}

impl AnnounceOptions {
    pub(in crate::elections) fn announce(
        &self,
        conditions: &Conditions,
    ) -> Result<Announced, Failure> {
        self.settle("announce", Some(Duration::ZERO), PriorityKind::Id, conditions)
    }

    pub(in crate::elections) fn suppress(
        &self,
        conditions: &Conditions,
    ) -> Result<Announced, Failure> {
        self.settle("suppress", None, PriorityKind::Id, conditions)
    }

    pub(in crate::elections) fn earliest(
        &self,
        conditions: &Conditions,
    ) -> Result<Announced, Failure> {
        match self.priority {
            None | Some(PriorityKind::Wake) => {
                self.settle("earliest", None, PriorityKind::Wake, conditions)
            }
            Some(PriorityKind::Id | PriorityKind::Priority) => Err(Failure::Usage(
                "earliest elects by --merit wake: for another merit choose suppress".to_owned(),
            )),
        }
    }

    /// Settles all options. T_S is `suppress` unless the user or the rules set it, and members are
    /// ranked by `usual_priority` unless the user sets it.
    fn settle(
        &self,
        name: &'static str,
        suppress: Option<Duration>,
        usual_priority: PriorityKind,
        conditions: &Conditions,
    ) -> Result<Announced, Failure> {
        conditions.require_multicast_alone(name)?;
        let priority = self.priority.unwrap_or(usual_priority);
        let rules = match self.rules {
            Rules::Chapter => Config::paper(Duration::from_secs(1), self.announce_interval),
            Rules::Field => Config::field(self.announce_interval),
        };
        let best = match priority {
            PriorityKind::Id | PriorityKind::Wake => Priority(u64::from(self.members) - 1),
            PriorityKind::Priority => Priority(BEST_PRIORITY),
        };
        let config = Config {
            suppress: self.suppress_interval.or(suppress).unwrap_or(rules.suppress),
            listen: self.listen_interval.unwrap_or(rules.listen),
            wake: self.wake.settle(best),
            criterion: match priority {
                PriorityKind::Id | PriorityKind::Priority => Criterion::Priority,
                PriorityKind::Wake => Criterion::EarliestWake,
            },
            leaders: self.leaders,
            joining: self.joining(rules.joining, conditions)?,
            asks: self.asks.unwrap_or(rules.asks),
            heartbeat: self.heartbeat,
            correction: self.correct.unwrap_or(rules.correction),
            takeover: self.takeover,
            farewell: self.farewell.unwrap_or(rules.farewell),
            ..rules
        };
        self.require_sense(&config, priority)?;
        let churn = self.churn.settle(config.announce)?;
        churn::require_notice(churn, config.listen != Listen::Never, config.farewell)?;
        let schedule = super::schedule(self.members, config.suppress, config.announce, conditions)?;
        Ok(Announced {
            name,
            rules: self.rules,
            election: Announcing { members: self.members, priority, config, churn, schedule },
        })
    }

    fn joining(&self, usual: Joining, conditions: &Conditions) -> Result<Joining, Failure> {
        let election_timeout =
            self.election_timeout.unwrap_or(conditions.mean_delay().mul_f64(2.5));
        let joining = match (self.join, usual) {
            (Some(Join::Announce), _) | (None, Joining::Announce) => Joining::Announce,
            (Some(Join::Query), _) | (None, Joining::Query { .. }) => {
                Joining::Query { election_timeout }
            }
            (Some(Join::SuppressThenQuery), _) | (None, Joining::SuppressThenQuery { .. }) => {
                Joining::SuppressThenQuery { election_timeout }
            }
        };
        match (joining, self.election_timeout) {
            (Joining::Announce, Some(election_timeout)) => Err(Failure::Usage(format!(
                "--patience {election_timeout} without a question to wait for: add --join query or --join suppress-then-query"
            ))),
            (Joining::Announce, None)
            | (Joining::Query { .. } | Joining::SuppressThenQuery { .. }, _) => Ok(joining),
        }
    }

    fn require_sense(&self, config: &Config, priority: PriorityKind) -> Result<(), Failure> {
        config.check().map_err(Failure::usage)?;
        if self.leaders > self.members {
            return Err(Failure::Usage(format!(
                "--leaders {} is more than --members {}: choose from 1 to {}",
                self.leaders, self.members, self.members
            )));
        }
        if self.wake == WakeUp::ByPriority && priority == PriorityKind::Wake {
            return Err(Failure::Usage(
                "--wake merit with --merit wake: one must come first; choose --merit id or priority"
                    .to_owned(),
            ));
        }
        // The user asked for it by name. LE-M itself has a limit at T_S = 0, where the lowest
        // identity leads.
        let needs_time = match (self.wake, self.priority) {
            (WakeUp::ByPriority, _) => Some("--wake merit"),
            (WakeUp::Exponential(_), _) => Some("--wake exponential"),
            (WakeUp::Uniform, Some(PriorityKind::Wake)) => Some("--merit wake"),
            (WakeUp::Uniform, None | Some(PriorityKind::Id | PriorityKind::Priority)) => None,
        };
        if let (Some(option), Duration::ZERO) = (needs_time, config.suppress) {
            return Err(Failure::Usage(format!(
                "{option} has no effect if T_S = 0, because all members wake up at once: choose \
                 --suppress-interval 1s"
            )));
        }
        if config.heartbeat == Heartbeat::Ignored && config.listen == Listen::Never {
            return Err(Failure::Usage(
                "--heartbeat ignored with --listen-interval none has no timer to ignore: choose --listen-interval 3s"
                    .to_owned(),
            ));
        }
        Ok(())
    }
}

/// An election by LE-A, LE-S or LE-M with all options settled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Announced {
    name: &'static str,
    rules: Rules,
    pub(super) election: Announcing,
}

impl Announced {
    fn joining(&self) -> (Join, Option<Duration>) {
        match self.election.config.joining {
            Joining::Announce => (Join::Announce, None),
            Joining::Query { election_timeout } => (Join::Query, Some(election_timeout)),
            Joining::SuppressThenQuery { election_timeout } => {
                (Join::SuppressThenQuery, Some(election_timeout))
            }
        }
    }
}

impl Described for Announced {
    fn name(&self) -> &'static str {
        self.name
    }

    fn parameters(&self) -> Parameters {
        let config = &self.election.config;
        let (join, election_timeout) = self.joining();
        Parameters::new()
            .with("members", self.election.members)
            .with("rules", name_of(&self.rules))
            .with("suppress_interval", config.suppress.to_string())
            .with("announce_interval", config.announce.to_string())
            .with("listen_interval", show_listen(config.listen))
            .with("wake", show_wake(config.wake))
            .with("merit", self.election.priority.name())
            .with("leaders", config.leaders)
            .with("join", name_of(&join))
            .with("patience", election_timeout.map(|span| span.to_string()))
            .with("asks", config.asks)
            .with("correct", config.correction.name())
            .with("takeover", config.takeover.name())
            .with("farewell", show_farewell(config.farewell))
            .with("heartbeat", config.heartbeat.name())
            .and(churn::parameters(self.election.churn))
    }

    /// The intervals, and every departure from the chapter, in one sentence.
    fn sentence(&self) -> String {
        let config = &self.election.config;
        let mut said = vec![
            format!("{} members", self.election.members),
            format!("T_S {}", config.suppress),
            format!("T_A {}", config.announce),
        ];
        let mut say_if = |departs: bool, what: String| {
            if departs {
                said.push(what);
            }
        };
        say_if(config.listen != Listen::Never, format!("T_L {}", show_listen(config.listen)));
        say_if(config.wake != Wake::Uniform, format!("wake-up {}", show_wake(config.wake)));
        let priority = self.election.priority;
        say_if(priority != PriorityKind::Id, format!("merit {}", priority.name()));
        say_if(config.leaders > 1, format!("{} leaders", config.leaders));
        let (join, _) = self.joining();
        say_if(join != Join::Announce, format!("join {}", name_of(&join)));
        say_if(config.correction == Correction::AtOnce, "corrected at once".to_owned());
        say_if(config.takeover == Takeover::Never, "no takeover".to_owned());
        let says_goodbye = match config.farewell {
            Repeat::Times(times) => format!("{times} goodbyes"),
            Repeat::Measured { .. } => "goodbyes measured".to_owned(),
        };
        say_if(config.farewell != Repeat::Times(0), says_goodbye);
        say_if(config.heartbeat == Heartbeat::Ignored, "heartbeats ignored".to_owned());
        said.join(", ") + &churn::sentence(self.election.churn)
    }

    fn closed_form(&self, conditions: &Conditions) -> Result<ClosedForm, Failure> {
        chapter::election(&self.election, conditions)
    }

    fn simulate(&self, simulation: &Simulation) -> Result<(), Failure> {
        simulation.elect(self, self.election)
    }
}
