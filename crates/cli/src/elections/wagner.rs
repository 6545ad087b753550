//! Wagner's ring: a fair draw among members that do not trust each other.

mod paper;

use std::num::NonZeroU32;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use hustings_protocol::Duration;
use hustings_protocol::wagner::{self as protocol, subset};
use hustings_sim::wagner::{Aim, Cheat, DrawTrial as Trial, Scheme, Segment};
use hustings_theory::wagner as theory;

use super::ClosedForm;
use crate::failure::Failure;
use crate::options::{Conditions, ConditionsExt, name_of, values};
use crate::report::Parameters;

/// The options of `wagner`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Election")]
pub(crate) struct Options {
    /// The number of members on the ring: 2 to 1000. With fewer than 4 members, or 3 with --ring
    /// clockwise, no member can be held to its flip. The paper's example has 25
    #[arg(long, value_name = "N", default_value = "25", allow_negative_numbers = true,
          value_parser = values::whole(2..=1_000_u32))]
    members: u32,

    /// The rule by which the known bits of the random number t decide whether it lies above or
    /// below r, the fraction of the members that flipped heads
    #[arg(long, value_enum, default_value_t = Compare::Nonstrict)]
    compare: Compare,

    /// The way in which a member commits to its flip before it knows the other flips
    #[arg(long, value_enum, default_value_t = Ring::BothWays)]
    ring: Ring,

    /// The rule for which active members stay when their flips differ
    #[arg(long, value_enum, default_value_t = Selection::Proportional)]
    selection: Selection,

    /// The number of stages in a row with equal flips of all active members that counts as a fault;
    /// or `none`: as in the paper, where two cheaters can stall the ring for ever. An honest ring
    /// reaches the limit with a probability of about 0.7 x 2^-L
    #[arg(long, value_name = "L|none", default_value = "40", value_parser = stall_limit,
          allow_negative_numbers = true)]
    stall_limit: Limit,

    /// The time without an answer from a neighbour that counts as a fault; or `none`: a silent
    /// member stalls the draw. Default: 4 N delays, so that cheaters have time to conspire
    #[arg(long, value_name = "DURATION|none", value_parser = response_limit,
          allow_hyphen_values = true)]
    response_limit: Option<ResponseLimit>,

    /// Instead of --stall-limit: the smallest L that ends an honest draw with a probability of at
    /// most P
    #[arg(long, value_name = "P", value_parser = rarely, conflicts_with = "stall_limit",
          allow_negative_numbers = true)]
    false_alarm: Option<f64>,

    /// The cheaters and their strategy, as in im@3 or df@2..5: members 2 to 5, numbered from 0 in
    /// ring order, cooperate; 9..1 wraps round. All strategies except those that choose flips
    /// strike in the first round, at a random place.
    ///
    /// df: they see as many flips as possible before they choose their last, so that a cheater is
    /// elected.
    /// im: heads one way, tails the other. cm: they invert a flip that they pass on.
    /// br: from some message on they are silent. fm: they report a fault.
    /// nf: as im, and they suppress fault messages. sp: they pretend to be one member more.
    /// sm: they flip as their neighbours do, so that the draw never ends.
    /// df-best, sm-best: the same two with the best flips that exist, on rings of up to 10 members.
    ///
    /// May be repeated for several groups of cheaters that do not know each other
    #[arg(long, value_name = "TYPE@FROM..TO", value_parser = cheaters)]
    cheat: Vec<Cheaters>,

    /// End a draw after R rounds, if it does not end by itself
    #[arg(long, value_name = "R", default_value = "1000", allow_negative_numbers = true,
          value_parser = values::whole(1..=1_000_000_u32))]
    max_rounds: u32,
}

/// The rules that decide a comparison of t with r.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Compare {
    /// As printed: when t is greater, or less. A half then takes three flips where one is enough
    Strict,
    /// As soon as t can no longer be less, or greater
    Nonstrict,
}

/// The ways in which a member commits to its flip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Ring {
    /// It sends its flip both ways at once: solution (a)
    BothWays,
    /// It sends its flip clockwise, and the other way after its neighbour's has arrived: solution
    /// (b). All members must agree which way is clockwise. A round takes twice as long, and an odd
    /// ring tolerates one more cheater
    Clockwise,
}

/// The rules that select the members that stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Selection {
    /// Either part, with a probability equal to its share of them: fair, however members flip
    Proportional,
    /// Heads if the number of heads of all members is odd, otherwise tails: the informal protocol
    /// of the paper's introduction, in which a cheater gains
    Parity,
}

/// The limit for equal stages in a row, if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Limit(Option<NonZeroU32>);

/// The greatest limit. Its false alarms are rarer than a floating-point number can express.
const GREATEST_LIMIT: u32 = 1_000;

