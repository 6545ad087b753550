//! The two ring elections: Chang and Roberts', and the modified ring.

use clap::{Args, ValueEnum};
use hustings_protocol::{Duration, Merit, chang_roberts, modified_ring};
use hustings_sim::classics::{self, Initiators};
use hustings_sim::{Boot, Detection, Scenario, Seeds, Silent};
use hustings_theory::rings as theory;
use serde_json::Value;

use super::{Caution, ClosedForm, Election, classic, without_faults};
use crate::failure::Failure;
use crate::measure::Metric;
use crate::options::{Conditions, name_of, no_closed_form, values};
use crate::report::Parameters;
use crate::trial::{Course, Run};

/// How many times a fault-free lap an election may last before waiting for its end is in vain.
const LAPS_LONG_ENOUGH: u64 = 20;

/// The most entries that the lists of all initiators may have together.
const MOST_LIST_ENTRIES: u64 = 1_000_000_000;

/// The options of Chang and Roberts' ring.
#[derive(Debug, Args)]
#[command(next_help_heading = "Election")]
pub(crate) struct ChangRobertsOptions {
    /// How many members the group has: 2 to 10000000
    #[arg(long, value_name = "N", default_value = "100", allow_negative_numbers = true,
          value_parser = values::whole(2..=10_000_000_u32))]
    members: u32,

    #[command(flatten)]
    start: StartOptions,

    /// Read the slides to the letter: who calls an election does not count as a participant, and
    /// its identity may enter the ring twice
    #[arg(long)]
    literal: bool,

    #[command(flatten)]
    caution: Caution,
}

/// The options of the modified ring.
#[derive(Debug, Args)]
#[command(next_help_heading = "Election")]
pub(crate) struct ModifiedRingOptions {
    /// How many members the group has: 2 to 1000000. Every message carries a list of members, which
    /// each receiver reads: time grows with the square of N
    #[arg(long, value_name = "N", default_value = "100", allow_negative_numbers = true,
          value_parser = values::whole(2..=1_000_000_u32))]
    members: u32,

    #[command(flatten)]
    start: StartOptions,

    #[command(flatten)]
    caution: Caution,
}

/// Who starts, and where they are.
#[derive(Debug, Args)]
struct StartOptions {
    /// How many members call an election at once: 1 to N, or all
    #[arg(long, value_name = "1|K|all", default_value = "1", value_parser = initiators,
          allow_negative_numbers = true)]
    initiators: Initiators,

    /// Where the identities lie on the ring, relative to the initiators
    #[arg(long, value_enum, default_value_t = Order::Random)]
    order: Order,
}

/// Where the identities lie on the ring, relative to the initiators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Order {
    /// Anywhere: theory gives the mean over all orders
    Random,
    /// Where the election costs least
    Best,
    /// Where the election costs most
    Worst,
    /// Each better than the one before, as in the slides' examples; the first members start. For
    /// scenarios that name members
    Ascending,
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
        Ok(ChangRoberts {
            ring: Ring::new(self.members, &self.start, self.caution, conditions)?,
            literal: self.literal,
        })
    }
}

impl ModifiedRingOptions {
    pub(super) fn settle(&self, conditions: &Conditions) -> Result<ModifiedRing, Failure> {
        Ring::new(self.members, &self.start, self.caution, conditions).map(ModifiedRing)
    }
}

/// What the two have in common.
#[derive(Debug, Clone, Copy)]
struct Ring {
    members: u32,
    initiators: Initiators,
    order: Order,
    caution: Caution,
    /// Once round, without faults.
    lap: Duration,
}

impl Ring {
    fn new(
        members: u32,
        start: &StartOptions,
        caution: Caution,
        conditions: &Conditions,
    ) -> Result<Self, Failure> {
        match start.initiators {
            Initiators::Count(count) if count > members => Err(Failure::Usage(format!(
                "--initiators {count} is more than --members {members}: choose from 1 to {members}, or all"
            ))),
            initiators => Ok(Self {
                members,
                initiators,
                order: start.order,
                caution,
                lap: conditions.mean_delay() * u64::from(members),
            }),
        }
    }

