//! One round: faults begin and end at their times, then the group runs without faults until a
//! member holds tenure again.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use hustings_testkit::run;
use rustix::process::Signal;

use super::TTL_MS;
use super::check::Pause;
use super::disks;
use super::schedule::{FaultKind, Round, ScheduledFault, Target};
use super::stall;
use super::writers::{BACK, FORWARD, RIGHT, Writers};
use crate::Result;
use crate::measure::{milliseconds, now_ns};
use crate::testbed::MEMBERS;

/// The time within which a group without faults must have a holder.
pub(super) const HOLDER_WITHIN: Duration = Duration::from_secs(5);

/// The record of a round.
#[derive(Debug, Clone, Default)]
pub(super) struct RoundRecord {
    pub(super) kinds: Vec<FaultKind>,
    pub(super) began_ns: u64,
    /// The time from which no fault is active.
    pub(super) healed_ns: u64,
    /// The time at which a member held tenure again.
    pub(super) ended_ns: u64,
    pub(super) pauses: Vec<Pause>,
}

/// A fault that is in progress.
struct ActiveFault {
    fault: ScheduledFault,
    member: usize,
    /// The process that was stopped, and when.
    stopped: Option<(u32, u64)>,
    /// The content of a voter's file when its disk became full.
    promised: Vec<u8>,
}

pub(super) fn carry_out(writers: &mut Writers<'_>, round: &Round) -> Result<RoundRecord> {
    let mut record = RoundRecord {
        kinds: round.iter().map(|it| it.kind).collect(),
        began_ns: now_ns(),
        ..RoundRecord::default()
    };
    let began = Instant::now();
    let mut active: Vec<Option<ActiveFault>> = round.iter().map(|_| None).collect();
    for (at_ms, index, begins) in times(round) {
        let at = Duration::from_millis(at_ms);
        thread::sleep(at.saturating_sub(began.elapsed()));
        match (begins, active[index].take()) {
            (true, _) => active[index] = Some(ActiveFault::begin(round[index], writers)?),
            (false, Some(it)) => {
                record.pauses.extend(it.end(writers)?);
                active[index] = Some(it);
            }
            (false, None) => {}
        }
    }
    for it in active.iter().flatten() {
        record.pauses.extend(it.mend(writers)?);
    }
    writers.start_all()?;
    record.healed_ns = now_ns();
    let held = writers.held_after(record.healed_ns, HOLDER_WITHIN);
    writers.require_all_up()?;
    let well = format!("all have been well for {HOLDER_WITHIN:?}");
    let held = held.ok_or_else(|| format!("{well}, and no member holds tenure, after {round:?}"));
    record.ended_ns = held?.1;
    Ok(record)
}

/// Returns the times at which the faults begin and end, in order.
fn times(round: &Round) -> Vec<(u64, usize, bool)> {
    let both = |(index, fault): (usize, &ScheduledFault)| {
        [(fault.begins_ms, index, true), (fault.ends_ms, index, false)]
    };
    let mut times: Vec<_> = round.iter().enumerate().flat_map(both).collect();
    times.sort_by_key(|&(at, index, begins)| (at, index, !begins));
    times
}

impl ActiveFault {
    fn begin(fault: ScheduledFault, writers: &mut Writers<'_>) -> Result<Self> {
        let holder = || writers.holder().map_or(0, |(member, _)| member);
        let target = match fault.target {
            Target::Member(member) => member,
            Target::Holder => holder(),
        };
        let member = match fault.kind {
            FaultKind::DiskFull { .. } | FaultKind::DiskRefuses { .. } | FaultKind::StateLost => {
                target % writers.voters
            }
            FaultKind::Clock { .. } => writers.calendar_member,
            FaultKind::Stalled { .. } => holder(),
            _ => target,
        };
        let mut it = Self { fault, member, stopped: None, promised: Vec::new() };
        let others: Vec<usize> = (0..MEMBERS).filter(|&it| it != member).collect();
        match fault.kind {
            FaultKind::Killed => writers.kill(member),
            FaultKind::Stopped => it.stopped = writers.signal(member, Signal::STOP)?,
            FaultKind::Restarted => _ = writers.signal(member, Signal::TERM)?,
            FaultKind::Partition { others: count } => {
                let (mine, theirs) = others.split_at(count);
                writers.hosts.cut(&[&[member], mine].concat(), theirs)?;
            }
            FaultKind::OneWay { is_deaf: true } => writers.hosts.block(member, &others)?,
            FaultKind::OneWay { is_deaf: false } => {
                for other in others {
                    writers.hosts.block(other, &[member])?;
                }
            }
            FaultKind::Loss { percent } => writers.hosts.lose(0..MEMBERS, percent)?,
            FaultKind::DiskFull { restarts } => {
                writers.fill(member)?;
                it.promised = writers.promised(member)?;
                it.restart(writers, restarts)?;
            }
            FaultKind::DiskRefuses { .. } if !writers.state_dir.disks_can_refuse => {} // reported when the disks were mounted
            FaultKind::DiskRefuses { restarts } => {
                // A process reports a refusal once. Only a new process is certain to report it
                // again.
                it.restart(writers, writers.has_logged(member, disks::logs_refusal)?)?;
                writers.refuse_writes(member)?;
                it.restart(writers, restarts)?;
            }
            FaultKind::StateLost => {
                writers.kill(member);
                writers.forget(member)?;
                writers.start(member)?;
            }
            FaultKind::Clock { forward, restarts } => {
                writers.set_calendar(if forward { FORWARD } else { BACK })?;
                it.restart(writers, restarts)?;
            }
            FaultKind::Stalled { ms } => it.stall(writers, Duration::from_millis(ms))?,
        }
        Ok(it)
    }