fn stall_limit(text: &str) -> Result<Limit, String> {
    if text == "none" {
        return Ok(Limit(None));
    }
    match text.parse::<NonZeroU32>() {
        Ok(limit) if limit.get() <= GREATEST_LIMIT => Ok(Limit(Some(limit))),
        _ => Err(format!("choose a whole number from 1 to {GREATEST_LIMIT}, or none")),
    }
}

/// The smallest false-alarm probability. A smaller one would need a limit above the greatest.
const RAREST: f64 = 1e-300;

fn rarely(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(chance) if (RAREST..1.0).contains(&chance) => Ok(chance),
        _ => Err(format!("choose a probability from {RAREST:e} on, below 1")),
    }
}

/// The time limit for an answer, if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ResponseLimit(Option<Duration>);

fn response_limit(text: &str) -> Result<ResponseLimit, String> {
    match text {
        "none" => Ok(ResponseLimit(None)),
        span => values::some_time(span).map(|span| ResponseLimit(Some(span))),
    }
}

/// Neighbours that cheat, as the user names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cheaters {
    how: How,
    from: u32,
    to: u32,
}

/// The paper's abbreviations for cheating strategies, and ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum How {
    Df,
    Im,
    Cm,
    Br,
    Fm,
    Nf,
    Sp,
    Sm,
    DfBest,
    SmBest,
}

fn cheaters(text: &str) -> Result<Cheaters, String> {
    let usage = || "write a type and members, as in im@3 or df@2..5".to_owned();
    let (name, places) = text.split_once('@').ok_or_else(usage)?;
    let how = How::from_str(name, true)
        .map_err(|_| "unknown type: choose df, im, cm, br, fm, nf, sp, sm, df-best or sm-best")?;
    let place = |text: &str| text.parse().map_err(|_| usage());
    let (from, to) = match places.split_once("..") {
        Some((from, to)) => (place(from)?, place(to)?),
        None => (place(places)?, place(places)?),
    };
    Ok(Cheaters { how, from, to })
}

impl Cheaters {
    fn show(self) -> String {
        let Self { how, from, to } = self;
        let name = name_of(&how);
        if from == to { format!("{name}@{from}") } else { format!("{name}@{from}..{to}") }
    }

    fn cheating_by(self, cheat: Cheat) -> Segment {
        Segment { cheat, from: self.from, to: self.to }
    }

    /// Returns these cheaters as a segment of a ring of `members` that draws by `config`.
    fn segment(self, members: u32, config: &protocol::Config) -> Result<Segment, Failure> {
        let best = |aim| {
            let length = self.cheating_by(Cheat::DeterministicFlip).len(members);
            let scheme = Scheme::find(members, length, config, aim);
            let scheme = scheme.map_err(|why| {
                Failure::Usage(format!("--cheat {} cannot be: {why}", self.show()))
            })?;
            Ok(Cheat::Best(Arc::new(scheme)))
        };
        let cheat = match self.how {
            How::Df => Cheat::DeterministicFlip,
            How::Im => Cheat::InconsistentMessage,
            How::Cm => Cheat::ChangeMessage,
            How::Br => Cheat::BrokenRing,
            How::Fm => Cheat::FaultMessage,
            How::Nf => Cheat::NoFaultMessage,
            How::Sp => Cheat::SimulateProcessor,
            How::Sm => Cheat::StaleMate,
            How::DfBest => best(Aim::Win)?,
            How::SmBest => best(Aim::Stall)?,
        };
        Ok(self.cheating_by(cheat))
    }
}

impl Options {
    pub(super) fn settle(&self, conditions: &Conditions) -> Result<Wagner, Failure> {
        let members = self.members;
        self.check_cheaters()?;
        let usual = conditions.mean_delay() * u64::from(4 * members);
        Ok(Wagner {
            members,
            compare: self.compare,
            ring: self.ring,
            selection: self.selection,
            limit: self.limit(),
            response: match self.response_limit {
                Some(ResponseLimit(limit)) => limit,
                None => Some(usual),
            },
            cheaters: self.cheat.clone(),
            most_rounds: self.max_rounds,
        })
    }

    /// Checks that the cheaters are on the ring, that no place has two strategies, and that at
    /// least two members are honest.
    fn check_cheaters(&self) -> Result<(), Failure> {
        let members = self.members;
        // The strategy does not matter for this check.
        let segment = |it: &Cheaters| it.cheating_by(Cheat::DeterministicFlip);
        if let Some(cheaters) = self.cheat.iter().find(|it| !segment(it).fits(members)) {
            return Err(Failure::Usage(format!(
                "--cheat {} does not fit --members {members}: members are 0 to {}, and two of them or more must be honest",
                cheaters.show(),
                members - 1
            )));
        }
        let segments = |place: u32| {
            let all = self.cheat.iter().map(segment);
            all.filter(|it| it.holds(place, members)).count()
        };
        if let Some(place) = (0..members).find(|place| segments(*place) > 1) {
            return Err(Failure::Usage(format!(
                "--cheat names member {place} twice: each cheats in one way"
            )));
        }
        match (0..members).filter(|place| segments(*place) == 0).count() {
            0 | 1 => Err(Failure::Usage("--cheat leaves fewer than two members honest".to_owned())),
            _ => Ok(()),
        }
    }

