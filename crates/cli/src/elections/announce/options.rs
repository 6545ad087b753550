//! The options of the announce family, with their parsers and formats.

use clap::{Args, ValueEnum};
use hustings_protocol::announce::{
    Config, Correction, Criterion, Heartbeat, Joining, Listen, PriorityScale, Repeat, Takeover,
    Wake,
};
use hustings_protocol::{Duration, Priority};
use hustings_sim::elections::{Announcing, BEST_PRIORITY, PriorityKind};
use hustings_theory::announce::Variant;
use serde_json::Value;

use super::chapter;
use super::churn::{self, ChurnOptions};
use crate::elections::{ClosedForm, Described};
use crate::failure::Failure;
use crate::options::{Named, Setup, SignedArg, name_of, one_of, values};
use crate::report::{Parameters, sentence_of};
use crate::simulation::Simulation;

/// The probability of missing a present leader, or of losing every goodbye, when these are
/// measured.
const MISS: f64 = 1e-3;

/// The options that LE-A, LE-S and LE-M share.
#[derive(Debug, Args)]
pub(crate) struct AnnounceOptions {
    /// The number of members in the group: 2 to 10000000. If all announce themselves at once (T_S =
    /// 0), time grows with the square of N
    #[arg(long, value_name = "N", default_value = "100",
          number = values::whole(2..=10_000_000_u32))]
    members: u32,

    /// The set of defaults for the other options. With field rules every member hears every
    /// announcement: time grows with the square of N, and a million members take minutes
    #[arg(long, value_enum, default_value_t = Rules::Chapter)]
    rules: Rules,

    /// T_S: a member announces itself within this time after it starts or misses its leader, unless
    /// it hears of a better one first. Default: 1s, for `announce` 0s; with --rules field half the
    /// announce interval
    #[arg(long, value_name = "DURATION", signed = values::duration)]
    suppress_interval: Option<Duration>,

    /// T_A: the interval between a leader's announcements
    #[arg(long, value_name = "DURATION", default_value = "1s", signed = values::some_time)]
    announce_interval: Duration,

    /// T_L: the time without a message after which a member takes its leader to be gone: never
    /// (none), this duration, or (measured) as many announce intervals as the measured loss
    /// requires. Default: none; measured with --rules field
    #[arg(long, value_name = "none|measured|DURATION", value_parser = listen,
          allow_hyphen_values = true)]
    listen_interval: Option<Listen>,

    /// The distribution of wake-ups within T_S: uniform; late, with a density like e^(LAMBDA
    /// t/T_S); or earlier for better members
    #[arg(long, value_name = "uniform|exponential:LAMBDA|merit", default_value = "uniform",
          value_parser = wake_up, allow_hyphen_values = true)]
    wake: WakeUp,

    /// The rule that ranks members. Default: id; for `earliest` wake
    #[arg(long = "merit", value_parser = one_of::<PriorityKind>())]
    priority: Option<PriorityKind>,

    /// The number of leaders to elect: the best K keep announcing themselves, and all members name
    /// the best
    #[arg(long, value_name = "K", default_value = "1", number = values::whole(1..=10_000_000_u32))]
    leaders: u32,

    /// The way in which a member without a leader looks for one. Default: announce;
    /// suppress-then-query with --rules field
    #[arg(long, value_enum)]
    join: Option<Join>,

    /// The time that a member waits for a leader's answer to its query. Default: 2.5 x the mean
    /// delay
    #[arg(long = "patience", value_name = "DURATION", signed = values::some_time)]
    election_timeout: Option<Duration>,

    /// The number of queries to a silent leader before T_L is over and the leader counts as gone.
    /// Default: 0; 8 with --rules field
    #[arg(long, value_name = "N", signed = values::whole(0..=100_u32))]
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