    fn restart(&self, writers: &mut Writers<'_>, restarts: bool) -> Result<()> {
        if restarts {
            writers.kill(self.member);
            writers.start(self.member)?;
        }
        Ok(())
    }

    /// Ends the fault. Returns the pause of a member that was stopped for longer than the ttl.
    fn end(&self, writers: &mut Writers<'_>) -> Result<Option<Pause>> {
        let member = self.member;
        match self.fault.kind {
            FaultKind::Killed => writers.start(member)?,
            FaultKind::Stopped => return go_on(writers, member, self.stopped),
            FaultKind::Restarted => {
                writers.see_out(member)?;
                writers.start(member)?;
            }
            FaultKind::Partition { .. }
            | FaultKind::OneWay { .. }
            | FaultKind::Loss { .. }
            | FaultKind::Stalled { .. } => _ = writers.hosts.heal()?,
            // These faults are repaired when all others have ended.
            FaultKind::DiskFull { .. } | FaultKind::DiskRefuses { .. } | FaultKind::StateLost => {}
            FaultKind::Clock { restarts, .. } => {
                if restarts {
                    require_wrong_date(writers, member)?;
                }
                writers.set_calendar(RIGHT)?;
            }
        }
        Ok(None)
    }

    /// Repairs the faults that need a group without other faults. Returns the pauses of members
    /// that were stopped for the repair.
    fn mend(&self, writers: &mut Writers<'_>) -> Result<Vec<Pause>> {
        match self.fault.kind {
            FaultKind::StateLost => self.initialise(writers).map(|()| Vec::new()),
            FaultKind::DiskFull { .. } => disks::mend_full(writers, self.member, &self.promised),
            FaultKind::DiskRefuses { .. } if writers.state_dir.disks_can_refuse => {
                disks::mend_refusing(writers, self.member)
            }
            _ => Ok(Vec::new()), // they need no repair
        }
    }

    /// Stops all voters except the holder as soon as they have received a datagram, and drops the
    /// holder's multicasts, so that another member stands for election. Meanwhile the holder asks
    /// for a renewal. When the voters continue they grant it, and then receive nothing more from
    /// the holder.
    fn stall(&self, writers: &Writers<'_>, lasts: Duration) -> Result<()> {
        let holder = self.member;
        let voters: Vec<usize> = (0..writers.voters).filter(|&it| it != holder).collect();
        let stalls = stall::begin(writers, &voters)?;
        let began = Instant::now();
        writers.hosts.silence(holder)?;
        thread::sleep(lasts.saturating_sub(began.elapsed()));
        drop(stalls);
        writers.hosts.isolate(holder)?;
        Ok(())
    }

    fn initialise(&self, writers: &mut Writers<'_>) -> Result<()> {
        let member = self.member;
        writers.start(member)?;
        writers.require_logged(member, "that it does not vote", disks::logs_no_vote)?;
        writers.signal(member, Signal::TERM)?;
        writers.see_out(member)?;
        writers.replace(member)?;
        writers.start(member)
    }
}

/// Continues a member that was stopped. Returns its pause, if that was longer than the ttl.
pub(super) fn go_on(
    writers: &Writers<'_>,
    member: usize,
    stopped: Option<(u32, u64)>,
) -> Result<Option<Pause>> {
    let continued = writers.signal(member, Signal::CONT)?;
    // The process may have been killed meanwhile, and replaced by another.
    let (Some((process, stopped_ns)), Some((same, continued_ns))) = (stopped, continued) else {
        return Ok(None);
    };
    let outlasted_ttl = milliseconds(stopped_ns, continued_ns) > TTL_MS as f64;
    Ok((process == same && outlasted_ttl).then_some(Pause { process, stopped_ns, continued_ns }))
}

/// Fails unless the member's log shows that its calendar was set.
fn require_wrong_date(writers: &Writers<'_>, member: usize) -> Result<()> {
    let today = run(Command::new("date").args(["-u", "+%F"]))?;
    writers.require_logged(member, "another date", |line| {
        line.contains("is up") && !line.starts_with(today.trim())
    })
}
