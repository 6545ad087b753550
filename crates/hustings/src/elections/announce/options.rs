//! The options of the announce family, and how their values are read and shown.

use std::str::FromStr;

use clap::{Args, ValueEnum};
use hustings_protocol::announce::{
    Config, Correction, Criterion, Heartbeat, Joining, Listen, MeritScale, Repeat, Takeover, Wake,
};
use hustings_protocol::{Duration, Merit};
use serde_json::Value;

use super::churn::{self, ChurnOptions};
use crate::failure::Failure;
use crate::options::{Conditions, name_of, values};
use crate::report::Parameters;
use crate::trial::Churn;

/// How likely a leader that is there may be missed, or a goodbye lost, where that is measured.
const MISS: f64 = 1e-3;
/// The best of random priorities; the worst is 0.
pub(super) const BEST_PRIORITY: u64 = 255;

/// The options that LE-A, LE-S and LE-M share.
#[derive(Debug, Args)]
#[command(next_help_heading = "Election")]
pub(super) struct Options {
    /// How many members the group has: 2 to 10000000. Where all announce themselves at once (T_S = 0)
    /// time grows with the square of N
    #[arg(long, value_name = "N", default_value = "100", allow_negative_numbers = true,
          value_parser = values::whole(2..=10_000_000_u32))]
    members: u32,

    /// What the other options default to. By field rules every member hears every announcement: time
    /// grows with the square of N, and a million members take minutes
    #[arg(long, value_enum, default_value_t = Rules::Chapter)]
    rules: Rules,

    /// T_S: a member announces itself within this time after it starts or misses its leader, unless
    /// it hears of somebody better before. Default: 1s, for `announce` 0s; with --rules field half the
    /// announce interval
    #[arg(long, value_name = "DURATION", value_parser = values::duration,
          allow_hyphen_values = true)]
    suppress_interval: Option<Duration>,

    /// T_A: how often a leader announces itself
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = values::some_time,
          allow_hyphen_values = true)]
    announce_interval: Duration,

    /// T_L: how long a member that hears nothing of its leader takes it to be there: for ever (none),
    /// so long, or (measured) as many announce intervals as the loss it measures calls for. Default:
    /// none; measured with --rules field
    #[arg(long, value_name = "none|measured|DURATION", value_parser = listen,
          allow_hyphen_values = true)]
    listen_interval: Option<Listen>,

    /// When within T_S a member wakes up: at any time alike; late, with a density like
    /// e^(LAMBDA t/T_S); or the better the earlier
    #[arg(
        long,
        value_name = "uniform|exponential:LAMBDA|merit",
        default_value = "uniform",
        allow_hyphen_values = true
    )]
    wake: WakeUp,

    /// Who is better. Default: id; for `earliest` wake
    #[arg(long, value_enum)]
    pub(super) merit: Option<MeritKind>,

    /// How many leaders to elect: the best K go on announcing themselves, and all name the best
    #[arg(long, value_name = "K", default_value = "1", allow_negative_numbers = true,
          value_parser = values::whole(1..=10_000_000_u32))]
    leaders: u32,

    /// How a member without a leader looks for one. Default: announce; suppress-then-query with --rules
    /// field
    #[arg(long, value_enum)]
    join: Option<Join>,

    /// How long whoever asked waits for a leader's answer. Default: 2.5 x the mean delay
    #[arg(long, value_name = "DURATION", value_parser = values::some_time,
          allow_hyphen_values = true)]
    patience: Option<Duration>,

    /// How often those who ask do so for a leader that falls silent, before T_L is over and it is missed.
    /// Default: 0; 8 with --rules field
    #[arg(long, value_name = "N", value_parser = values::whole(0..=100_u32),
          allow_hyphen_values = true)]
    asks: Option<u32>,

    /// When a leader that hears somebody worse announce itself corrects it. Default: at-next; at-once
    /// with --rules field
    #[arg(long, value_enum)]
    correct: Option<Correct>,

    /// What a better newcomer does to a leader that works
    #[arg(long, value_enum, default_value_t = TakeOver::Better)]
    takeover: TakeOver,

    /// How often a leader that leaves says goodbye: N times, or (measured) as often as the loss calls
    /// for that its listeners measure; 3 times before they have. Default: 0; measured with --rules field
    #[arg(long, value_name = "N|measured", value_parser = farewell, allow_hyphen_values = true)]
    farewell: Option<Repeat>,

    /// What a leader's heartbeat does to a listener's timer
    #[arg(long, value_enum, default_value_t = Beat::Restarts)]
    heartbeat: Beat,

    #[command(flatten)]
    churn: ChurnOptions,
}

/// What the other options default to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Rules {
    /// The chapter's figures: nobody is ever missed, nobody asks, nobody says goodbye
    Chapter,
    /// For real networks: leaders are missed, asked for, corrected at once, and say goodbye
    Field,
}

