//! The probabilistic election by Gupta, van Renesse and Birman.

mod paper;

use clap::{Args, ValueEnum};
use hustings_protocol::Duration;
use hustings_protocol::probabilistic::{
    Config, GroupSize, Introduction as ProtocolIntroduction, LastRound, Recall,
    ReplyRule as ProtocolReply, Strategy,
};
use hustings_sim::probabilistic::ProbabilisticTrial as Trial;
use hustings_theory::probabilistic::Model;

use super::ClosedForm;
use crate::failure::Failure;
use crate::options::{Conditions, ConditionsExt, name_of, values};
use crate::report::Parameters;

/// The number of members above which the last round grows like any other by default; also the
/// greatest K that memory has room for.
const MOST_AT_ONCE: u32 = 20_000;

/// The default of `--hesitation`: long compared to a message, so that few members call a round at
/// once.
const USUAL_HESITATION: u32 = 1_000;
/// The limit for simulated members, which take about two gigabytes.
const MOST_SIMULATED: u32 = 10_000_000;
/// The limit for members that count themselves in the simulator, which takes about a gigabyte.
const MOST_COUNTED: u32 = 1_000_000;
/// The limit for draws from views in a count, which take some minutes. A view of one in a thousand
/// needs a thousand trials per draw.
const MOST_TRIALS: f64 = 2.5e10;
/// The approximate number of draws by each member in a count.
const DRAWS: f64 = 50.0;
/// A hundred years, the longest duration that an option accepts.
const LONGEST: f64 = 100.0 * 365.0 * 24.0 * 3600.0;

/// The options of `probabilistic`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Election")]
pub(crate) struct Options {
    /// The number of members in the group: 1 to 10000000, in theory to 1000000000. Costs hardly
    /// depend on it
    #[arg(long, value_name = "N", default_value = "100", allow_negative_numbers = true,
          value_parser = values::whole(1..=1_000_000_000_u32))]
    members: u32,

    /// The average number of members that are drawn to agree on a leader in the first round: 1 to
    /// N. More members succeed more often and send more messages. Default: 7, as in the paper, or N
    /// if that is less
    #[arg(long, value_name = "K", value_parser = values::whole(1..=1_000_000_000_u32),
          allow_negative_numbers = true)]
    k: Option<u32>,

    /// Instead of --k: use the smallest K with which a round succeeds with this probability, for
    /// any ranking of members, at the given --view, --crash and losses. With --introduction
    /// multicast the view is given by the multicasts that arrive
    #[arg(long, visible_alias = "target", value_name = "P", value_parser = target,
          allow_negative_numbers = true, conflicts_with = "k")]
    target_success: Option<f64>,

    /// The factor by which K grows from round to round: 1 to 1000
    #[arg(long, value_name = "FACTOR", default_value = "2", value_parser = growth,
          allow_negative_numbers = true)]
    growth: f64,

    /// The maximum number of rounds
    #[arg(long, value_name = "R", default_value = "5", value_parser = values::whole(1..=1_000_u16),
          allow_negative_numbers = true)]
    max_rounds: u16,

    /// K of the last of several rounds. With everyone it is N, as in the paper; if that round
    /// happens, it takes each thread about N^2 x the view x 60 bytes. Default: everyone up to 20000
    /// members, grown beyond
    #[arg(long, value_enum)]
    last_round: Option<Last>,

    /// One round only, with K
    #[arg(long, conflicts_with_all = ["growth", "max_rounds", "last_round"])]
    single_round: bool,

    /// The member that calls the next round after a failed one, among those that notice. With
    /// delay, members that miss the first call also call: 1.6 calls on average at a multicast loss
    /// of 0.15, 2.8 at 0.3, for any hesitation
    #[arg(long, value_enum, default_value_t = Reinitiate::Delay)]
    reinitiate: Reinitiate,

    /// The members that a drawn member answers, if their choice is no better than its own
    #[arg(long, value_enum, default_value_t = Reply::Worse)]
    reply: Reply,

    /// The group size with which a member determines the drawn members
    #[arg(long, value_enum, default_value_t = Size::Known)]
    group_size: Size,

    /// The way in which drawn members find each other
    #[arg(long, value_enum, default_value_t = Introduction::View)]
    introduction: Introduction,

    /// With --reinitiate delay: the longest random wait of a member that noticed a failure, in
    /// units of the message delay. The next round begins after the shortest wait. A shorter limit
    /// makes more members call; beyond 1000 the number no longer falls. 0 to 1000000; 1000 unless
    /// given
    #[arg(long, value_name = "STEPS", allow_negative_numbers = true,
          value_parser = values::whole(0..=1_000_000_u32))]
    hesitation: Option<u32>,
}

