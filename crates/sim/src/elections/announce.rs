//! The announce family: LE-A, LE-S and LE-M, and the baselines SUP and AL.

mod baselines;
mod onlooker;

use hustings_protocol::announce::{Announce, Config, Criterion};
use hustings_protocol::{Candidate, Duration, Instant, Priority};

use super::{Election, Extent};
use crate::convergence::Expected;
use crate::measure::Metric;
use crate::trial::{Churn, Course};
use crate::{Boot, Conditions, Scenario, Seeds, Stream, Verb, Who, announcing};
pub use baselines::{AnnounceListening, Suppressing};
use onlooker::Close;
pub use onlooker::{Onlooker, Story};

/// The highest random priority. The lowest is 0.
pub const BEST_PRIORITY: u64 = 255;
/// The least number of announce intervals that a run with churn lasts.
const INTERVALS_OF_CHURN: u64 = 60;
/// The number of departures of the rarest kind that a run should include.
const GOINGS_TO_SEE: u64 = 10;

/// The criterion by which one member is better than another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriorityKind {
    /// The greater id. Members are numbered from 0, and the last is the best.
    Id,
    /// The earlier wake-up: LE-M.
    Wake,
    /// The greater priority, from 0 to [`BEST_PRIORITY`], drawn for each run. Among equals the
    /// lower id wins.
    Priority,
}

/// An election by LE-A, LE-S or LE-M.
#[derive(Debug, Clone, Copy)]
pub struct Announcing {
    /// The number of members of the group.
    pub members: u32,
    /// The criterion by which members are compared.
    pub priority: PriorityKind,
    /// The configuration of the members.
    pub config: Config,
    /// The random departures and arrivals of members.
    pub churn: Churn,
    /// The time scales of the election.
    pub schedule: Schedule,
}

impl Election for Announcing {
    type Protocol = Announce;
    type Observer = Onlooker;

    fn extent(&self) -> Extent {
        self.schedule.extent(self.members, self.churn)
    }

    fn layout(&self, seeds: Seeds) -> (Vec<Priority>, Scenario) {
        let priorities = match self.priority {
            PriorityKind::Id | PriorityKind::Wake => announcing::priorities(self.members),
            PriorityKind::Priority => priorities(self.members, seeds),
        };
        (priorities, all_start())
    }

    fn config(&self) -> Config {
        self.config
    }

    fn member(&self, boot: Boot<Announce>) -> Announce {
        Announce::new(boot.saved)
    }

    fn churn(&self) -> Churn {
        self.churn
    }

    fn observer(&self, priorities: &[Priority], course: Course) -> Onlooker {
        let expected = match self.config.criterion {
            Criterion::Priority => Expected::Member(best(priorities)),
            Criterion::EarliestWake => Expected::FirstAnnouncer,
        };
        Onlooker::new(self.members, expected, Close::Heard, course)
    }

    fn metrics(&self, course: Course) -> Vec<Metric<Story>> {
        onlooker::metrics::<Announce>(Close::Heard, course)
    }
}

/// The time scales of an election by announcement.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    announce: Duration,
    /// The time by which the election is over almost surely.
    over: Duration,
    flood: u64,
}

impl Schedule {
    /// Computes the time scales for `members` that wake up within `suppress` and announce
    /// themselves every `announce`.
    pub fn new(
        members: u32,
        suppress: Duration,
        announce: Duration,
        conditions: &Conditions,
    ) -> Self {
        let in_a_delay = conditions.mean_delay().as_secs_f64() / announce.as_secs_f64();
        let announcements = announcements_needed(members, conditions.network.multicast_loss);
        Self {
            announce,
            over: suppress + announce * announcements + conditions.delay_bound() * 10,
            // Within four delays every member may announce itself once and, after queries or
            // complaints, ten times more.
            flood: 100_000 + (f64::from(members) * (10.0 + 50.0 * in_a_delay)) as u64,
        }
    }

    fn extent(&self, members: u32, churn: Churn) -> Extent {
        let Self { announce, over, flood } = *self;
        let goings = churn.means().max().map(|mean| mean * GOINGS_TO_SEE);
        let long_enough = match goings {
            Some(goings) => over.max(goings).max(announce * INTERVALS_OF_CHURN),
            None => over,
        };
        Extent { members, round: announce, long_enough, pace: announce.mul_f64(0.25), flood }
    }
}

/// Returns the number of announcements after which, in all but one of a billion runs, every member
/// has received at least one. The result is bounded, because with total loss no number suffices.
fn announcements_needed(members: u32, loss: f64) -> u64 {
    const FEWEST: f64 = 10.0;
    const MOST: f64 = 100_000.0;
    if loss >= 1.0 {
        return FEWEST as u64;
    }
    let needed = (f64::from(members).ln() + 1e9_f64.ln()) / -loss.ln();
    needed.ceil().clamp(FEWEST, MOST) as u64
}

fn all_start() -> Scenario {
    let mut scenario = Scenario::default();
    scenario.push(Instant::START, Verb::Start(Who::All));
    scenario
}

/// Returns the best of members with these priorities.
fn best(priorities: &[Priority]) -> u32 {
    let candidates = (0..).zip(priorities).map(|(id, priority)| Candidate::new(id, priority.0));
    candidates.max().map_or(0, |best| best.id.0 as u32)
}

/// Draws random priorities. Several members mostly share one.
fn priorities(members: u32, seeds: Seeds) -> Vec<Priority> {
    let seed = seeds.number(Stream::Layout);
    (0..u64::from(members))
        .map(|member| Seeds::new(seed, member).number(Stream::Layout))
        .map(|number| Priority(number % (BEST_PRIORITY + 1)))
        .collect()
}
