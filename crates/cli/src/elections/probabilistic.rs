//! The probabilistic election by Gupta, van Renesse and Birman.

use clap::{Args, ValueEnum};
use hustings_protocol::probabilistic::{
    Config, GroupSize, Introduction, LastRound, Recall, ReplyRule, Strategy,
};
use hustings_sim::probabilistic::ProbabilisticTrial;
use hustings_sim::trial::Rounds;
use hustings_sim::{Conditions, Detection, Network};
use hustings_theory::probabilistic::adaptive::{OutOfReach, smallest_k};
use hustings_theory::probabilistic::{Model, cost, detection, factors, success};

use super::{ClosedForm, Described};
use crate::failure::Failure;
use crate::options::{Named, Setup, SignedArg, name_of, one_of, require_closed_form, values};
use crate::report::{Parameters, sentence_of};
use crate::simulation::{LONGEST_RUN, Simulation};

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

/// The options of `probabilistic`.
#[derive(Debug, Args)]
pub(crate) struct ProbabilisticOptions {
    /// The number of members in the group: 1 to 10000000, in theory to 1000000000. Costs hardly
    /// depend on it
    #[arg(long, value_name = "N", default_value = "100",
          number = values::whole(1..=1_000_000_000_u32))]
    members: u32,

    /// The average number of members that are drawn to agree on a leader in the first round: 1 to
    /// N. More members succeed more often and send more messages. Default: 7, as in the paper, or N
    /// if that is less
    #[arg(long, value_name = "K", number = values::whole(1..=1_000_000_000_u32))]
    k: Option<u32>,

    /// Instead of --k: use the smallest K with which a round succeeds with this probability, for
    /// any ranking of members, at the given --view, --crash and losses. With --introduction
    /// multicast the view is given by the multicasts that arrive
    #[arg(long, visible_alias = "target", value_name = "P", number = target, conflicts_with = "k")]
    target_success: Option<f64>,

    /// The factor by which K grows from round to round: 1 to 1000
    #[arg(long, value_name = "FACTOR", default_value = "2", number = growth)]
    growth: f64,

    /// The maximum number of rounds
    #[arg(long, value_name = "R", default_value = "5", number = values::whole(1..=1_000_u16))]
    max_rounds: u16,

    /// K of the last of several rounds. With everyone it is N, as in the paper; if that round
    /// happens, it takes each thread about N^2 x the view x 60 bytes. Default: everyone up to 20000
    /// members, grown beyond
    #[arg(long, value_parser = one_of::<LastRound>())]
    last_round: Option<LastRound>,

    /// One round only, with K
    #[arg(long, conflicts_with_all = ["growth", "max_rounds", "last_round"])]
    single_round: bool,

    /// The member that calls the next round after a failed one, among those that notice. With
    /// delay, members that miss the first call also call: 1.6 calls on average at a multicast loss
    /// of 0.15, 2.8 at 0.3, for any hesitation
    #[arg(long = "reinitiate", value_name = "REINITIATE", value_parser = one_of::<Recall>(),
          default_value = "delay")]
    recall: Recall,

    /// The members that a drawn member answers, if their choice is no better than its own
    #[arg(long, value_parser = one_of::<ReplyRule>(), default_value = "worse")]
    reply: ReplyRule,

    /// The group size with which a member determines the drawn members
    #[arg(long, value_enum, default_value_t = Size::Known)]
    group_size: Size,

    /// The way in which drawn members find each other
    #[arg(long, value_parser = one_of::<Introduction>(), default_value = "view")]
    introduction: Introduction,

    /// With --reinitiate delay: the longest random wait of a member that noticed a failure, in
    /// units of the message delay. The next round begins after the shortest wait. A shorter limit
    /// makes more members call; beyond 1000 the number no longer falls. 0 to 1000000; 1000 unless
    /// given
    #[arg(long, value_name = "STEPS", number = values::whole(0..=1_000_000_u32))]
    hesitation: Option<u32>,
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

