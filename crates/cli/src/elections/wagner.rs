//! Wagner's ring: a fair draw among members that do not trust each other.

use std::num::NonZeroU32;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use hustings_protocol::Duration;
use hustings_protocol::wagner::subset::{Compare, Selection};
use hustings_protocol::wagner::{Config, Ring};
use hustings_sim::trial::Draws;
use hustings_sim::wagner::{Aim, Cheat, DrawTrial, Scheme, Segment};
use hustings_theory::wagner::election::{
    adjacent_pair, cost, printed_bound, probability_elected, stages_exceed,
};
use hustings_theory::wagner::informal::{Parity, Sees, best_cheater};
use hustings_theory::wagner::segment;
use hustings_theory::wagner::stall::{StallLimit, least_limit, longest};

use super::{ClosedForm, Described};
use crate::failure::Failure;
use crate::options::{Named, Setup, SignedArg, name_of, one_of, require_closed_form, values};
use crate::report::Parameters;
use crate::simulation::Simulation;

/// The smallest ring on which a member has two different neighbours.
const FEWEST_WITH_TWO_NEIGHBOURS: usize = 3;

/// The options of `wagner`.
#[derive(Debug, Args)]
pub(crate) struct WagnerOptions {
    /// The number of members on the ring: 2 to 1000. With fewer than 4 members, or 3 with --ring
    /// clockwise, no member can be held to its flip. The paper's example has 25
    #[arg(long, value_name = "N", default_value = "25", number = values::whole(2..=1_000_u32))]
    members: u32,

    /// The rule by which the known bits of the random number t decide whether it lies above or
    /// below r, the fraction of the members that flipped heads
    #[arg(long, value_parser = one_of::<Compare>(), default_value = "nonstrict")]
    compare: Compare,

    /// The way in which a member commits to its flip before it knows the other flips
    #[arg(long, value_parser = one_of::<Ring>(), default_value = "both-ways")]
    ring: Ring,

    /// The rule for which active members stay when their flips differ
    #[arg(long, value_parser = one_of::<Selection>(), default_value = "proportional")]
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
    #[arg(long, value_name = "P", number = rarely, conflicts_with = "stall_limit")]
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
    #[arg(long, value_name = "R", default_value = "1000",
          number = values::whole(1..=1_000_000_u32))]
    max_rounds: u32,
}

/// The limit for equal stages in a row, if there is one.
type Limit = Option<NonZeroU32>;

/// The greatest limit. Its false alarms are rarer than a floating-point number can express.
const GREATEST_LIMIT: u32 = 1_000;

fn stall_limit(text: &str) -> Result<Limit, String> {
    match text.parse::<NonZeroU32>() {
        _ if text == "none" => Ok(None),
        Ok(limit) if limit.get() <= GREATEST_LIMIT => Ok(Some(limit)),
        _ => Err(format!("choose a whole number from 1 to {GREATEST_LIMIT}, or none")),
    }
}

/// The smallest false-alarm probability. A smaller one would need a limit above the greatest.
const RAREST: f64 = 1e-300;

fn rarely(text: &str) -> Result<f64, String> {
    let usage = format!("choose a probability of at least {RAREST:e} and below 1");
    values::number(text, |it| (RAREST..1.0).contains(&it), &usage)
}

/// The time limit for an answer, if there is one.
type ResponseLimit = Option<Duration>;