    fn starters(&self) -> u64 {
        u64::from(self.initiators.among(self.members))
    }

    fn layout(&self, ring: classics::Ring, seeds: Seeds) -> (Vec<Merit>, Scenario) {
        let order = match self.order {
            Order::Random => classics::Order::Random,
            Order::Best => classics::Order::Best,
            Order::Worst => classics::Order::Worst,
            Order::Ascending => classics::Order::Ascending,
        };
        classics::ring(ring, self.members, self.initiators, order, seeds).scenario()
    }

    fn long_enough(&self) -> Duration {
        self.lap * LAPS_LONG_ENOUGH + self.caution.slack()
    }

    /// An election has one message under way for each initiator; doubles that never meet their end
    /// double again at each hop.
    fn flood(&self) -> u64 {
        100_000 + 10 * u64::from(self.members)
    }

    fn parameters(&self) -> Parameters {
        let initiators: Value = match self.initiators {
            Initiators::Count(count) => count.into(),
            Initiators::All => "all".into(),
        };
        Parameters::new()
            .with("members", self.members)
            .with("initiators", initiators)
            .with("order", name_of(&self.order))
            .and(self.caution.parameters())
    }

    fn sentence(&self) -> String {
        let start = match self.initiators {
            Initiators::Count(1) => "1 starts".to_owned(),
            Initiators::Count(count) => format!("{count} start at once"),
            Initiators::All => "all start at once".to_owned(),
        };
        let Self { members, .. } = self;
        let (order, caution) = (name_of(&self.order), self.caution.sentence());
        format!("{members} members in {order} order, {start}{caution}")
    }

    fn order_in_theory(&self) -> Result<theory::Order, Failure> {
        match self.order {
            Order::Random => Ok(theory::Order::Random),
            Order::Best => Ok(theory::Order::Best),
            Order::Worst => Ok(theory::Order::Worst),
            Order::Ascending => Err(no_closed_form("for --order ascending")),
        }
    }

    /// A single message under way meets no other: then delays may vary, and only their mean counts.
    fn require_closed_form(&self, conditions: &Conditions) -> Result<(), Failure> {
        conditions.require_no_faults()?;
        self.caution.require_endless_patience()?;
        match self.starters() {
            1 => Ok(()),
            _ => conditions.require_constant_delay(),
        }
    }
}

/// An election by Chang and Roberts' ring.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChangRoberts {
    ring: Ring,
    literal: bool,
}

impl ChangRoberts {
    fn cost(&self) -> Result<theory::ChangRobertsCost, Failure> {
        let Ring {
            members,
            initiators,
            order,
            ..
        } = self.ring;
        match (self.literal, initiators.among(members) == members, order) {
            (false, _, _) => Ok(theory::chang_roberts(
                members.into(),
                self.ring.starters(),
                self.ring.order_in_theory()?,
            )),
            (true, true, Order::Random) => Ok(theory::chang_roberts_literal(members.into())),
            (true, _, _) => Err(no_closed_form(
                "with --literal, save for --initiators all --order random",
            )),
        }
    }
}

impl Election for ChangRoberts {
    type Protocol = chang_roberts::ChangRoberts;
    type Observer = Silent;
    const DETECTION: Detection = Detection::Oracle;

