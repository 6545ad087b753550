//! The bully election.

use clap::{Args, ValueEnum};
use hustings_protocol::{Duration, Merit, bully};
use hustings_sim::classics::{self, Best, BullyInitiator};
use hustings_sim::{Boot, Detection, Scenario, Seeds, Silent};
use hustings_theory::bully as theory;

use super::{Caution, ClosedForm, Election, classic, without_faults};
use crate::failure::Failure;
use crate::measure::Metric;
use crate::options::{Conditions, name_of, no_closed_form, values};
use crate::report::Parameters;
use crate::trial::{Course, Run};

/// How many attempts an election may last before waiting for its end is in vain.
const ROUNDS_LONG_ENOUGH: u64 = 100;

/// The most members whose messages fit into memory when everyone asks everyone better at once.
const MOST_MEMBERS_ASKING: u32 = 20_000;

/// The options of the bully.
#[derive(Debug, Args)]
#[command(next_help_heading = "Election")]
pub(crate) struct BullyOptions {
    /// How many members the group has, a crashed leader included: 2 to 20000, or to 100000 if the
    /// second-highest starts. Else up to N^2 / 2 messages are under way at once, which takes each
    /// thread about N^2 x 32 bytes: 3 GB for 10000
    #[arg(long, value_name = "N", default_value = "100", allow_negative_numbers = true,
          value_parser = values::whole(2..=100_000_u32))]
    members: u32,

    /// Who calls an election
    #[arg(long, value_enum, default_value_t = Initiator::Lowest)]
    initiator: Initiator,

    /// The best member is down, and the others do not know: the usual reason to elect
    #[arg(long)]
    crashed_leader: bool,

    /// How long who asked waits for an answer. Default: 2.5 x the longest delay, which is taken to be
    /// 4 x the mean where delays have no bound
    #[arg(long, value_name = "DURATION", value_parser = values::some_time,
          allow_hyphen_values = true)]
    answer_within: Option<Duration>,

    /// How long who got an answer waits for the winner, not less than --answer-within. Default:
    /// --answer-within and 2 x the longest delay
    #[arg(long, value_name = "DURATION", value_parser = values::some_time,
          allow_hyphen_values = true)]
    victory_within: Option<Duration>,

    #[command(flatten)]
    caution: Caution,
}

/// Who calls an election.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Initiator {
    /// The worst member
    Lowest,
    /// The best but one: with the leader down, the one that will win
    SecondHighest,
    /// Any one member that is up
    Random,
    /// Every member, at once
    All,
}

impl BullyOptions {
    pub(super) fn settle(&self, conditions: &Conditions) -> Result<Bully, Failure> {
        let bound = conditions.delay_bound();
        let usual = bully::Config::slides(bound);
        let answer_within = self.answer_within.unwrap_or(usual.answer_within);
        let victory_within = self.victory_within.unwrap_or(answer_within + bound * 2);
        if victory_within < answer_within {
            return Err(Failure::Usage(format!(
                "--victory-within {victory_within} is below --answer-within {answer_within}: choose {answer_within} or more"
            )));
        }
        Ok(Bully {
            members: self.members,
            initiator: self.initiator,
            best: if self.crashed_leader {
                Best::Down
            } else {
                Best::Up
            },
            caution: self.caution,
            config: bully::Config {
                answer_within,
                victory_within,
                hearsay: self.caution.hearsay(),
                patience: self.caution.patience,
            },
        })
    }
}

/// An election by the bully.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bully {
    members: u32,
    initiator: Initiator,
    best: Best,
    caution: Caution,
    config: bully::Config,
}

impl Bully {
    /// Makes sure that time-outs mean what the closed forms take them to mean.
    fn require_sound_time_outs(&self, conditions: &Conditions) -> Result<(), Failure> {
        let round_trip = conditions.mean_delay() * 2;
        if self.config.answer_within <= round_trip {
            return Err(no_closed_form(&format!(
                "with --answer-within {} not above a round trip of {round_trip}",
                self.config.answer_within
            )));
        }
        Ok(())
    }

