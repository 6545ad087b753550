//! The bully election.

use clap::Args;
use hustings_protocol::{Duration, bully};
use hustings_sim::Detection;
use hustings_sim::classics::{Best, BullyInitiator};
use hustings_sim::elections::{Bully, Election};
use hustings_theory::bully as theory;

use super::{ClosedForm, Described, FaultRules, without_faults};
use crate::failure::Failure;
use crate::options::{Conditions, ConditionsExt, Named, no_closed_form, one_of, values};
use crate::report::Parameters;
use crate::simulation::Simulation;

/// The limit for members if all of them may query all better members at once; their messages must
/// fit into memory.
const MOST_MEMBERS_ASKING: u32 = 20_000;

/// The options of the bully.
#[derive(Debug, Args)]
#[command(next_help_heading = "Election")]
pub(crate) struct BullyOptions {
    /// The number of members in the group, including a crashed leader: 2 to 20000, or to 100000 if
    /// the second-highest starts. Otherwise up to N^2 / 2 messages are under way at once, which
    /// takes each thread about N^2 x 32 bytes: 3 GB for 10000
    #[arg(long, value_name = "N", default_value = "100", allow_negative_numbers = true,
          value_parser = values::whole(2..=100_000_u32))]
    members: u32,

    /// The members that call an election
    #[arg(long, value_parser = one_of::<BullyInitiator>(), default_value = "lowest")]
    initiator: BullyInitiator,

    /// The best member is down and the others do not know it: the usual reason for an election
    #[arg(long)]
    crashed_leader: bool,

    /// The time to wait for an Answer after sending Election. Default: 2.5 x the longest delay,
    /// which is taken to be 4 x the mean if delays have no bound
    #[arg(long, value_name = "DURATION", value_parser = values::some_time,
          allow_hyphen_values = true)]
    answer_within: Option<Duration>,

    /// The time to wait for the winner after an Answer, at least --answer-within. Default:
    /// --answer-within plus 2 x the longest delay
    #[arg(long, value_name = "DURATION", value_parser = values::some_time,
          allow_hyphen_values = true)]
    victory_within: Option<Duration>,

    #[command(flatten)]
    fault_rules: FaultRules,
}

impl BullyOptions {
    pub(super) fn settle(&self, conditions: &Conditions) -> Result<Bully, Failure> {
        let bound = conditions.delay_bound();
        let usual = bully::Config::paper(bound);
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
            best: if self.crashed_leader { Best::Down } else { Best::Up },
            config: bully::Config {
                answer_within,
                victory_within,
                reports: self.fault_rules.reports,
                election_timeout: self.fault_rules.election_timeout,
            },
        })
    }
}

/// The handling of faults in this election.
fn fault_rules(bully: &Bully) -> FaultRules {
    FaultRules { election_timeout: bully.config.election_timeout, reports: bully.config.reports }
}

/// Checks that the time-outs mean what the closed forms assume.
fn require_sound_time_outs(bully: &Bully, conditions: &Conditions) -> Result<(), Failure> {
    let round_trip = conditions.mean_delay() * 2;
    if bully.config.answer_within <= round_trip {
        return Err(no_closed_form(&format!(
            "with --answer-within {} not above a round trip of {round_trip}",
            bully.config.answer_within
        )));
    }
    Ok(())
}

fn cost(bully: &Bully, conditions: &Conditions) -> Result<theory::BullyCost, Failure> {
    let initiator = bully.initiator;
    let members = u64::from(bully.members);
    match (bully.best, conditions.detection(Bully::DETECTION)) {
        (Best::Up, _) => Ok(theory::bully(members, initiator, Best::Up)),
        (Best::Down, Detection::Never) => Ok(theory::bully(members, initiator, Best::Down)),
        (Best::Down, Detection::Oracle) if initiator == BullyInitiator::SecondHighest => {
            Ok(theory::bully_if_best_known_dead(members))
        }
        (Best::Down, Detection::Oracle | Detection::After(_)) => Err(no_closed_form(
            "for a --crashed-leader that --detect reports, except --detect oracle --initiator \
             second-highest",
        )),
    }
}

impl Described for Bully {
    fn name(&self) -> &'static str {
        "bully"
    }

    fn parameters(&self) -> Parameters {
        Parameters::new()
            .with("members", self.members)
            .with("initiator", self.initiator.name())
            .with("crashed_leader", self.best == Best::Down)
            .with("answer_within", self.config.answer_within.to_string())
            .with("victory_within", self.config.victory_within.to_string())
            .and(fault_rules(self).parameters())
    }

    fn sentence(&self) -> String {
        let best = match self.best {
            Best::Up => "",
            Best::Down => ", the best is down",
        };
        let starts = match self.initiator {
            BullyInitiator::Lowest => "the lowest starts",
            BullyInitiator::SecondHighest => "the second-highest starts",
            BullyInitiator::Random => "any one starts",
            BullyInitiator::All => "all start at once",
        };
        let Self { members, config, .. } = self;
        format!(
            "{members} members{best}, {starts}, answers within {}, victory within {}{}",
            config.answer_within,
            config.victory_within,
            fault_rules(self).sentence()
        )
    }

    fn closed_form(&self, conditions: &Conditions) -> Result<ClosedForm, Failure> {
        conditions.require_no_faults()?;
        conditions.require_constant_delay()?;
        fault_rules(self).require_endless_patience()?;
        require_sound_time_outs(self, conditions)?;
        let cost = cost(self, conditions)?;
        let delay = cost
            .delay
            .at(conditions.mean_delay().as_secs_f64(), self.config.answer_within.as_secs_f64());
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

    fn simulate(&self, simulation: &Simulation) -> Result<(), Failure> {
        let asks_all = self.initiator != BullyInitiator::SecondHighest;
        if asks_all && self.members > MOST_MEMBERS_ASKING {
            return Err(Failure::Usage(format!(
                "--members {} would send up to N^2 messages at once: choose from 2 to {MOST_MEMBERS_ASKING}, or --initiator second-highest",
                self.members
            )));
        }
        simulation.elect(self, *self)
    }
}
