//! The baselines: suppression (SUP) and announce-listen (AL).

use hustings_protocol::announce_listen::{self, AnnounceListen};
use hustings_protocol::suppression::{self, Suppression};
use hustings_protocol::{Duration, Priority};

use super::onlooker::{self, Close, Onlooker, Story};
use super::{Schedule, all_start};
use crate::convergence::Expected;
use crate::elections::Election;
use crate::measure::Metric;
use crate::trial::{Churn, Course};
use crate::{Boot, Conditions, Detection, Scenario, Seeds, announcing};

/// An election by suppression (SUP).
#[derive(Debug, Clone, Copy)]
pub struct Suppressing {
    /// The number of members of the group.
    pub members: u32,
    /// The configuration of the members.
    pub config: suppression::Config,
    mean_delay: Duration,
    delay_bound: Duration,
}

impl Suppressing {
    /// Creates the election under these conditions.
    pub fn new(members: u32, config: suppression::Config, conditions: &Conditions) -> Self {
        Self {
            members,
            config,
            mean_delay: conditions.mean_delay(),
            delay_bound: conditions.delay_bound(),
        }
    }

    fn close(&self) -> Close {
        Close::Spoken { delay: self.mean_delay }
    }
}

impl Election for Suppressing {
    type Protocol = Suppression;
    type Observer = Onlooker;
    const DETECTION: Detection = Detection::Never;

    fn members(&self) -> u32 {
        self.members
    }

    fn round(&self) -> Duration {
        self.config.suppress + self.mean_delay
    }

    fn long_enough(&self) -> Duration {
        self.config.suppress + self.delay_bound * 10
    }

    fn pace(&self) -> Duration {
        self.config.suppress.mul_f64(0.25)
    }

    fn flood(&self) -> u64 {
        100_000 + 10 * u64::from(self.members)
    }

    fn layout(&self, _: Seeds) -> (Vec<Priority>, Scenario) {
        (announcing::priorities(self.members), all_start())
    }

    fn config(&self) -> suppression::Config {
        self.config
    }

    fn member(&self, _: Boot<Suppression>) -> Suppression {
        Suppression::new()
    }

    fn observer(&self, priorities: &[Priority], course: Course) -> Onlooker {
        Onlooker::new(priorities, Expected::FirstAnnouncer, self.close(), course)
    }

    fn metrics(&self, course: Course) -> Vec<Metric<Story>> {
        onlooker::metrics::<Suppression>(self.close(), course)
    }
}

/// An election by announce-listen (AL).
#[derive(Debug, Clone, Copy)]
pub struct AnnounceListening {
    /// The number of members of the group.
    pub members: u32,
    /// The configuration of the members.
    pub config: announce_listen::Config,
    /// The random departures and arrivals of members.
    pub churn: Churn,
    /// The time scales of the election.
    pub schedule: Schedule,
}

impl Election for AnnounceListening {
    type Protocol = AnnounceListen;
    type Observer = Onlooker;
    const DETECTION: Detection = Detection::Never;

    fn members(&self) -> u32 {
        self.members
    }

    fn round(&self) -> Duration {
        self.config.announce
    }

    fn long_enough(&self) -> Duration {
        self.schedule.long_enough(self.churn)
    }

    fn pace(&self) -> Duration {
        self.schedule.pace
    }

    fn flood(&self) -> u64 {
        self.schedule.flood
    }

    fn layout(&self, _: Seeds) -> (Vec<Priority>, Scenario) {
        (announcing::priorities(self.members), all_start())
    }

    fn config(&self) -> announce_listen::Config {
        self.config
    }

    fn member(&self, _: Boot<AnnounceListen>) -> AnnounceListen {
        AnnounceListen::new()
    }

    fn churn(&self) -> Churn {
        self.churn
    }

    fn observer(&self, priorities: &[Priority], course: Course) -> Onlooker {
        let expected = Expected::Member(self.members - 1);
        Onlooker::new(priorities, expected, Close::Heard, course)
    }

    fn metrics(&self, course: Course) -> Vec<Metric<Story>> {
        onlooker::metrics::<AnnounceListen>(Close::Heard, course)
    }
}