fn target(text: &str) -> Result<f64, String> {
    let usage = "choose a probability above 0 and below 1, as in 0.999";
    values::number(text, |it| it > 0.0 && it < 1.0, usage)
}

fn growth(text: &str) -> Result<f64, String> {
    let usage = "choose a number from 1 to 1000, as in 1.5";
    values::number(text, |it| (1.0..=1_000.0).contains(&it), usage)
}

impl ProbabilisticOptions {
    pub(super) fn settle(self, setup: &Setup) -> Result<Probabilistic, Failure> {
        let members = self.members;
        let Conditions { network, crash, view, .. } = setup.conditions;
        let Network { unicast_loss, multicast_loss, .. } = network;
        let model = Model { members: members.into(), view, crash, unicast_loss, multicast_loss };
        let first = match (self.k, self.target_success) {
            (_, Some(target)) => k_for(&acquainted(self.introduction, model), target)?,
            (None, None) => Strategy::DOCUMENT.first.min(members),
            (Some(k), None) if k <= members => k,
            (Some(k), None) => {
                return Err(Failure::Usage(format!(
                    "--k {k} is more than --members {members}: choose from 1 to {members}"
                )));
            }
        };
        if self.hesitation.is_some() && self.recall != Recall::Delay {
            return Err(Failure::Usage(format!(
                "--hesitation is for --reinitiate delay: with {} no member waits: leave \
                 --hesitation out",
                self.recall.name()
            )));
        }
        let usual = if members <= MOST_AT_ONCE { LastRound::Everybody } else { LastRound::Grown };
        let strategy = Strategy {
            first,
            growth: self.growth,
            rounds: if self.single_round { 1 } else { self.max_rounds },
            last: self.last_round.unwrap_or(usual),
            ..Strategy::DOCUMENT
        };
        let hesitation = self.hesitation.unwrap_or(USUAL_HESITATION);
        Ok(Probabilistic { options: self, model, strategy, hesitation })
    }
}

/// A probabilistic election with all options settled.
#[derive(Debug)]
pub(crate) struct Probabilistic {
    options: ProbabilisticOptions,
    model: Model,
    strategy: Strategy,
    /// In units of a message's delay.
    hesitation: u32,
}

impl Probabilistic {
    /// Returns a run for the simulator.
    ///
    /// # Errors
    /// Names the setting that the simulator does not support or has no room for.
    fn trial(&self, setup: &Setup) -> Result<ProbabilisticTrial, Failure> {
        let hop = setup.require_steps()?;
        let ProbabilisticOptions { members, group_size, recall, reply, introduction, .. } =
            self.options;
        let config = Config {
            strategy: self.strategy,
            size: match group_size {
                Size::Known => GroupSize::Known(members.into()),
                Size::View => GroupSize::View,
                Size::Estimate => GroupSize::Estimate,
            },
            recall,
            reply,
            introduction,
            hesitation: hop * u64::from(self.hesitation),
            ..Config::paper(members.into(), hop)
        };
        self.require_room()?;
        self.require_time(&config)?;
        let Model { view, crash, unicast_loss, multicast_loss, .. } = self.model;
        let purge = true;
        Ok(ProbabilisticTrial { members, view, crash, unicast_loss, multicast_loss, config, purge })
    }

