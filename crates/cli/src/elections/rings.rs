//! The two ring elections: Chang and Roberts', and the modified ring.

use clap::Args;
use hustings_protocol::{chang_roberts, modified_ring};
use hustings_sim::classics::{Initiators, Order};
use hustings_sim::elections::{ChangRoberts, Circle, ModifiedRing};
use hustings_theory::rings as theory;
use serde_json::Value;

use super::{ClosedForm, Described, FaultRules, without_faults};
use crate::failure::Failure;
use crate::options::{Conditions, ConditionsExt, Named, no_closed_form, one_of, values};
use crate::report::Parameters;
use crate::simulation::Simulation;

/// The limit for the entries of all initiators' lists together.
const MOST_LIST_ENTRIES: u64 = 1_000_000_000;

/// The options of Chang and Roberts' ring.
#[derive(Debug, Args)]
#[command(next_help_heading = "Election")]
pub(crate) struct ChangRobertsOptions {
    /// The number of members in the group: 2 to 10000000
    #[arg(long, value_name = "N", default_value = "100", allow_negative_numbers = true,
          value_parser = values::whole(2..=10_000_000_u32))]
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
#[command(next_help_heading = "Election")]
pub(crate) struct ModifiedRingOptions {
    /// The number of members in the group: 2 to 1000000. Every message carries a list of members,
    /// which each receiver reads: time grows with the square of N
    #[arg(long, value_name = "N", default_value = "100", allow_negative_numbers = true,
          value_parser = values::whole(2..=1_000_000_u32))]
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
    pub(super) fn settle(&self, conditions: &Conditions) -> Result<ChangRoberts, Failure> {
        let initiator = if self.literal {
            chang_roberts::Initiator::Literal
        } else {
            chang_roberts::Initiator::Participates
        };
        Ok(ChangRoberts {
            ring: self.start.circle(self.members, conditions)?,
            config: chang_roberts::Config {
                initiator,
                reports: self.fault_rules.reports,
                election_timeout: self.fault_rules.election_timeout,
            },
        })
    }
}

impl ModifiedRingOptions {
    pub(super) fn settle(&self, conditions: &Conditions) -> Result<ModifiedRing, Failure> {
        Ok(ModifiedRing {
            ring: self.start.circle(self.members, conditions)?,
            config: modified_ring::Config {
                reports: self.fault_rules.reports,
                election_timeout: self.fault_rules.election_timeout,
            },
        })
    }
}

impl StartOptions {
    fn circle(&self, members: u32, conditions: &Conditions) -> Result<Circle, Failure> {
        match self.initiators {
            Initiators::Count(count) if count > members => Err(Failure::Usage(format!(
                "--initiators {count} is more than --members {members}: choose from 1 to {members}, or all"
            ))),
            initiators => Ok(Circle::new(members, initiators, self.order, conditions)),
        }
    }
}

/// The settings that both ring elections share.
struct RingSettings {
    circle: Circle,
    fault_rules: FaultRules,
}

impl From<&ChangRoberts> for RingSettings {
    fn from(ChangRoberts { ring, config }: &ChangRoberts) -> Self {
        let chang_roberts::Config { election_timeout, reports, .. } = *config;
        Self { circle: *ring, fault_rules: FaultRules { election_timeout, reports } }
    }
}

impl From<&ModifiedRing> for RingSettings {
    fn from(ModifiedRing { ring, config }: &ModifiedRing) -> Self {
        let modified_ring::Config { election_timeout, reports, .. } = *config;
        Self { circle: *ring, fault_rules: FaultRules { election_timeout, reports } }
    }
}

impl RingSettings {
    fn parameters(&self) -> Parameters {
        let initiators: Value = match self.circle.initiators {
            Initiators::Count(count) => count.into(),
            Initiators::All => "all".into(),
        };
        Parameters::new()
            .with("members", self.circle.members)
            .with("initiators", initiators)
            .with("order", self.circle.order.name())
            .and(self.fault_rules.parameters())
    }

