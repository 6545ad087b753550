//! The announce family: LE-A, LE-S and LE-M, and the baselines SUP and AL.

mod baselines;
mod chapter;
mod churn;
mod options;

use hustings_protocol::Duration;
use hustings_sim::elections::Schedule;

use crate::failure::Failure;
use crate::options::Setup;
pub(crate) use baselines::{AnnounceListenOptions, SuppressionOptions};
pub(crate) use options::AnnounceOptions;

/// The limit for announcements under way at once.
const MOST_UNDER_WAY: f64 = 1e8;
/// The limit for copies of multicasts that are stored. More would take over five gigabytes.
const MOST_COPIES: f64 = 1e8;

/// Builds the schedule of an election by announcement.
///
/// # Errors
/// If more messages would be under way at once than memory has room for.
fn schedule(
    members: u32,
    suppress: Duration,
    announce: Duration,
    setup: &Setup,
) -> Result<Schedule, Failure> {
    let delay = setup.conditions.mean_delay().as_secs_f64();
    let under_way = f64::from(members) * (delay / announce.as_secs_f64());
    if under_way > MOST_UNDER_WAY {
        let enough = Duration::from_secs_f64(f64::from(members) * delay / MOST_UNDER_WAY);
        return Err(Failure::Usage(format!(
            "--announce-interval {announce} would have {under_way:.0} announcements under way at once: choose {enough} or more"
        )));
    }
    require_room(members, suppress, setup)?;
    Ok(Schedule::new(members, suppress, announce, &setup.conditions))
}

/// Checks that memory has room for all messages under way before the members that wake up within
/// `suppress` have heard the first. Only delays that differ between receivers need this: then each
/// copy is stored by itself.
fn require_room(members: u32, suppress: Duration, setup: &Setup) -> Result<(), Failure> {
    if !setup.conditions.copies_part() {
        return Ok(());
    }
    let delay = setup.conditions.mean_delay().as_secs_f64();
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
        "with delays that vary, --members {members} may have {copies:.0} copies under way at \
         once, more than fit in memory: choose {few_enough:.0} or fewer, or a constant --delay \
         without --reorder"
    )))
}
