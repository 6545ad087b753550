//! The two ring elections: Chang and Roberts' ring, and the modified ring.

use hustings_protocol::{Duration, Priority, chang_roberts, modified_ring};

use super::{Election, metrics_at_rest, slack};
use crate::classics::{self, Initiators, Order};
use crate::measure::Metric;
use crate::trial::{Course, Run};
use crate::{Boot, Conditions, Detection, Scenario, Seeds, Silent};

/// The number of fault-free laps after which an unfinished election is not expected to finish.
const LAPS_LONG_ENOUGH: u64 = 20;

/// The members of a ring, and those that start an election.
#[derive(Debug, Clone, Copy)]
pub struct Circle {
    /// The number of members of the group.
    pub members: u32,
    /// The members that start an election at the same time.
    pub initiators: Initiators,
    /// The positions of the ids on the ring, relative to the initiators.
    pub order: Order,
    /// The duration of one lap without faults.
    lap: Duration,
}

impl Circle {
    /// Creates a ring under these conditions.
    pub fn new(
        members: u32,
        initiators: Initiators,
        order: Order,
        conditions: &Conditions,
    ) -> Self {
        Self { members, initiators, order, lap: conditions.mean_delay() * u64::from(members) }
    }

    /// Returns the number of members that start an election.
    pub fn starters(&self) -> u64 {
        u64::from(self.initiators.among(self.members))
    }

    fn layout(&self, ring: classics::Ring, seeds: Seeds) -> (Vec<Priority>, Scenario) {
        classics::ring(ring, self.members, self.initiators, self.order, seeds).scenario()
    }

    fn long_enough(&self, election_timeout: Option<Duration>) -> Duration {
        self.lap * LAPS_LONG_ENOUGH + slack(election_timeout)
    }

    /// Returns the flood limit. An election has one message under way per initiator. Duplicates
    /// that are never removed double again at each hop.
    fn flood(&self) -> u64 {
        100_000 + 10 * u64::from(self.members)
    }
}

/// An election by Chang and Roberts' ring.
#[derive(Debug, Clone, Copy)]
pub struct ChangRoberts {
    /// The ring.
    pub ring: Circle,
    /// The configuration of the members.
    pub config: chang_roberts::Config,
}

impl Election for ChangRoberts {
    type Protocol = chang_roberts::ChangRoberts;
    type Observer = Silent;
    const DETECTION: Detection = Detection::Oracle;

    fn members(&self) -> u32 {
        self.ring.members
    }

    fn round(&self) -> Duration {
        self.ring.lap
    }

    fn long_enough(&self) -> Duration {
        self.ring.long_enough(self.config.election_timeout)
    }

    fn flood(&self) -> u64 {
        self.ring.flood()
    }

    fn layout(&self, seeds: Seeds) -> (Vec<Priority>, Scenario) {
        self.ring.layout(classics::Ring::ChangRoberts, seeds)
    }

    fn config(&self) -> chang_roberts::Config {
        self.config
    }

    fn member(&self, _: Boot<Self::Protocol>) -> Self::Protocol {
        chang_roberts::ChangRoberts::new()
    }

    fn observer(&self, _: &[Priority], _: Course) -> Silent {
        Silent
    }

    fn metrics(&self, _: Course) -> Vec<Metric<Run>> {
        metrics_at_rest::<Self::Protocol>()
    }
}

/// An election by the modified ring.
#[derive(Debug, Clone, Copy)]
pub struct ModifiedRing {
    /// The ring.
    pub ring: Circle,
    /// The configuration of the members.
    pub config: modified_ring::Config,
}

impl Election for ModifiedRing {
    type Protocol = modified_ring::ModifiedRing;
    type Observer = Silent;
    const DETECTION: Detection = Detection::Oracle;

    fn members(&self) -> u32 {
        self.ring.members
    }

    fn round(&self) -> Duration {
        self.ring.lap
    }

    fn long_enough(&self) -> Duration {
        self.ring.long_enough(self.config.election_timeout)
    }

    fn flood(&self) -> u64 {
        self.ring.flood()
    }

    fn layout(&self, seeds: Seeds) -> (Vec<Priority>, Scenario) {
        self.ring.layout(classics::Ring::Modified, seeds)
    }

    fn config(&self) -> modified_ring::Config {
        self.config
    }

    fn member(&self, _: Boot<Self::Protocol>) -> Self::Protocol {
        modified_ring::ModifiedRing::new()
    }

    fn observer(&self, _: &[Priority], _: Course) -> Silent {
        Silent
    }

    fn metrics(&self, _: Course) -> Vec<Metric<Run>> {
        metrics_at_rest::<Self::Protocol>()
    }
}