    fn sentence(&self) -> String {
        let start = match self.circle.initiators {
            Initiators::Count(1) => "1 starts".to_owned(),
            Initiators::Count(count) => format!("{count} start at once"),
            Initiators::All => "all start at once".to_owned(),
        };
        let members = self.circle.members;
        let (order, fault_rules) = (self.circle.order.name(), self.fault_rules.sentence());
        format!("{members} members in {order} order, {start}{fault_rules}")
    }

    fn order_in_theory(&self) -> Result<theory::Order, Failure> {
        match self.circle.order {
            Order::Random => Ok(theory::Order::Random),
            Order::Best => Ok(theory::Order::Best),
            Order::Worst => Ok(theory::Order::Worst),
            Order::Ascending => Err(no_closed_form("for --order ascending")),
        }
    }

    /// Checks that there is a closed form. A single message under way meets no other, so delays may
    /// vary and only their mean counts.
    fn require_closed_form(&self, conditions: &Conditions) -> Result<(), Failure> {
        conditions.require_no_faults()?;
        self.fault_rules.require_endless_patience()?;
        match self.circle.starters() {
            1 => Ok(()),
            _ => conditions.require_constant_delay(),
        }
    }
}

fn is_literal(election: &ChangRoberts) -> bool {
    election.config.initiator == chang_roberts::Initiator::Literal
}

fn cost(election: &ChangRoberts) -> Result<theory::RingCost, Failure> {
    let Circle { members, initiators, order, .. } = election.ring;
    let literal = is_literal(election);
    match (literal, initiators.among(members) == members, order) {
        (false, _, _) => Ok(theory::chang_roberts(
            members.into(),
            election.ring.starters(),
            RingSettings::from(election).order_in_theory()?,
        )),
        (true, true, Order::Random) => Ok(theory::chang_roberts_literal(members.into())),
        (true, _, _) => {
            Err(no_closed_form("with --literal, except --initiators all --order random"))
        }
    }
}

impl Described for ChangRoberts {
    fn name(&self) -> &'static str {
        "chang-roberts"
    }

    fn parameters(&self) -> Parameters {
        RingSettings::from(self).parameters().with("literal", is_literal(self))
    }

    fn sentence(&self) -> String {
        let literal = if is_literal(self) { ", read literally" } else { "" };
        RingSettings::from(self).sentence() + literal
    }

    fn closed_form(&self, conditions: &Conditions) -> Result<ClosedForm, Failure> {
        RingSettings::from(self).require_closed_form(conditions)?;
        let cost = cost(self)?;
        Ok(without_faults(
            cost.messages,
            &[("election", cost.messages_election), ("elected", cost.messages_announcement)],
            cost.delay_hops * conditions.mean_delay().as_secs_f64(),
        ))
    }

    fn simulate(&self, simulation: &Simulation) -> Result<(), Failure> {
        simulation.elect(self, *self)
    }
}

impl Described for ModifiedRing {
    fn name(&self) -> &'static str {
        "modified-ring"
    }

    fn parameters(&self) -> Parameters {
        RingSettings::from(self).parameters()
    }

    fn sentence(&self) -> String {
        RingSettings::from(self).sentence()
    }

    fn closed_form(&self, conditions: &Conditions) -> Result<ClosedForm, Failure> {
        RingSettings::from(self).require_closed_form(conditions)?;
        let order = RingSettings::from(self).order_in_theory()?;
        let cost = theory::modified_ring(self.ring.members.into(), self.ring.starters(), order);
        Ok(without_faults(
            cost.messages,
            &[("election", cost.messages_election), ("coordinator", cost.messages_announcement)],
            cost.delay_hops * conditions.mean_delay().as_secs_f64(),
        ))
    }

    fn simulate(&self, simulation: &Simulation) -> Result<(), Failure> {
        let (members, starters) = (self.ring.members, self.ring.starters());
        let most = MOST_LIST_ENTRIES / u64::from(members);
        if starters > most {
            return Err(Failure::Usage(format!(
                "--initiators {starters} would send that number of lists of up to {members} \
                 members at once: choose from 1 to {most}"
            )));
        }
        simulation.elect(self, *self)
    }
}
