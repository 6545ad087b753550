//! The two ring elections: Chang and Roberts', and the modified ring.

use clap::Args;
use hustings_protocol::chang_roberts::{self, Initiator};
use hustings_protocol::modified_ring;
use hustings_sim::classics::{Initiators, Order};
use hustings_sim::elections::{ChangRoberts, Circle, ModifiedRing};
use hustings_theory::rings as theory;
use serde_json::Value;

use super::{ClosedForm, Described, FaultRules, without_faults};
use crate::failure::Failure;
use crate::options::{Named, Setup, SignedArg, no_closed_form, one_of, values};
use crate::report::Parameters;
use crate::simulation::Simulation;

/// The limit for the entries of all initiators' lists together.
const MOST_LIST_ENTRIES: u64 = 1_000_000_000;

/// The options of Chang and Roberts' ring.
#[derive(Debug, Args)]
pub(crate) struct ChangRobertsOptions {
    /// The number of members in the group: 2 to 10000000
    #[arg(long, value_name = "N", default_value = "100",
          number = values::whole(2..=10_000_000_u32))]
    members: u32,

    #[command(flatten)]
    start: StartOptions,

    /// Follow the slides to the letter: a member that calls an election does not count as a
    /// participant, and its identity may enter the ring twice
    #[arg(long)]
    literal: bool,

    #[command(flatten)]
    fault_rules: FaultRules,
}

/// The options of the modified ring.
#[derive(Debug, Args)]
pub(crate) struct ModifiedRingOptions {
    /// The number of members in the group: 2 to 1000000. Every message carries a list of members,
    /// which each receiver reads: time grows with the square of N
    #[arg(long, value_name = "N", default_value = "100", number = values::whole(2..=1_000_000_u32))]
    members: u32,

    #[command(flatten)]
    start: StartOptions,

    #[command(flatten)]
    fault_rules: FaultRules,
}

/// The options for the initiators and their positions.
#[derive(Debug, Args)]
struct StartOptions {
    /// The number of members that call an election at once: 1 to N, or all
    #[arg(long, value_name = "1|K|all", default_value = "1", value_parser = initiators,
          allow_negative_numbers = true)]
    initiators: Initiators,

    /// The order of the identities on the ring, relative to the initiators
    #[arg(long, value_parser = one_of::<Order>(), default_value = "random")]
    order: Order,
}

fn initiators(text: &str) -> Result<Initiators, String> {
    match (text, text.parse()) {
        ("all", _) => Ok(Initiators::All),
        (_, Ok(count)) if count > 0 => Ok(Initiators::Count(count)),
        _ => Err("choose a number from 1 to the number of members, or all".to_owned()),
    }
}

impl ChangRobertsOptions {
    pub(super) fn settle(self, setup: &Setup) -> Result<RingElection, Failure> {
        let rule = if self.literal { Rule::Literal } else { Rule::ChangRoberts };
        self.start.settle(rule, self.members, self.fault_rules, setup)
    }
}

impl ModifiedRingOptions {
    pub(super) fn settle(self, setup: &Setup) -> Result<RingElection, Failure> {
        self.start.settle(Rule::Modified, self.members, self.fault_rules, setup)
    }
}

impl StartOptions {
    fn settle(
        &self,
        rule: Rule,
        members: u32,
        fault_rules: FaultRules,
        setup: &Setup,
    ) -> Result<RingElection, Failure> {
        match self.initiators {
            Initiators::Count(count) if count > members => Err(Failure::Usage(format!(
                "--initiators {count} is more than --members {members}: choose from 1 to {members}, or all"
            ))),
            initiators => {
                let lap = setup.conditions.mean_delay() * u64::from(members);
                let circle = Circle { members, initiators, order: self.order, lap };
                Ok(RingElection { rule, circle, fault_rules })
            }
        }
    }
}