    /// Checks that the members and the messages of the participants fit into memory.
    fn require_room(&self) -> Result<(), Failure> {
        let members = self.options.members;
        if members > MOST_SIMULATED {
            return Err(Failure::Usage(format!(
                "--members {members} is above the limit of the simulator: choose from 1 to \
                 {MOST_SIMULATED}"
            )));
        }
        if self.options.group_size == Size::Estimate {
            self.require_countable()?;
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
            "K would grow to {greatest}. A round takes K^2 messages, which do not fit in memory \
             above K {MOST_AT_ONCE}: {remedy}"
        )))
    }

    /// Checks that a count fits into memory, reaches all members and ends within some minutes.
    fn require_countable(&self) -> Result<(), Failure> {
        let (members, view) = (self.options.members, self.model.view);
        if members > MOST_COUNTED {
            return Err(Failure::Usage(format!(
                "--members {members} is above the limit of the simulator with --group-size \
                 estimate: choose from 1 to {MOST_COUNTED}"
            )));
        }
        let (all, others) = (f64::from(members), f64::from(members) - 1.0);
        let quick = all * DRAWS / MOST_TRIALS;
        // A member that knows one other passes the count on. With this many more, it is rare that a
        // member is known to no other.
        let known_to_some = ((all.ln() + 3.0) / others).min(1.0);
        let why = match view {
            _ if members > 1 && view * others < 1.0 => {
                ": each would know less than one other member"
            }
            _ if view < quick => " in some minutes",
            _ => return Ok(()),
        };
        let least = rounded_up(quick.max(known_to_some));
        Err(Failure::Usage(format!(
            "--view {view} is too small to count {members} members{why}. Choose {least} or more \
             with --group-size estimate, or --group-size known"
        )))
    }

    /// Checks that times in a run do not overflow.
    fn require_time(&self, config: &Config) -> Result<(), Failure> {
        let hop = config.hop.as_secs_f64();
        let hesitation = match config.recall {
            Recall::Delay => config.hesitation.as_secs_f64(),
            Recall::Hash | Recall::All => 0.0,
        };
        let round = |k: u32| hop * (f64::from(k) * 1.5 + 4.0) + hesitation;
        let longest: f64 = self.strategy.ks(self.options.members.into()).map(round).sum();
        let limit = LONGEST_RUN.as_secs_f64();
        if longest <= limit {
            return Ok(());
        }
        Err(Failure::Usage(format!(
            "a run of up to {:.0} years is too long: choose a shorter --delay, or fewer --max-rounds",
            longest / limit * 100.0
        )))
    }
}

impl Described for Probabilistic {
    fn parameters(&self) -> Parameters {
        let Strategy { first, growth, rounds, last, .. } = self.strategy;
        let options = &self.options;
        Parameters::default()
            .with("members", options.members)
            .with("k", first)
            .with("target_success", options.target_success)
            .with("growth", growth)
            .with("max_rounds", rounds)
            .with("last_round", last.name())
            .with("reinitiate", options.recall.name())
            .with("reply", options.reply.name())
            .with("group_size", name_of(&options.group_size))
            .with("introduction", options.introduction.name())
            .with("hesitation", self.hesitation)
    }

    fn sentence(&self) -> String {
        let ProbabilisticOptions { recall, reply, group_size, introduction, .. } = self.options;
        let Strategy { growth, rounds, last, .. } = self.strategy;
        let last = match last {
            LastRound::Everybody => ", everyone in the last",
            LastRound::Grown => "",
        };
        sentence_of([
            (true, self.sentence_in_theory()),
            (rounds == 1, "one round".to_owned()),
            (rounds != 1, format!("growing by {growth} in {rounds} rounds{last}")),
            (rounds != 1, format!("reinitiate {}", recall.name())),
            (reply != ReplyRule::Worse, format!("reply {}", reply.name())),
            (group_size != Size::Known, format!("group size {}", name_of(&group_size))),
            (introduction != Introduction::View, format!("introduction {}", introduction.name())),
        ])
    }

    /// The settings of one round.
    fn sentence_in_theory(&self) -> String {
        let ProbabilisticOptions { members, target_success, .. } = self.options;
        let target = target_success.map(|it| format!(" for a success of {it}"));
        format!("{members} members, K {}{}", self.strategy.first, target.unwrap_or_default())
    }

