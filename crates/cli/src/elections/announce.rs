//! The announce family: LE-A, LE-S and LE-M, and the baselines SUP and AL.

mod baselines;
mod churn;
mod options;
mod paper;

use clap::Args;
use hustings_protocol::Duration;
use hustings_sim::elections::{Announcing, PriorityKind, Schedule};

use super::{ClosedForm, Described};
use crate::failure::Failure;
use crate::options::{Conditions, ConditionsExt};
use crate::report::Parameters;
pub(crate) use baselines::{AnnounceListenOptions, SuppressionOptions};
use options::{Options, Settled};

/// The limit for announcements under way at once.
const MOST_UNDER_WAY: f64 = 1e8;
/// The limit for copies of multicasts that are stored. More would take over five gigabytes.
const MOST_COPIES: f64 = 1e8;

/// The options of `announce`.
#[derive(Debug, Args)]
pub(crate) struct LeAOptions {
    #[command(flatten)]
    options: Options,
}

/// The options of `suppress`.
#[derive(Debug, Args)]
pub(crate) struct LeSOptions {
    #[command(flatten)]
    options: Options,
}

/// The options of `earliest`.
#[derive(Debug, Args)]
pub(crate) struct LeMOptions {
    #[command(flatten)]
    options: Options,
}

impl LeAOptions {
    pub(super) fn settle(&self, conditions: &Conditions) -> Result<Announced, Failure> {
        let at_once = Some(Duration::ZERO);
        Announced::new("announce", &self.options, at_once, PriorityKind::Id, conditions)
    }
}

impl LeSOptions {
    pub(super) fn settle(&self, conditions: &Conditions) -> Result<Announced, Failure> {
        Announced::new("suppress", &self.options, None, PriorityKind::Id, conditions)
    }
}

impl LeMOptions {
    pub(super) fn settle(&self, conditions: &Conditions) -> Result<Announced, Failure> {
        match self.options.priority {
            None | Some(PriorityKind::Wake) => {
                Announced::new("earliest", &self.options, None, PriorityKind::Wake, conditions)
            }
            Some(PriorityKind::Id | PriorityKind::Priority) => Err(Failure::Usage(
                "earliest is the election by --merit wake: for another merit choose suppress"
                    .to_owned(),
            )),
        }
    }
}

/// An election by LE-A, LE-S or LE-M with all options settled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Announced {
    name: &'static str,
    settled: Settled,
}

impl Announced {
    fn new(
        name: &'static str,
        options: &Options,
        suppress: Option<Duration>,
        usual_priority: PriorityKind,
        conditions: &Conditions,
    ) -> Result<Self, Failure> {
        conditions.require_multicast_alone(name)?;
        let priority = options.priority.unwrap_or(usual_priority);
        let settled = options.settle(suppress, priority, conditions)?;
        Ok(Self { name, settled })
    }
}

impl Described for Announced {
    type Election = Announcing;

    fn election(&self) -> Announcing {
        self.settled.election
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn parameters(&self) -> Parameters {
        self.settled.parameters()
    }

    fn sentence(&self) -> String {
        self.settled.sentence()
    }

    fn closed_form(&self, conditions: &Conditions) -> Result<ClosedForm, Failure> {
        paper::election(&self.settled, conditions)
    }
}

/// Builds the schedule of an election by announcement.
///
/// # Errors
/// If more messages would be under way at once than memory has room for.
fn schedule(
    members: u32,
    suppress: Duration,
    announce: Duration,
    conditions: &Conditions,
) -> Result<Schedule, Failure> {
    let delay = conditions.mean_delay().as_secs_f64();
    let under_way = f64::from(members) * (delay / announce.as_secs_f64());
    if under_way > MOST_UNDER_WAY {
        let enough = Duration::from_secs_f64(f64::from(members) * delay / MOST_UNDER_WAY);
        return Err(Failure::Usage(format!(
            "--announce-interval {announce} would have {under_way:.0} announcements under way at once: choose {enough} or more"
        )));
    }
    require_room(members, suppress, conditions)?;
    Ok(Schedule::new(members, suppress, announce, conditions))
}

/// Checks that memory has room for all messages under way before the members that wake up within
/// `suppress` have heard the first. Only delays that differ between receivers need this: then each
/// copy is stored by itself.
fn require_room(members: u32, suppress: Duration, conditions: &Conditions) -> Result<(), Failure> {
    if !conditions.copies_part() {
        return Ok(());
    }
    let delay = conditions.mean_delay().as_secs_f64();
    let share = match suppress {
        Duration::ZERO => 1.0,
        suppress => (delay / suppress.as_secs_f64()).min(1.0),
    };
    let copies = f64::from(members).powi(2) * share;
    if copies <= MOST_COPIES {
        return Ok(());
    }
    let few_enough = (MOST_COPIES / share).sqrt();
    Err(Failure::Usage(format!(
        "where messages take each its own time --members {members} may have {copies:.0} copies under way at once, more than memory has room for: choose {few_enough:.0} or fewer, or a constant --delay without --reorder"
    )))
}
