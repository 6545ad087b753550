//! The baselines: suppression (SUP) and announce-listen (AL).

use hustings_protocol::Priority;
use hustings_protocol::announce_listen::{self, AnnounceListen};
use hustings_protocol::suppression::{self, Suppression};

use super::onlooker::{self, Close, Onlooker, Story};
use super::{Schedule, all_start};
use crate::convergence::Expected;
use crate::elections::{Election, Extent};
use crate::measure::Metric;
use crate::trial::{Churn, Course};
use crate::{Boot, Conditions, Scenario, Seeds, announcing};

/// An election by suppression (SUP).
#[derive(Debug, Clone, Copy)]
pub struct Suppressing {
    /// The number of members of the group.
    pub members: u32,
    /// The configuration of the members.
    pub config: suppression::Config,
    /// The conditions, which determine how long it takes.
    pub conditions: Conditions,
}

impl Suppressing {
    fn close(&self) -> Close {
        Close::Spoken { delay: self.conditions.mean_delay() }
    }
}

impl Election for Suppressing {
    type Protocol = Suppression;
    type Observer = Onlooker;

    fn extent(&self) -> Extent {
        let suppress = self.config.suppress;
        Extent {
            members: self.members,
            round: suppress + self.conditions.mean_delay(),
            long_enough: suppress + self.conditions.delay_bound() * 10,
            pace: suppress.mul_f64(0.25),
            flood: 100_000 + 10 * u64::from(self.members),
        }
    }

    fn layout(&self, _: Seeds) -> (Vec<Priority>, Scenario) {
        (announcing::priorities(self.members), all_start())
    }

    fn config(&self) -> suppression::Config {
        self.config
    }

    fn member(&self, _: Boot<Suppression>) -> Suppression {
        Suppression::default()
    }

    fn observer(&self, _: &[Priority], course: Course) -> Onlooker {
        Onlooker::new(self.members, Expected::FirstAnnouncer, self.close(), course)
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

    fn extent(&self) -> Extent {
        self.schedule.extent(self.members, self.churn)
    }

    fn layout(&self, _: Seeds) -> (Vec<Priority>, Scenario) {
        (announcing::priorities(self.members), all_start())
    }

    fn config(&self) -> announce_listen::Config {
        self.config
    }

    fn member(&self, _: Boot<AnnounceListen>) -> AnnounceListen {
        AnnounceListen::default()
    }

    fn churn(&self) -> Churn {
        self.churn
    }

    fn observer(&self, _: &[Priority], course: Course) -> Onlooker {
        let expected = Expected::Member(self.members - 1);
        Onlooker::new(self.members, expected, Close::Heard, course)
    }

    fn metrics(&self, course: Course) -> Vec<Metric<Story>> {
        onlooker::metrics::<AnnounceListen>(Close::Heard, course)
    }
}