/// The choices for K of the last round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Last {
    /// N: all members take part
    Everyone,
    /// Grown by the same factor as in every round
    Grown,
}

/// The choices for the caller of the next round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Reinitiate {
    /// Members whose hash is below K/N, as in the paper's figure 3: possibly none
    Hash,
    /// The member with the shortest hesitation, the paper's alternative
    Delay,
    /// Every member
    All,
}

/// The choices for the members that a drawn member answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Reply {
    /// Members whose choice is worse
    Worse,
    /// Also members whose choice is the same, but each only once in a round
    Once,
    /// All members, as in the paper's figure 3: two that agree tell each other so until time is up
    Literal,
}

/// The sources of the group size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Size {
    /// The true size
    Known,
    /// The size of its view
    View,
    /// An estimate by gossip: members count themselves once before the election, with the same
    /// losses, crashes and views. A member that crashes during the count is back for the election,
    /// but is not drawn, because it does not know the size. Up to 1000000 members, with a --view of
    /// at least 0.002 for that many
    Estimate,
}

/// The ways in which drawn members find each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Introduction {
    /// By their views, as in the paper: one of the two must know the other
    View,
    /// Each multicasts its first choice: about K more multicasts in a round, however small the
    /// views are
    Multicast,
}

impl Introduction {
    /// Returns the model in which drawn members know as many of each other as they do after all
    /// have introduced themselves.
    fn acquainted(self, model: Model) -> Model {
        match self {
            Self::View => model,
            // A member that receives another's multicast knows that member.
            Self::Multicast => Model { view: 1.0 - model.multicast_loss, ..model },
        }
    }
}

fn target(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number < 1.0 => Ok(number),
        _ => Err("choose a probability above 0 and below 1, as in 0.999".to_owned()),
    }
}

fn growth(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (1.0..=1_000.0).contains(&number) => Ok(number),
        _ => Err("choose a number from 1 to 1000, as in 1.5".to_owned()),
    }
}

impl Options {
    pub(super) fn settle(&self, conditions: &Conditions) -> Result<Probabilistic, Failure> {
        let members = self.members;
        let model = Model {
            members: members.into(),
            view: conditions.view,
            crash: conditions.crash,
            unicast_loss: conditions.network.unicast_loss,
            multicast_loss: conditions.network.multicast_loss,
        };
        let first = match (self.k, self.target_success) {
            (_, Some(target)) => paper::k_for(&self.introduction.acquainted(model), target)?,
            (None, None) => Strategy::DOCUMENT.first.min(members),
            (Some(k), None) if k <= members => k,
            (Some(k), None) => {
                return Err(Failure::Usage(format!(
                    "--k {k} is more than --members {members}: choose from 1 to {members}"
                )));
            }
        };
        if self.hesitation.is_some() && self.reinitiate != Reinitiate::Delay {
            return Err(Failure::Usage(format!(
                "--hesitation is for --reinitiate delay: with {} nobody waits; leave it out",
                name_of(&self.reinitiate)
            )));
        }
        let usual = if members <= MOST_AT_ONCE { Last::Everyone } else { Last::Grown };
        let strategy = Strategy {
            first,
            growth: self.growth,
            rounds: if self.single_round { 1 } else { self.max_rounds },
            last: match self.last_round.unwrap_or(usual) {
                Last::Everyone => LastRound::Everybody,
                Last::Grown => LastRound::Grown,
            },
            ..Strategy::DOCUMENT
        };
        Ok(Probabilistic {
            model,
            members,
            strategy,
            target: self.target_success,
            reinitiate: self.reinitiate,
            reply: self.reply,
            size: self.group_size,
            introduction: self.introduction,
            hesitation: self.hesitation.unwrap_or(USUAL_HESITATION),
        })
    }
}