fn response_limit(text: &str) -> Result<ResponseLimit, String> {
    match text {
        "none" => Ok(None),
        span => values::some_time(span).map(Some),
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
    fn segment(self, members: u32, config: &Config) -> Result<Segment, Failure> {
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

impl WagnerOptions {
    pub(super) fn settle(mut self, setup: &Setup) -> Result<Self, Failure> {
        self.check_cheaters()?;
        if let Some(at_most) = self.false_alarm {
            let limit = least_limit(self.members as usize, at_most);
            self.stall_limit = NonZeroU32::new(limit.equal_stages());
        }
        let usual = setup.conditions.mean_delay() * u64::from(4 * self.members);
        self.response_limit.get_or_insert(Some(usual));
        Ok(self)
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
        let mut honest = 0;
        for place in 0..members {
            match self.cheat.iter().filter(|it| segment(it).holds(place, members)).count() {
                0 => honest += 1,
                1 => {}
                _ => {
                    return Err(Failure::Usage(format!(
                        "--cheat names member {place} twice: a member cheats in one way only"
                    )));
                }
            }
        }
        if honest < 2 {
            return Err(Failure::usage("--cheat leaves fewer than two members honest"));
        }
        Ok(())
    }

    fn show_cheaters(&self) -> Option<String> {
        let shown: Vec<String> = self.cheat.iter().map(|it| it.show()).collect();
        (!shown.is_empty()).then(|| shown.join(" and "))
    }

    /// Returns a run for the simulator.
    ///
    /// # Errors
    /// Names the setting that the simulator does not support.
    fn trial(&self, setup: &Setup) -> Result<DrawTrial, Failure> {
        let hop = setup.require_steps()?;
        setup.require_agreed_ring()?;
        let Self { members, ring, selection, compare, stall_limit, .. } = *self;
        let fewest = ring.fewest();
        if members < fewest {
            return Err(Failure::Usage(format!(
                "--members {members} is too few for a draw, because no member can be bound to its \
                 flip: choose {fewest} or more"
            )));
        }
        let respond_within = self.response_limit.flatten();
        let config = Config { ring, selection, compare, stall_limit, respond_within };
        let segments = self.cheat.iter().map(|it| it.segment(members, &config));
        let cheaters = segments.collect::<Result<_, Failure>>()?;
        let loss = setup.conditions.network.unicast_loss;
        let most_rounds = self.max_rounds;
        Ok(DrawTrial { members, config, cheaters, hop, loss, most_rounds })
    }
}

impl Described for WagnerOptions {
    fn parameters(&self) -> Parameters {
        Parameters::default()
            .with("members", self.members)
            .with("compare", self.compare.name())
            .with("ring", self.ring.name())
            .with("selection", self.selection.name())
            .with("stall_limit", self.stall_limit.map(NonZeroU32::get))
            .with("response_limit", self.response_limit.flatten().map(|it| it.to_string()))
            .with("cheat", self.show_cheaters())
            .with("max_rounds", self.max_rounds)
    }

    fn sentence(&self) -> String {
        let Self { members, ring, selection, compare, stall_limit, .. } = *self;
        let few = if members < ring.fewest() {
            " (all honest: so few members cannot be bound to their flips, so agents hold no such \
             draw)"
        } else {
            ""
        };
        let choice = match selection {
            Selection::Proportional => format!("compare {}", compare.name()),
            Selection::Parity => "selection by parity".to_owned(),
        };
        let ring = match ring {
            Ring::BothWays => "both ways",
            Ring::Clockwise => "clockwise first",
        };
        let limit = match stall_limit {
            Some(limit) => format!("at most {limit} equal stages in a row"),
            None => "no limit on equal stages".to_owned(),
        };
        let cheat = self.show_cheaters().map_or_else(String::new, |it| format!(", cheat {it}"));
        format!("{members} members{few}, {choice}, flips {ring}, {limit}{cheat}")
    }

    /// Evaluates a draw among honest members, and the effect that cheaters could have.
    fn closed_form(&self, setup: &Setup) -> Result<ClosedForm, Failure> {
        setup.require_no_faults()?;
        setup.require_constant_delay()?;
        let Self { members, ring, selection, compare, stall_limit, .. } = *self;
        require_closed_form(&[
            (!self.cheat.is_empty(), "with --cheat"),
            (selection == Selection::Parity, "with --selection parity"),
        ])?;
        let n = members as usize;
        // In every round each flip makes `n` hops. With an agreed direction the two ways take
        // turns.
        let (hops, sees) = match ring {
            Ring::BothWays => (n, Sees::Both),
            Ring::Clockwise => (2 * n, Sees::Clockwise),
        };
        let limit = stall_limit.map(|limit| StallLimit::new(limit.get()));
        let expected = cost(n, compare, limit);
        let hop = setup.conditions.mean_delay().as_secs_f64();
        let mut form = ClosedForm::of([
            ("stages", expected.stages),
            ("flips", expected.flips),
            ("basic_rounds", expected.basic_rounds),
            ("messages", expected.messages),
            ("bits", expected.bits),
            ("delay", expected.basic_rounds * hops as f64 * hop),
            ("probability_elected", probability_elected(n, limit)),
            ("false_alarm", expected.false_alarm),
        ]);
        if let Some(limit) = limit {
            form.add([("stages_longest", longest(n, limit))]);
        }
        form.add([
            ("stages_bound_printed", printed_bound(n).into()),
            ("stages_exceed", stages_exceed(n, printed_bound(n))),
            ("segment_largest", segment::largest(n, ring) as f64),
        ]);
        if n >= FEWEST_WITH_TWO_NEIGHBOURS {
            form.add([
                ("adjacent_pair", adjacent_pair(n)),
                ("informal_best_cheater", best_cheater(n, Parity::Ring, sees)),
            ]);
        }
        Ok(form)
    }

    fn simulate(&self, simulation: &Simulation) -> Result<(), Failure> {
        simulation.require_no_script()?;
        let study = Draws::new(self.trial(&simulation.setup)?);
        simulation.conduct(self, &study, Parameters::default())
    }
}