/// Who is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum MeritKind {
    /// The greater identity: members are numbered from 0, the last is the best
    Id,
    /// The earlier wake-up: LE-M
    Wake,
    /// The greater priority, 0 to 255, drawn anew for each run; of equals the lower identity
    Priority,
}

/// How a member without a leader looks for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Join {
    /// It waits for its wake-up, then announces itself
    Announce,
    /// It asks at once, and announces itself if nobody answers in time
    Query,
    /// It waits for its wake-up, then asks, and announces itself if nobody answers in time
    SuppressThenQuery,
}

/// When a leader corrects somebody worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Correct {
    /// With its next announcement, in T_A at the latest
    AtNext,
    /// At once, but not more often than ten times in T_A
    AtOnce,
}

/// What a better newcomer does to a leader that works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TakeOver {
    /// It takes over
    Better,
    /// It follows: a leader that nobody challenged for T_S + T_A stays until it is missed. Of two
    /// such, as after a partition, the one with more members behind it stays
    Never,
}

/// What a leader's heartbeat does to a listener's timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Beat {
    /// Restarts it
    Restarts,
    /// Nothing, as the chapter's program is printed: then listeners miss leaders that are there
    Ignored,
}

/// When members wake up, before the merits are known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum WakeUp {
    Uniform,
    Exponential(f64),
    ByMerit,
}

impl FromStr for WakeUp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.split_once(':')) {
            ("uniform", _) => Ok(Self::Uniform),
            ("merit", _) => Ok(Self::ByMerit),
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
    pub(super) fn show(self) -> String {
        match self {
            Self::Uniform => "uniform".to_owned(),
            Self::Exponential(rate) => format!("exponential:{rate}"),
            Self::ByMerit => "merit".to_owned(),
        }
    }