    fn limit(&self) -> Limit {
        let Some(at_most) = self.false_alarm else {
            return self.stall_limit;
        };
        let limit = theory::stall::least_limit(self.members as usize, at_most);
        Limit(NonZeroU32::new(limit.equal_stages()))
    }
}

/// A draw on Wagner's ring with all options settled.
#[derive(Debug, Clone)]
pub(crate) struct Wagner {
    members: u32,
    compare: Compare,
    ring: Ring,
    selection: Selection,
    limit: Limit,
    response: Option<Duration>,
    cheaters: Vec<Cheaters>,
    most_rounds: u32,
}

impl Wagner {
    /// The protocol's name on the command line.
    pub(crate) const NAME: &'static str = "wagner";

    /// All settings.
    pub(crate) fn parameters(&self) -> Parameters {
        Parameters::new()
            .with("members", self.members)
            .with("compare", name_of(&self.compare))
            .with("ring", name_of(&self.ring))
            .with("selection", name_of(&self.selection))
            .with("stall_limit", self.limit.0.map(NonZeroU32::get))
            .with("response_limit", self.response.map(|it| it.to_string()))
            .with("cheat", self.show_cheaters())
            .with("max_rounds", self.most_rounds)
    }

    fn show_cheaters(&self) -> Option<String> {
        let shown: Vec<String> = self.cheaters.iter().map(|it| it.show()).collect();
        (!shown.is_empty()).then(|| shown.join(" and "))
    }

    /// The settings in one sentence for people.
    pub(crate) fn sentence(&self) -> String {
        let ring = match self.ring {
            Ring::BothWays => "both ways",
            Ring::Clockwise => "clockwise first",
        };
        let limit = match self.limit.0 {
            Some(limit) => format!("at most {limit} equal stages in a row"),
            None => "no limit on equal stages".to_owned(),
        };
        let choice = match self.selection {
            Selection::Proportional => format!("compare {}", name_of(&self.compare)),
            Selection::Parity => "selection by parity".to_owned(),
        };
        let cheat = self.show_cheaters().map(|it| format!(", cheat {it}"));
        let few = match self.members < self.protocol_ring().fewest() {
            true => " (honest ones: they are too few to be held to a flip, and hold no draw)",
            false => "",
        };
        format!(
            "{} members{few}, {choice}, flips {ring}, {limit}{}",
            self.members,
            cheat.unwrap_or_default()
        )
    }

    fn protocol_ring(&self) -> protocol::Ring {
        match self.ring {
            Ring::BothWays => protocol::Ring::BothWays,
            Ring::Clockwise => protocol::Ring::Clockwise,
        }
    }

    /// Returns a run for the simulator.
    ///
    /// # Errors
    /// Names the setting that the simulator does not support.
    pub(crate) fn trial(&self, conditions: &Conditions) -> Result<Trial, Failure> {
        let hop = conditions.require_steps(Self::NAME)?;
        conditions.require_agreed_ring(Self::NAME)?;
        let ring = self.protocol_ring();
        if self.members < ring.fewest() {
            return Err(Failure::Usage(format!(
                "--members {} is too few for a draw, as nobody can be held to a flip: choose {} or more",
                self.members,
                ring.fewest()
            )));
        }
        let config = protocol::Config {
            ring,
            selection: match self.selection {
                Selection::Proportional => subset::Selection::Proportional,
                Selection::Parity => subset::Selection::Parity,
            },
            compare: match self.compare {
                Compare::Strict => subset::Compare::Strict,
                Compare::Nonstrict => subset::Compare::NonStrict,
            },
            stall_limit: self.limit.0,
            respond_within: self.response,
        };
        let segments = self.cheaters.iter();
        let segments = segments.map(|it| it.segment(self.members, &config));
        let cheaters = segments.collect::<Result<_, Failure>>()?;
        Ok(Trial {
            members: self.members,
            config,
            cheaters,
            hop,
            loss: conditions.network.unicast_loss,
            most_rounds: self.most_rounds,
        })
    }

    /// Evaluates the closed form of a draw's cost.
    ///
    /// # Errors
    /// If there is no closed form under these conditions.
    pub(crate) fn closed_form(&self, conditions: &Conditions) -> Result<ClosedForm, Failure> {
        paper::draw(self, conditions)
    }

    fn theory_of_compare(&self) -> theory::Compare {
        match self.compare {
            Compare::Strict => theory::Compare::Strict,
            Compare::Nonstrict => theory::Compare::NonStrict,
        }
    }

    fn theory_of_ring(&self) -> theory::Ring {
        match self.ring {
            Ring::BothWays => theory::Ring::BothWays,
            Ring::Clockwise => theory::Ring::Clockwise,
        }
    }
}