/// A probabilistic election with all options settled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Probabilistic {
    model: Model,
    members: u32,
    strategy: Strategy,
    /// The success probability for which the first K was chosen.
    target: Option<f64>,
    reinitiate: Reinitiate,
    reply: Reply,
    size: Size,
    introduction: Introduction,
    /// In units of a message's delay.
    hesitation: u32,
}

impl Probabilistic {
    /// The protocol's name on the command line.
    pub(crate) const NAME: &'static str = "probabilistic";

    /// Returns a run for the simulator.
    ///
    /// # Errors
    /// Names the setting that the simulator does not support or has no room for.
    pub(crate) fn trial(&self, conditions: &Conditions) -> Result<Trial, Failure> {
        let hop = conditions.require_steps(Self::NAME)?;
        let members = self.members;
        let config = Config {
            strategy: self.strategy,
            size: match self.size {
                Size::Known => GroupSize::Known(members.into()),
                Size::View => GroupSize::View,
                Size::Estimate => GroupSize::Estimate,
            },
            recall: match self.reinitiate {
                Reinitiate::Hash => Recall::Hash,
                Reinitiate::Delay => Recall::Delay,
                Reinitiate::All => Recall::All,
            },
            reply: match self.reply {
                Reply::Worse => ProtocolReply::Worse,
                Reply::Once => ProtocolReply::Once,
                Reply::Literal => ProtocolReply::Literal,
            },
            introduction: match self.introduction {
                Introduction::View => ProtocolIntroduction::View,
                Introduction::Multicast => ProtocolIntroduction::Multicast,
            },
            hesitation: hop * u64::from(self.hesitation),
            ..Config::paper(members.into(), hop)
        };
        self.require_room(conditions.view)?;
        self.require_time(&config)?;
        Ok(Trial {
            members,
            view: conditions.view,
            crash: conditions.crash,
            unicast_loss: conditions.network.unicast_loss,
            multicast_loss: conditions.network.multicast_loss,
            config,
            purge: true,
        })
    }

    /// Checks that the members and the messages of the participants fit into memory.
    fn require_room(&self, view: f64) -> Result<(), Failure> {
        let members = self.members;
        if members > MOST_SIMULATED {
            return Err(Failure::Usage(format!(
                "--members {members} is more than the simulator has room for: choose from 1 to {MOST_SIMULATED}"
            )));
        }
        if self.size == Size::Estimate && members > MOST_COUNTED {
            return Err(Failure::Usage(format!(
                "--members {members} is more than the simulator has room for with --group-size estimate: choose from 1 to {MOST_COUNTED}"
            )));
        }
        if self.size == Size::Estimate {
            self.require_countable(view)?;
        }
        let greatest = self.strategy.ks(members.into()).max().unwrap_or(0);
        if greatest <= MOST_AT_ONCE {
            return Ok(());
        }
        let remedy = if self.strategy.first > MOST_AT_ONCE {
            "choose a smaller --k"
        } else if self.strategy.last == LastRound::Everybody && greatest == members {
            "choose --last-round grown, or fewer --members"
        } else {
            "choose a smaller --growth, or fewer --max-rounds"
        };
        Err(Failure::Usage(format!(
            "K would grow to {greatest}, which takes the square of that in messages, more than memory has room for beyond {MOST_AT_ONCE}: {remedy}"
        )))
    }