    pub(super) fn settle(self, best: Merit) -> Wake {
        match self {
            Self::Uniform => Wake::Uniform,
            Self::Exponential(rate) => Wake::Exponential { rate },
            Self::ByMerit => Wake::ByMerit(MeritScale::up_to(best)),
        }
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

impl Options {
    /// All of them settled, where T_S is `suppress` unless the user or the rules say, and merits are as
    /// `merit` has them.
    pub(super) fn settle(
        &self,
        suppress: Option<Duration>,
        merit: MeritKind,
        conditions: &Conditions,
    ) -> Result<Settled, Failure> {
        let rules = match self.rules {
            Rules::Chapter => Config::chapter(Duration::from_secs(1), self.announce_interval),
            Rules::Field => Config::field(self.announce_interval),
        };
        let best = match merit {
            MeritKind::Id | MeritKind::Wake => Merit(u64::from(self.members) - 1),
            MeritKind::Priority => Merit(BEST_PRIORITY),
        };
        let config = Config {
            suppress: self
                .suppress_interval
                .or(suppress)
                .unwrap_or(rules.suppress),
            listen: self.listen_interval.unwrap_or(rules.listen),
            wake: self.wake.settle(best),
            criterion: match merit {
                MeritKind::Id | MeritKind::Priority => Criterion::Merit,
                MeritKind::Wake => Criterion::EarliestWake,
            },
            leaders: self.leaders,
            joining: self.joining(rules.joining, conditions)?,
            asks: self.asks.unwrap_or(rules.asks),
            heartbeat: match self.heartbeat {
                Beat::Restarts => Heartbeat::Restarts,
                Beat::Ignored => Heartbeat::Ignored,
            },
            correction: match self.correct {
                None => rules.correction,
                Some(Correct::AtNext) => Correction::AtNextAnnouncement,
                Some(Correct::AtOnce) => Correction::AtOnce,
            },
            takeover: match self.takeover {
                TakeOver::Better => Takeover::ByTheBetter,
                TakeOver::Never => Takeover::Never,
            },
            farewell: self.farewell.unwrap_or(rules.farewell),
            ..rules
        };
        self.require_sense(&config, merit)?;
        let churn = self.churn.settle(config.announce)?;
        churn::require_notice(churn, config.listen != Listen::Never, config.farewell)?;
        Ok(Settled {
            members: self.members,
            rules: self.rules,
            wake: self.wake,
            merit,
            config,
            churn,
        })
    }

    fn joining(&self, usual: Joining, conditions: &Conditions) -> Result<Joining, Failure> {
        let patience = self
            .patience
            .unwrap_or(conditions.mean_delay().mul_f64(2.5));
        let joining = match (self.join, usual) {
            (Some(Join::Announce), _) | (None, Joining::Announce) => Joining::Announce,
            (Some(Join::Query), _) | (None, Joining::Query { .. }) => Joining::Query { patience },
            (Some(Join::SuppressThenQuery), _) | (None, Joining::SuppressThenQuery { .. }) => {
                Joining::SuppressThenQuery { patience }
            }
        };
        match (joining, self.patience) {
            (Joining::Announce, Some(patience)) => Err(Failure::Usage(format!(
                "--patience {patience} without a question to wait for: add --join query or --join suppress-then-query"
            ))),
            (Joining::Announce, None)
            | (Joining::Query { .. } | Joining::SuppressThenQuery { .. }, _) => Ok(joining),
        }
    }

    fn require_sense(&self, config: &Config, merit: MeritKind) -> Result<(), Failure> {
        config
            .check()
            .map_err(|error| Failure::Usage(error.to_string()))?;
        if self.leaders > self.members {
            return Err(Failure::Usage(format!(
                "--leaders {} is more than --members {}: choose from 1 to {}",
                self.leaders, self.members, self.members
            )));
        }
        if self.wake == WakeUp::ByMerit && merit == MeritKind::Wake {
            return Err(Failure::Usage(
                "--wake merit with --merit wake: one must come first; choose --merit id or priority"
                    .to_owned(),
            ));
        }
        // Asked for by name: LE-M itself has a limit at T_S = 0, where the lowest identity leads.
        let needs_time = match (self.wake, self.merit) {
            (WakeUp::ByMerit, _) => Some("--wake merit"),
            (WakeUp::Exponential(_), _) => Some("--wake exponential"),
            (WakeUp::Uniform, Some(MeritKind::Wake)) => Some("--merit wake"),
            (WakeUp::Uniform, None | Some(MeritKind::Id | MeritKind::Priority)) => None,
        };
        if let (Some(option), Duration::ZERO) = (needs_time, config.suppress) {
            return Err(Failure::Usage(format!(
                "{option} with T_S = 0, where all wake up at once: choose --suppress-interval 1s"
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

/// The options, settled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settled {
    pub(super) members: u32,
    rules: Rules,
    pub(super) wake: WakeUp,
    pub(super) merit: MeritKind,
    pub(super) config: Config,
    pub(super) churn: Churn,
}

impl Settled {
    /// All that was chosen, and what it led to.
    pub(super) fn parameters(&self) -> Parameters {
        let config = &self.config;
        let (join, patience) = self.joining();
        let correct = match config.correction {
            Correction::AtNextAnnouncement => Correct::AtNext,
            Correction::AtOnce => Correct::AtOnce,
        };
        let takeover = match config.takeover {
            Takeover::ByTheBetter => TakeOver::Better,
            Takeover::Never => TakeOver::Never,
        };
        let heartbeat = match config.heartbeat {
            Heartbeat::Restarts => Beat::Restarts,
            Heartbeat::Ignored => Beat::Ignored,
        };
        Parameters::new()
            .with("members", self.members)
            .with("rules", name_of(&self.rules))
            .with("suppress_interval", config.suppress.to_string())
            .with("announce_interval", config.announce.to_string())
            .with("listen_interval", show_listen(config.listen))
            .with("wake", self.wake.show())
            .with("merit", name_of(&self.merit))
            .with("leaders", config.leaders)
            .with("join", name_of(&join))
            .with("patience", patience.map(|span| span.to_string()))
            .with("asks", config.asks)
            .with("correct", name_of(&correct))
            .with("takeover", name_of(&takeover))
            .with("farewell", show_farewell(config.farewell))
            .with("heartbeat", name_of(&heartbeat))
            .and(churn::parameters(self.churn))
    }

    /// The intervals, and what departs from the chapter.
    pub(super) fn sentence(&self) -> String {
        let config = &self.config;
        let mut said = vec![
            format!("{} members", self.members),
            format!("T_S {}", config.suppress),
            format!("T_A {}", config.announce),
        ];
        let mut say_if = |departs: bool, what: String| {
            if departs {
                said.push(what);
            }
        };
        let listens = config.listen != Listen::Never;
        say_if(listens, format!("T_L {}", show_listen(config.listen)));
        let wakes = self.wake != WakeUp::Uniform;
        say_if(wakes, format!("wake-up {}", self.wake.show()));
        let merit = self.merit != MeritKind::Id;
        say_if(merit, format!("merit {}", name_of(&self.merit)));
        say_if(config.leaders > 1, format!("{} leaders", config.leaders));
        let (join, _) = self.joining();
        say_if(join != Join::Announce, format!("join {}", name_of(&join)));
        let at_once = config.correction == Correction::AtOnce;
        say_if(at_once, "corrected at once".to_owned());
        let stays = config.takeover == Takeover::Never;
        say_if(stays, "no takeover".to_owned());
        let says_goodbye = match config.farewell {
            Repeat::Times(times) => format!("{times} goodbyes"),
            Repeat::Measured { .. } => "goodbyes measured".to_owned(),
        };
        say_if(config.farewell != Repeat::Times(0), says_goodbye);
        let ignored = config.heartbeat == Heartbeat::Ignored;
        say_if(ignored, "heartbeats ignored".to_owned());
        said.join(", ") + &churn::sentence(self.churn)
    }

    fn joining(&self) -> (Join, Option<Duration>) {
        match self.config.joining {
            Joining::Announce => (Join::Announce, None),
            Joining::Query { patience } => (Join::Query, Some(patience)),
            Joining::SuppressThenQuery { patience } => (Join::SuppressThenQuery, Some(patience)),
        }
    }
}