/// The rules of the ring elections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    ChangRoberts,
    /// Chang and Roberts' as in the slides, to the letter.
    Literal,
    Modified,
}

/// A ring election with all options settled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RingElection {
    rule: Rule,
    circle: Circle,
    fault_rules: FaultRules,
}

impl RingElection {
    fn order_in_theory(&self) -> Result<theory::Order, Failure> {
        match self.circle.order {
            Order::Random => Ok(theory::Order::Random),
            Order::Best => Ok(theory::Order::Best),
            Order::Worst => Ok(theory::Order::Worst),
            Order::Ascending => Err(no_closed_form("for --order ascending")),
        }
    }
}

impl Described for RingElection {
    fn parameters(&self) -> Parameters {
        let initiators: Value = match self.circle.initiators {
            Initiators::Count(count) => count.into(),
            Initiators::All => "all".into(),
        };
        let parameters = Parameters::default()
            .with("members", self.circle.members)
            .with("initiators", initiators)
            .with("order", self.circle.order.name())
            .and(self.fault_rules.parameters());
        match self.rule {
            Rule::ChangRoberts | Rule::Literal => {
                parameters.with("literal", self.rule == Rule::Literal)
            }
            Rule::Modified => parameters,
        }
    }

    fn sentence(&self) -> String {
        let start = match self.circle.initiators {
            Initiators::Count(1) => "1 starts".to_owned(),
            Initiators::Count(count) => format!("{count} start at once"),
            Initiators::All => "all start at once".to_owned(),
        };
        let (members, order) = (self.circle.members, self.circle.order.name());
        let fault_rules = self.fault_rules.sentence();
        let literal = if self.rule == Rule::Literal { ", read literally" } else { "" };
        format!("{members} members in {order} order, {start}{fault_rules}{literal}")
    }

    /// Evaluates the closed form. A single message under way meets no other, so delays may vary and
    /// only their mean counts.
    fn closed_form(&self, setup: &Setup) -> Result<ClosedForm, Failure> {
        setup.require_no_faults()?;
        self.fault_rules.require_endless_patience()?;
        let (members, starters) = (u64::from(self.circle.members), self.circle.starters());
        if starters > 1 {
            setup.require_constant_delay()?;
        }
        let (announcement, cost) = match self.rule {
            Rule::Modified => {
                ("coordinator", theory::modified_ring(members, starters, self.order_in_theory()?))
            }
            Rule::ChangRoberts => {
                ("elected", theory::chang_roberts(members, starters, self.order_in_theory()?))
            }
            Rule::Literal if starters == members && self.circle.order == Order::Random => {
                ("elected", theory::chang_roberts_literal(members))
            }
            Rule::Literal => {
                return Err(no_closed_form(
                    "with --literal, except --initiators all --order random",
                ));
            }
        };
        Ok(without_faults(
            cost.messages,
            &[("election", cost.messages_election), (announcement, cost.messages_announcement)],
            cost.delay_hops * setup.conditions.mean_delay().as_secs_f64(),
        ))
    }

    fn simulate(&self, simulation: &Simulation) -> Result<(), Failure> {
        let ring = self.circle;
        let FaultRules { election_timeout, reports } = self.fault_rules;
        let initiator = match self.rule {
            Rule::ChangRoberts => Initiator::Participates,
            Rule::Literal => Initiator::Literal,
            Rule::Modified => {
                let (members, starters) = (ring.members, ring.starters());
                let most = MOST_LIST_ENTRIES / u64::from(members);
                if starters > most {
                    return Err(Failure::Usage(format!(
                        "--initiators {starters} would send that number of lists of up to \
                         {members} members at once: choose from 1 to {most}"
                    )));
                }
                let config = modified_ring::Config { reports, election_timeout };
                return simulation.elect(self, ModifiedRing { ring, config });
            }
        };
        let config = chang_roberts::Config { initiator, reports, election_timeout };
        simulation.elect(self, ChangRoberts { ring, config })
    }
}