pub(super) fn wake_up(text: &str) -> Result<WakeUp, String> {
    let rate = match text {
        "uniform" => return Ok(WakeUp::Uniform),
        "merit" => return Ok(WakeUp::ByPriority),
        _ => text.strip_prefix("exponential:"),
    };
    let rate = rate.ok_or("choose uniform, merit, or a rate as in exponential:10")?;
    let remedy = "choose from -100 to 100, but not 0";
    match rate.parse::<f64>() {
        Ok(rate) if rate.abs() <= 100.0 && rate != 0.0 => Ok(WakeUp::Exponential(rate)),
        Ok(rate) => Err(format!("the rate {rate} is out of range: {remedy}")),
        _ if rate.is_empty() => Err(format!("the rate is missing: {remedy}, as in exponential:10")),
        Err(_) => Err(format!("the rate `{rate}` is not a number: {remedy}, as in exponential:10")),
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
    /// Settles all options for LE-A, LE-S or LE-M.
    pub(crate) fn settle(self, variant: Variant, setup: &Setup) -> Result<Announced, Failure> {
        let usual = if variant == Variant::LeM { PriorityKind::Wake } else { PriorityKind::Id };
        let priority = self.priority.unwrap_or(usual);
        if variant == Variant::LeM && priority != PriorityKind::Wake {
            let what = "earliest elects by --merit wake: for another merit choose suppress";
            return Err(Failure::usage(what));
        }
        setup.require_multicast_alone()?;
        let rules = match self.rules {
            Rules::Chapter => Config::paper(Duration::from_secs(1), self.announce_interval),
            Rules::Field => Config::field(self.announce_interval),
        };
        let suppress = if variant == Variant::LeA { Duration::ZERO } else { rules.suppress };
        let (best, criterion) = match priority {
            PriorityKind::Id => (u64::from(self.members) - 1, Criterion::Priority),
            PriorityKind::Wake => (u64::from(self.members) - 1, Criterion::EarliestWake),
            PriorityKind::Priority => (BEST_PRIORITY, Criterion::Priority),
        };
        let (join, joining) = self.joining(rules.joining, setup)?;
        let config = Config {
            suppress: self.suppress_interval.unwrap_or(suppress),
            listen: self.listen_interval.unwrap_or(rules.listen),
            wake: self.wake.settle(Priority(best)),
            criterion,
            leaders: self.leaders,
            joining,
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
        let schedule = super::schedule(self.members, config.suppress, config.announce, setup)?;
        let election = Announcing { members: self.members, priority, config, churn, schedule };
        Ok(Announced { rules: self.rules, join, election })
    }

    fn joining(&self, usual: Joining, setup: &Setup) -> Result<(Join, Joining), Failure> {
        let usual = match usual {
            Joining::Announce => Join::Announce,
            Joining::Query { .. } => Join::Query,
            Joining::SuppressThenQuery { .. } => Join::SuppressThenQuery,
        };
        let join = self.join.unwrap_or(usual);
        let usual = setup.conditions.mean_delay().mul_f64(2.5);
        let election_timeout = self.election_timeout.unwrap_or(usual);
        let joining = match (join, self.election_timeout) {
            (Join::Announce, None) => Joining::Announce,
            (Join::Announce, Some(election_timeout)) => {
                return Err(Failure::Usage(format!(
                    "--patience {election_timeout} without a question to wait for: add --join query or --join suppress-then-query"
                )));
            }
            (Join::Query, _) => Joining::Query { election_timeout },
            (Join::SuppressThenQuery, _) => Joining::SuppressThenQuery { election_timeout },
        };
        Ok((join, joining))
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
            return Err(Failure::usage(
                "--wake merit with --merit wake: one must come first; choose --merit id or priority",
            ));
        }
        // The user asked for it by name. LE-M itself has a limit at T_S = 0, where the lowest
        // identity leads.
        let needs_time = match (self.wake, self.priority) {
            (WakeUp::ByPriority, _) => Some("--wake merit"),
            (WakeUp::Exponential(_), _) => Some("--wake exponential"),
            (WakeUp::Uniform, Some(PriorityKind::Wake)) => Some("--merit wake"),
            (WakeUp::Uniform, _) => None,
        };
        if let (Some(option), Duration::ZERO) = (needs_time, config.suppress) {
            return Err(Failure::Usage(format!(
                "{option} has no effect if T_S = 0, because all members wake up at once: choose \
                 --suppress-interval 1s"
            )));
        }
        if config.heartbeat == Heartbeat::Ignored && config.listen == Listen::Never {
            return Err(Failure::usage(
                "--heartbeat ignored with --listen-interval none has no timer to ignore: choose --listen-interval 3s",
            ));
        }
        Ok(())
    }
}

/// An election by LE-A, LE-S or LE-M with all options settled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Announced {
    rules: Rules,
    join: Join,
    election: Announcing,
}

impl Described for Announced {
    fn parameters(&self) -> Parameters {
        let config = &self.election.config;
        let election_timeout = match config.joining {
            Joining::Announce => None,
            Joining::Query { election_timeout }
            | Joining::SuppressThenQuery { election_timeout } => Some(election_timeout),
        };
        Parameters::default()
            .with("members", self.election.members)
            .with("rules", name_of(&self.rules))
            .with("suppress_interval", config.suppress.to_string())
            .with("announce_interval", config.announce.to_string())
            .with("listen_interval", show_listen(config.listen))
            .with("wake", show_wake(config.wake))
            .with("merit", self.election.priority.name())
            .with("leaders", config.leaders)
            .with("join", name_of(&self.join))
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
        let Announcing { members, priority, config, churn, .. } = &self.election;
        let Config { suppress, announce, listen, wake, leaders, farewell, .. } = *config;
        let says_goodbye = match farewell {
            Repeat::Times(times) => format!("{times} goodbyes"),
            Repeat::Measured { .. } => "goodbyes measured".to_owned(),
        };
        let is_ignored = config.heartbeat == Heartbeat::Ignored;
        sentence_of([
            (true, format!("{members} members, T_S {suppress}, T_A {announce}")),
            (listen != Listen::Never, format!("T_L {}", show_listen(listen))),
            (wake != Wake::Uniform, format!("wake-up {}", show_wake(wake))),
            (*priority != PriorityKind::Id, format!("merit {}", priority.name())),
            (leaders > 1, format!("{leaders} leaders")),
            (self.join != Join::Announce, format!("join {}", name_of(&self.join))),
            (config.correction == Correction::AtOnce, "corrected at once".to_owned()),
            (config.takeover == Takeover::Never, "no takeover".to_owned()),
            (farewell != Repeat::Times(0), says_goodbye),
            (is_ignored, "heartbeats ignored".to_owned()),
        ]) + &churn::sentence(*churn)
    }

    fn closed_form(&self, setup: &Setup) -> Result<ClosedForm, Failure> {
        chapter::election(&self.election, setup)
    }

    fn simulate(&self, simulation: &Simulation) -> Result<(), Failure> {
        simulation.elect(self, self.election)
    }
}
