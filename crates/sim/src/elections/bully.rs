//! The bully election.

use hustings_protocol::{Duration, Priority, bully};

use super::{Election, Extent, metrics_at_rest, slack};
use crate::classics::{self, Best, BullyInitiator};
use crate::measure::Metric;
use crate::trial::{Course, Run};
use crate::{Boot, Scenario, Seeds, Silent};

/// The number of attempts after which an unfinished election is not expected to finish.
const ROUNDS_LONG_ENOUGH: u64 = 100;

/// An election by the bully protocol.
#[derive(Debug, Clone, Copy)]
pub struct Bully {
    /// The number of members of the group, including a crashed leader.
    pub members: u32,
    /// The members that start an election.
    pub initiator: BullyInitiator,
    /// The state of the best member: up or crashed.
    pub best: Best,
    /// The configuration of the members.
    pub config: bully::Config,
}

impl Election for Bully {
    type Protocol = bully::Bully;
    type Observer = Silent;

    fn extent(&self) -> Extent {
        let round = self.config.answer_within + self.config.victory_within;
        Extent {
            members: self.members,
            round,
            long_enough: round * ROUNDS_LONG_ENOUGH + slack(self.config.election_timeout),
            pace: Duration::ZERO,
            // Every member asks all better ones at once. If messages overtake each other, this
            // happens up to about N times.
            flood: 100_000 + 10 * u64::from(self.members).pow(3),
        }
    }

    fn layout(&self, seeds: Seeds) -> (Vec<Priority>, Scenario) {
        classics::bully(self.members, self.initiator, self.best, seeds)
    }

    fn config(&self) -> bully::Config {
        self.config
    }

    fn member(&self, _: Boot<Self::Protocol>) -> Self::Protocol {
        bully::Bully::default()
    }

    fn observer(&self, _: &[Priority], _: Course) -> Silent {
        Silent
    }

    fn metrics(&self, _: Course) -> Vec<Metric<Run>> {
        metrics_at_rest::<Self::Protocol>()
    }
}