    fn name(&self) -> &'static str {
        "chang-roberts"
    }

    fn members(&self) -> u32 {
        self.ring.members
    }

    fn round(&self) -> Duration {
        self.ring.lap
    }

    fn long_enough(&self) -> Duration {
        self.ring.long_enough()
    }

    fn flood(&self) -> u64 {
        self.ring.flood()
    }

    fn layout(&self, seeds: Seeds) -> (Vec<Merit>, Scenario) {
        self.ring.layout(classics::Ring::ChangRoberts, seeds)
    }

    fn config(&self) -> chang_roberts::Config {
        let initiator = if self.literal {
            chang_roberts::Initiator::Literal
        } else {
            chang_roberts::Initiator::Participates
        };
        chang_roberts::Config {
            initiator,
            hearsay: self.ring.caution.hearsay(),
            patience: self.ring.caution.patience,
        }
    }

    fn member(&self, _: Boot<Self::Protocol>) -> Self::Protocol {
        chang_roberts::ChangRoberts::new()
    }

    fn observer(&self, _: &[Merit], _: Course) -> Silent {
        Silent
    }

    fn metrics(&self, _: Course) -> Vec<Metric<Run>> {
        classic::metrics::<Self::Protocol>()
    }

    fn parameters(&self) -> Parameters {
        self.ring.parameters().with("literal", self.literal)
    }

    fn sentence(&self) -> String {
        let literal = if self.literal { ", read literally" } else { "" };
        self.ring.sentence() + literal
    }

    fn closed_form(&self, conditions: &Conditions) -> Result<ClosedForm, Failure> {
        self.ring.require_closed_form(conditions)?;
        let cost = self.cost()?;
        Ok(without_faults(
            cost.messages,
            &[
                ("election", cost.messages_election),
                ("elected", cost.messages_elected),
            ],
            cost.delay_hops * conditions.mean_delay().as_secs_f64(),
        ))
    }
}

/// An election by the modified ring.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ModifiedRing(Ring);

impl Election for ModifiedRing {
    type Protocol = modified_ring::ModifiedRing;
    type Observer = Silent;
    const DETECTION: Detection = Detection::Oracle;

    fn name(&self) -> &'static str {
        "modified-ring"
    }

    fn members(&self) -> u32 {
        self.0.members
    }

    fn round(&self) -> Duration {
        self.0.lap
    }

    fn long_enough(&self) -> Duration {
        self.0.long_enough()
    }

    fn flood(&self) -> u64 {
        self.0.flood()
    }

    fn require_room(&self) -> Result<(), Failure> {
        let (members, starters) = (self.0.members, self.0.starters());
        let most = MOST_LIST_ENTRIES / u64::from(members);
        if starters > most {
            return Err(Failure::Usage(format!(
                "{starters} --initiators would send as many lists of up to {members} members: choose from 1 to {most}"
            )));
        }
        Ok(())
    }

    fn layout(&self, seeds: Seeds) -> (Vec<Merit>, Scenario) {
        self.0.layout(classics::Ring::Modified, seeds)
    }

    fn config(&self) -> modified_ring::Config {
        modified_ring::Config {
            hearsay: self.0.caution.hearsay(),
            patience: self.0.caution.patience,
        }
    }

    fn member(&self, _: Boot<Self::Protocol>) -> Self::Protocol {
        modified_ring::ModifiedRing::new()
    }

    fn observer(&self, _: &[Merit], _: Course) -> Silent {
        Silent
    }

    fn metrics(&self, _: Course) -> Vec<Metric<Run>> {
        classic::metrics::<Self::Protocol>()
    }

    fn parameters(&self) -> Parameters {
        self.0.parameters()
    }

    fn sentence(&self) -> String {
        self.0.sentence()
    }

    fn closed_form(&self, conditions: &Conditions) -> Result<ClosedForm, Failure> {
        self.0.require_closed_form(conditions)?;
        let members = self.0.members.into();
        let cost = theory::modified_ring(members, self.0.starters(), self.0.order_in_theory()?);
        Ok(without_faults(
            cost.messages,
            &[
                ("election", cost.messages_election),
                ("coordinator", cost.messages_coordinator),
            ],
            cost.delay_hops * conditions.mean_delay().as_secs_f64(),
        ))
    }
}
