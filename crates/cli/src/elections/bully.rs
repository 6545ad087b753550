//! The bully election.

use clap::Args;
use hustings_protocol::{Duration, bully};
use hustings_sim::Detection;
use hustings_sim::classics::{Best, BullyInitiator};
use hustings_sim::elections::{Bully, Election};
use hustings_theory::bully as theory;

use super::{ClosedForm, Described, FaultRules, without_faults};
use crate::failure::Failure;
use crate::options::{Named, Setup, SignedArg, no_closed_form, one_of, values};
use crate::report::Parameters;
use crate::simulation::Simulation;

/// The limit for members if all of them may query all better members at once; their messages must
/// fit into memory.
const MOST_MEMBERS_ASKING: u32 = 20_000;

/// The options of the bully.
#[derive(Debug, Args)]
pub(crate) struct BullyOptions {
    /// The number of members in the group, including a crashed leader: 2 to 20000, or to 100000 if
    /// the second-highest starts. Otherwise up to N^2 / 2 messages are under way at once, which
    /// takes each thread about N^2 x 32 bytes: 3 GB for 10000
    #[arg(long, value_name = "N", default_value = "100", number = values::whole(2..=100_000_u32))]
    members: u32,

    /// The members that call an election
    #[arg(long, value_parser = one_of::<BullyInitiator>(), default_value = "lowest")]
    initiator: BullyInitiator,

    /// The best member is down and the others do not know it: the usual reason for an election
    #[arg(long)]
    crashed_leader: bool,

    /// The time to wait for an Answer after sending Election. Default: 2.5 x the longest delay,
    /// which is taken to be 4 x the mean if delays have no bound
    #[arg(long, value_name = "DURATION", signed = values::some_time)]
    answer_within: Option<Duration>,

    /// The time to wait for the winner after an Answer, at least --answer-within. Default:
    /// --answer-within plus 2 x the longest delay
    #[arg(long, value_name = "DURATION", signed = values::some_time)]
    victory_within: Option<Duration>,

    #[command(flatten)]
    fault_rules: FaultRules,
}

impl BullyOptions {
    pub(super) fn settle(self, setup: &Setup) -> Result<Bully, Failure> {
        let bound = setup.conditions.delay_bound();
        let usual = bully::Config::paper(bound).answer_within;
        let answer_within = self.answer_within.unwrap_or(usual);
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

fn cost(bully: &Bully, detection: Detection) -> Result<theory::BullyCost, Failure> {
    let (members, initiator) = (u64::from(bully.members), bully.initiator);
    match (bully.best, detection) {
        (Best::Up, _) | (Best::Down, Detection::Never) => {
            Ok(theory::bully(members, initiator, bully.best))
        }
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
    fn parameters(&self) -> Parameters {
        Parameters::default()
            .with("members", self.members)
            .with("initiator", self.initiator.name())
            .with("crashed_leader", self.best == Best::Down)
            .with("answer_within", self.config.answer_within.to_string())
            .with("victory_within", self.config.victory_within.to_string())
            .and(fault_rules(self).parameters())
    }

    fn sentence(&self) -> String {
        let best = if self.best == Best::Down { ", the best is down" } else { "" };
        let starts = match self.initiator {
            BullyInitiator::Lowest => "the lowest starts",
            BullyInitiator::SecondHighest => "the second-highest starts",
            BullyInitiator::Random => "any one starts",
            BullyInitiator::All => "all start at once",
        };
        let bully::Config { answer_within, victory_within, .. } = self.config;
        let (members, faults) = (self.members, fault_rules(self).sentence());
        format!(
            "{members} members{best}, {starts}, answers within {answer_within}, victory within \
             {victory_within}{faults}"
        )
    }

    /// Evaluates the closed form. It assumes that an answer arrives before its time-out.
    fn closed_form(&self, setup: &Setup) -> Result<ClosedForm, Failure> {
        setup.require_no_faults()?;
        setup.require_constant_delay()?;
        fault_rules(self).require_endless_patience()?;
        let (delay, answer_within) = (setup.conditions.mean_delay(), self.config.answer_within);
        let round_trip = delay * 2;
        if answer_within <= round_trip {
            return Err(no_closed_form(&format!(
                "with --answer-within {answer_within} not above a round trip of {round_trip}"
            )));
        }
        let cost = cost(self, setup.conditions.detection(Bully::DETECTION))?;
        Ok(without_faults(
            cost.messages,
            &[
                ("election", cost.messages_election),
                ("answer", cost.messages_answer),
                ("coordinator", cost.messages_coordinator),
            ],
            cost.delay.at(delay.as_secs_f64(), answer_within.as_secs_f64()),
        ))
    }

    fn simulate(&self, simulation: &Simulation) -> Result<(), Failure> {
        let members = self.members;
        if self.initiator != BullyInitiator::SecondHighest && members > MOST_MEMBERS_ASKING {
            return Err(Failure::Usage(format!(
                "--members {members} would send up to N^2 messages at once: choose from 2 to {MOST_MEMBERS_ASKING}, or --initiator second-highest"
            )));
        }
        simulation.elect(self, *self)
    }
}