    fn cost(&self, conditions: &Conditions) -> Result<theory::BullyCost, Failure> {
        let initiator = match self.initiator {
            Initiator::Lowest => theory::Initiator::Lowest,
            Initiator::SecondHighest => theory::Initiator::SecondHighest,
            Initiator::Random => theory::Initiator::Random,
            Initiator::All => theory::Initiator::All,
        };
        let members = u64::from(self.members);
        match (self.best, conditions.detection(Self::DETECTION)) {
            (Best::Up, _) => Ok(theory::bully(members, initiator, theory::Best::Up)),
            (Best::Down, Detection::Never) => {
                Ok(theory::bully(members, initiator, theory::Best::Down))
            }
            (Best::Down, Detection::Oracle) if self.initiator == Initiator::SecondHighest => {
                Ok(theory::bully_if_best_known_dead(members))
            }
            (Best::Down, Detection::Oracle | Detection::After(_)) => Err(no_closed_form(
                "for a --crashed-leader that --detect tells of, save for --detect oracle --initiator second-highest",
            )),
        }
    }
}

impl Election for Bully {
    type Protocol = bully::Bully;
    type Observer = Silent;
    const DETECTION: Detection = Detection::Never;

    fn name(&self) -> &'static str {
        "bully"
    }

    fn members(&self) -> u32 {
        self.members
    }

    fn round(&self) -> Duration {
        self.config.answer_within + self.config.victory_within
    }

    fn long_enough(&self) -> Duration {
        self.round() * ROUNDS_LONG_ENOUGH + self.caution.slack()
    }

    /// Everyone asks everyone better at once, and, if messages overtake each other, some N times.
    fn flood(&self) -> u64 {
        100_000 + 10 * u64::from(self.members).pow(3)
    }

    fn require_room(&self) -> Result<(), Failure> {
        let asks_all = self.initiator != Initiator::SecondHighest;
        if asks_all && self.members > MOST_MEMBERS_ASKING {
            return Err(Failure::Usage(format!(
                "--members {} would send up to N^2 messages at once: choose from 2 to {MOST_MEMBERS_ASKING}, or --initiator second-highest",
                self.members
            )));
        }
        Ok(())
    }

    fn layout(&self, seeds: Seeds) -> (Vec<Merit>, Scenario) {
        let initiator = match self.initiator {
            Initiator::Lowest => BullyInitiator::Lowest,
            Initiator::SecondHighest => BullyInitiator::SecondHighest,
            Initiator::Random => BullyInitiator::Random,
            Initiator::All => BullyInitiator::All,
        };
        classics::bully(self.members, initiator, self.best, seeds)
    }

    fn config(&self) -> bully::Config {
        self.config
    }

    fn member(&self, _: Boot<Self::Protocol>) -> Self::Protocol {
        bully::Bully::new()
    }

    fn observer(&self, _: &[Merit], _: Course) -> Silent {
        Silent
    }

    fn metrics(&self, _: Course) -> Vec<Metric<Run>> {
        classic::metrics::<Self::Protocol>()
    }

    fn parameters(&self) -> Parameters {
        Parameters::new()
            .with("members", self.members)
            .with("initiator", name_of(&self.initiator))
            .with("crashed_leader", self.best == Best::Down)
            .with("answer_within", self.config.answer_within.to_string())
            .with("victory_within", self.config.victory_within.to_string())
            .and(self.caution.parameters())
    }

    fn sentence(&self) -> String {
        let best = match self.best {
            Best::Up => "",
            Best::Down => ", the best is down",
        };
        let starts = match self.initiator {
            Initiator::Lowest => "the lowest starts",
            Initiator::SecondHighest => "the second-highest starts",
            Initiator::Random => "any one starts",
            Initiator::All => "all start at once",
        };
        let Self {
            members, config, ..
        } = self;
        format!(
            "{members} members{best}, {starts}, answers within {}, victory within {}{}",
            config.answer_within,
            config.victory_within,
            self.caution.sentence()
        )
    }

    fn closed_form(&self, conditions: &Conditions) -> Result<ClosedForm, Failure> {
        conditions.require_no_faults()?;
        conditions.require_constant_delay()?;
        self.caution.require_endless_patience()?;
        self.require_sound_time_outs(conditions)?;
        let cost = self.cost(conditions)?;
        let delay = cost.delay.at(
            conditions.mean_delay().as_secs_f64(),
            self.config.answer_within.as_secs_f64(),
        );
        Ok(without_faults(
            cost.messages,
            &[
                ("election", cost.messages_election),
                ("answer", cost.messages_answer),
                ("coordinator", cost.messages_coordinator),
            ],
            delay,
        ))
    }
}