    /// Checks that a count reaches all members and ends within some minutes.
    fn require_countable(&self, view: f64) -> Result<(), Failure> {
        let members = self.members;
        let (all, others) = (f64::from(members), f64::from(members) - 1.0);
        let quick = all * DRAWS / MOST_TRIALS;
        // A member that knows one other passes the count on. With this many more, it is rare that a
        // member is known to no other.
        let known_to_some = ((all.ln() + 3.0) / others).min(1.0);
        let why = match view {
            _ if members > 1 && view * others < 1.0 => ": they would know less than one other each",
            _ if view < quick => " in some minutes",
            _ => return Ok(()),
        };
        let least = rounded_up(quick.max(known_to_some));
        Err(Failure::Usage(format!(
            "--view {view} is too little for {members} members to be counted{why}. Choose {least} or more with --group-size \
             estimate, or --group-size known"
        )))
    }

    /// Checks that times in a run do not overflow.
    fn require_time(&self, config: &Config) -> Result<(), Failure> {
        let hop = config.hop.as_secs_f64();
        let round = |k: u32| hop * (f64::from(k) * 1.5 + 4.0) + hesitation(config);
        let longest: f64 = self.strategy.ks(self.members.into()).map(round).sum();
        if longest <= LONGEST {
            return Ok(());
        }
        Err(Failure::Usage(format!(
            "a run of up to {:.0} years is too long: choose a shorter --delay, or fewer --max-rounds",
            longest / LONGEST * 100.0
        )))
    }

    /// All settings, and the values derived from them.
    pub(crate) fn parameters(&self) -> Parameters {
        let Strategy {
            first,
            growth,
            rounds,
            last,
            steady_from: _, // agents only
        } = self.strategy;
        let last = match last {
            LastRound::Everybody => Last::Everyone,
            LastRound::Grown => Last::Grown,
        };
        Parameters::new()
            .with("members", self.members)
            .with("k", first)
            .with("target_success", self.target)
            .with("growth", growth)
            .with("max_rounds", rounds)
            .with("last_round", name_of(&last))
            .with("reinitiate", name_of(&self.reinitiate))
            .with("reply", name_of(&self.reply))
            .with("group_size", name_of(&self.size))
            .with("introduction", name_of(&self.introduction))
            .with("hesitation", self.hesitation)
    }

    /// The settings of one round in one sentence for people.
    pub(crate) fn sentence_of_a_round(&self) -> String {
        let target = self.target.map(|it| format!(" for a success of {it}"));
        let Self { members, strategy, .. } = self;
        format!("{members} members, K {}{}", strategy.first, target.unwrap_or_default())
    }

    /// The settings of all rounds in one sentence for people.
    pub(crate) fn sentence(&self) -> String {
        let Strategy { growth, rounds, last, .. } = self.strategy;
        let mut said = vec![self.sentence_of_a_round()];
        if rounds == 1 {
            said.push("one round".to_owned());
        } else {
            let last = match last {
                LastRound::Everybody => ", everyone in the last",
                LastRound::Grown => "",
            };
            said.push(format!("growing by {growth} in {rounds} rounds{last}"));
            said.push(format!("reinitiate {}", name_of(&self.reinitiate)));
        }
        if self.reply != Reply::Worse {
            said.push(format!("reply {}", name_of(&self.reply)));
        }
        if self.size != Size::Known {
            said.push(format!("group size {}", name_of(&self.size)));
        }
        if self.introduction != Introduction::View {
            said.push(format!("introduction {}", name_of(&self.introduction)));
        }
        said.join(", ")
    }

    /// Evaluates the closed form of one round.
    ///
    /// # Errors
    /// If there is no closed form under these conditions.
    pub(crate) fn closed_form(&self, conditions: &Conditions) -> Result<ClosedForm, Failure> {
        paper::round(self, conditions)
    }
}

/// Formats a number from 0 to 1, rounded up to one digit.
fn rounded_up(number: f64) -> String {
    let digits = (-number.log10().floor()).max(0.0) as usize;
    let scale = 10_f64.powi(digits as i32);
    format!("{:.digits$}", (number * scale).ceil() / scale)
}

fn hesitation(config: &Config) -> f64 {
    match config.recall {
        Recall::Delay => Duration::as_secs_f64(config.hesitation),
        Recall::Hash | Recall::All => 0.0,
    }
}