    /// Evaluates a round with the first K.
    fn closed_form(&self, setup: &Setup) -> Result<ClosedForm, Failure> {
        setup.require_independent_losses()?;
        let ProbabilisticOptions {
            group_size, introduction, recall, reply, target_success, ..
        } = self.options;
        let is_detected = setup.conditions.detection(Detection::Never) != Detection::Never;
        require_closed_form(&[
            (is_detected, "with --detect"),
            (group_size == Size::View, "with --group-size view"),
            (group_size == Size::Estimate, "with --group-size estimate"),
        ])?;
        let model = &acquainted(introduction, self.model);
        let k = f64::from(self.strategy.first);
        let mut form = ClosedForm::default();
        if target_success.is_some() {
            form.add([("k", k)]);
        }
        let detection_bound = match recall {
            Recall::Hash => detection::detection_bound_by_hash(model, k),
            Recall::Delay | Recall::All => detection::detection_bound(model, k),
        };
        form.add([
            ("e1", factors::e1(model, k)),
            ("e2", factors::e2(model, k)),
            ("e3", factors::e3(model, k)),
            ("e4", factors::e4(model, k)),
            ("e5", factors::e5(model, k)),
            ("success_bound", factors::success_bound(model, k)),
            ("success_corrected", success::success_corrected(model, k)),
            ("detection_bound", detection_bound),
            ("detection_bound_printed", detection::detection_bound_printed(model, k)),
        ]);
        let unicasts_bound = (reply == ReplyRule::Worse).then(|| cost::unicasts_bound(model, k));
        form.enter("unicasts_bound", unicasts_bound);
        if target_success.is_some() {
            let multicasts = cost::multicasts_bound(model, k);
            let (first_unicasts, multicasts_bound) = match introduction {
                Introduction::View => (cost::first_unicasts(model, k), multicasts),
                // Every member that sends a final multicast also multicasts its first choice.
                Introduction::Multicast => (0.0, 2.0 * multicasts - 1.0),
            };
            form.add([
                ("relay_members", model.relay_members(k)),
                ("first_unicasts", first_unicasts),
                ("multicasts_bound", multicasts_bound),
            ]);
        }
        Ok(form)
    }

    fn simulate(&self, simulation: &Simulation) -> Result<(), Failure> {
        simulation.require_no_script()?;
        let study = Rounds::new(self.trial(&simulation.setup)?);
        simulation.conduct(self, &study, Parameters::default())
    }
}

/// Formats a number from 0 to 1, rounded up to one digit.
fn rounded_up(number: f64) -> String {
    let digits = (-number.log10().floor()).max(0.0) as usize;
    let scale = 10_f64.powi(digits as i32);
    format!("{:.digits$}", (number * scale).ceil() / scale)
}

/// Returns the smallest K with which a round succeeds with probability `target`.
///
/// # Errors
/// If there is none.
fn k_for(model: &Model, target: f64) -> Result<u32, Failure> {
    let chosen =
        smallest_k(model, target).map_err(|shortfall| out_of_reach(model, target, &shortfall))?;
    // K is at most the number of members, which fits.
    Ok(u32::try_from(chosen.k).unwrap_or(u32::MAX))
}

/// Returns the model in which drawn members know as many of each other as they do after all have
/// introduced themselves.
fn acquainted(introduction: Introduction, model: Model) -> Model {
    match introduction {
        Introduction::View => model,
        // A member that receives another's multicast knows that member.
        Introduction::Multicast => Model { view: 1.0 - model.multicast_loss, ..model },
    }
}

fn out_of_reach(model: &Model, target: f64, shortfall: &OutOfReach) -> Failure {
    let OutOfReach { ceiling, best } = shortfall;
    Failure::Usage(if *ceiling <= 0.0 {
        format!(
            "no K reaches --target-success {target}: with --crash {} no member is left at the \
             end of a round: choose a --crash below 1",
            model.crash
        )
    } else if target >= *ceiling {
        format!(
            "no K reaches --target-success {target}: with --crash {} the leader itself crashes \
             so often that a round succeeds with probability {ceiling} at most: choose a target \
             below that",
            model.crash
        )
    } else {
        // Rounded down, so that the user can ask for the value.
        let success = (best.success * 1e6).floor() / 1e6;
        format!(
            "no K reaches --target-success {target}: the best for --members {} is K {}, with \
             {success}: choose a lower target, more members, wider views or less loss",
            model.members, best.k
        )
    })
}
