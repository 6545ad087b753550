//! The two ring elections: Chang and Roberts' ring, and the modified ring.

use std::fmt::Debug;

use hustings_protocol::{Duration, Priority, Simulated, chang_roberts, modified_ring};
use serde::Serialize;

use super::{Election, Extent, metrics_at_rest, slack};
use crate::classics::{self, Initiators, Order};
use crate::measure::Metric;
use crate::trial::{Course, Run};
use crate::{Boot, Detection, Scenario, Seeds, Silent};

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
    pub lap: Duration,
}

impl Circle {
    /// Returns the number of members that start an election.
    pub fn starters(&self) -> u64 {
        u64::from(self.initiators.among(self.members))
    }
}

/// An election by a ring protocol with the configuration `C`.
#[derive(Debug, Clone, Copy)]
pub struct RingElection<C> {
    /// The ring.
    pub ring: Circle,
    /// The configuration of the members.
    pub config: C,
}

/// An election by Chang and Roberts' ring.
pub type ChangRoberts = RingElection<chang_roberts::Config>;

/// An election by the modified ring.
pub type ModifiedRing = RingElection<modified_ring::Config>;

/// The configuration of a ring protocol.
pub trait RingConfig: Copy + Send + Sync + 'static {
    /// The protocol.
    type Protocol: Simulated<Config = Self, Message: Serialize + Send, Timer: Debug>
        + Default
        + Send;
    /// The ring on which it costs most or least.
    const RING: classics::Ring;

    /// Returns the time after which a member calls an election again.
    fn election_timeout(&self) -> Option<Duration>;
}

impl RingConfig for chang_roberts::Config {
    type Protocol = chang_roberts::ChangRoberts;
    const RING: classics::Ring = classics::Ring::ChangRoberts;

    fn election_timeout(&self) -> Option<Duration> {
        self.election_timeout
    }
}

impl RingConfig for modified_ring::Config {
    type Protocol = modified_ring::ModifiedRing;
    const RING: classics::Ring = classics::Ring::Modified;

    fn election_timeout(&self) -> Option<Duration> {
        self.election_timeout
    }
}

impl<C: RingConfig> Election for RingElection<C> {
    type Protocol = C::Protocol;
    type Observer = Silent;
    const DETECTION: Detection = Detection::Oracle;

    fn extent(&self) -> Extent {
        let Circle { members, lap, .. } = self.ring;
        Extent {
            members,
            round: lap,
            long_enough: lap * LAPS_LONG_ENOUGH + slack(self.config.election_timeout()),
            pace: Duration::ZERO,
            // An election has one message under way per initiator. Duplicates that are never
            // removed double again at each hop.
            flood: 100_000 + 10 * u64::from(members),
        }
    }

    fn layout(&self, seeds: Seeds) -> (Vec<Priority>, Scenario) {
        let Circle { members, initiators, order, .. } = self.ring;
        classics::ring(C::RING, members, initiators, order, seeds).scenario()
    }

    fn config(&self) -> C {
        self.config
    }

    fn member(&self, _: Boot<C::Protocol>) -> C::Protocol {
        C::Protocol::default()
    }

    fn observer(&self, _: &[Priority], _: Course) -> Silent {
        Silent
    }

    fn metrics(&self, _: Course) -> Vec<Metric<Run>> {
        metrics_at_rest::<C::Protocol>()
    }
}
