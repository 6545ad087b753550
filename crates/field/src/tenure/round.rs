//! One round: faults begin and end at their times, then the group runs without faults until a
//! member holds tenure again.
//!
//! Faults of a voter's disk must have an effect: a voter with a full disk still saves its promises,
//! and a voter whose disk refuses writes cannot. A voter writes only when it promises, and it
//! promises only to a new holder. While one member keeps tenure, no disk is written. Therefore
//! holders are deposed until the voter was asked, before the disk is repaired.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use hustings_testkit::{poll, run};
use rustix::process::Signal;

use super::TTL_MS;
use super::evidence::Pause;
use super::pause_between_receives;
use super::schedule::{FaultKind, Round, ScheduledFault, Target};
use super::writers::{BACK, FORWARD, RIGHT, Writers};
use crate::Result;
use crate::measure::{milliseconds, now_ns};
use crate::testbed::MEMBERS;

/// The time within which a group without faults must have a holder.
const HOLDER_WITHIN: Duration = Duration::from_secs(5);

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
        if begins {
            active[index] = Some(ActiveFault::begin(round[index], writers)?);
        } else if let Some(it) = &active[index] {
            record.pauses.extend(it.end(writers)?);
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
                writers.testbed.hosts.cut(&[&[member], mine].concat(), theirs)?;
            }
            FaultKind::OneWay { is_deaf: true } => writers.testbed.hosts.block(member, &others)?,
            FaultKind::OneWay { is_deaf: false } => {
                for other in others {
                    writers.testbed.hosts.block(other, &[member])?;
                }
            }
            FaultKind::Loss { percent } => writers.testbed.hosts.lose(0..MEMBERS, percent)?,
            FaultKind::DiskFull { restarts } => {
                writers.fill(member)?;
                it.promised = writers.promised(member)?;
                it.restart(writers, restarts)?;
            }
            FaultKind::DiskRefuses { .. } if !writers.state_dir.disks_can_refuse => {} // reported when the disks were mounted
            FaultKind::DiskRefuses { restarts } => {
                // A process reports a refusal once. Only a new process is certain to report it
                // again.
                it.restart(writers, writers.has_logged(member, logs_refusal)?)?;
                writers.refuse_writes(member, true)?;
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
            | FaultKind::Stalled { .. } => _ = writers.testbed.hosts.heal()?,
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
            FaultKind::DiskFull { .. } => mend_full(writers, self.member, &self.promised),
            FaultKind::DiskRefuses { .. } if writers.state_dir.disks_can_refuse => {
                mend_refusing(writers, self.member)
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
        let stalls = pause_between_receives::begin(writers, &voters)?;
        let began = Instant::now();
        writers.testbed.hosts.silence(holder)?;
        thread::sleep(lasts.saturating_sub(began.elapsed()));
        drop(stalls);
        writers.testbed.hosts.isolate(holder)?;
        Ok(())
    }

    fn initialise(&self, writers: &mut Writers<'_>) -> Result<()> {
        let member = self.member;
        writers.start(member)?;
        writers.require_logged(member, "that it does not vote", logs_no_vote)?;
        writers.signal(member, Signal::TERM)?;
        writers.see_out(member)?;
        writers.replace(member)?;
        writers.start(member)
    }
}

/// Continues a member that was stopped. Returns its pause, if that was longer than the ttl.
fn go_on(
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

/// One change of holders asks every voter, but a request may be lost.
const MOST_CHANGES: usize = 5;

/// A holder that is stopped for this long is replaced.
const PAUSE: Duration = Duration::from_millis(2 * TTL_MS);

/// The time within which a voter tries a disk again that refused a write.
const TRIED_AGAIN_WITHIN: Duration = Duration::from_secs(2);

/// True if a voter logs that its disk refuses writes, either when it should have promised or at
/// startup.
fn logs_refusal(line: &str) -> bool {
    let is_refused = line.contains("Operation not permitted");
    is_refused && (line.contains("cannot be written") || logs_no_vote(line))
}

/// True if a voter logs at startup that it will not vote.
fn logs_no_vote(line: &str) -> bool {
    line.contains("this voter does not vote")
}

/// Waits until the voter has promised more than when its disk became full, then frees space.
fn mend_full(writers: &mut Writers<'_>, voter: usize, promised: &[u8]) -> Result<Vec<Pause>> {
    let pauses =
        depose_until(writers, "a voter whose disk is full has saved nothing", |writers| {
            Ok(writers.promised(voter)? != promised)
        })?;
    writers.free(voter)?;
    Ok(pauses)
}

/// Waits until the voter reports the refusal and the others have a holder. Then lets the disk
/// accept writes and waits until the voter saves again.
fn mend_refusing(writers: &mut Writers<'_>, voter: usize) -> Result<Vec<Pause>> {
    let missing = "a voter whose disk refuses writes does not say so";
    let pauses = depose_until(writers, missing, |writers| writers.has_logged(voter, logs_refusal))?;
    require_holder(writers)?;
    let promised = writers.promised(voter)?;
    writers.refuse_writes(voter, false)?;
    if writers.has_logged(voter, logs_no_vote)? {
        // The voter checks its disk only once, at startup.
        writers.kill(voter);
        writers.start(voter)?;
    } else {
        let saved = poll(TRIED_AGAIN_WITHIN, || match writers.promised(voter) {
            Ok(now) if now == promised => None,
            read => Some(read),
        });
        saved.ok_or("a voter whose disk refuses no longer does not save again")??;
    }
    Ok(pauses)
}

/// Deposes one holder after the other until `shows` holds, which means that the voter was asked.
/// Returns the pauses of the holders.
fn depose_until(
    writers: &mut Writers<'_>,
    missing: &str,
    shows: impl Fn(&Writers<'_>) -> Result<bool>,
) -> Result<Vec<Pause>> {
    writers.start_all()?;
    let mut pauses = Vec::new();
    for _ in 0..MOST_CHANGES {
        if shows(writers)? {
            return Ok(pauses);
        }
        pauses.extend(depose(writers)?);
    }
    ensure!(shows(writers)?, "{missing}, though {MOST_CHANGES} holders were stopped");
    Ok(pauses)
}

fn depose(writers: &Writers<'_>) -> Result<Option<Pause>> {
    let holder = require_holder(writers)?;
    let stopped = writers.signal(holder, Signal::STOP)?;
    thread::sleep(PAUSE);
    let pause = go_on(writers, holder, stopped)?;
    require_holder(writers)?;
    Ok(pause)
}

/// Returns the member that holds tenure from now on.
fn require_holder(writers: &Writers<'_>) -> Result<usize> {
    let held = writers.held_after(now_ns(), HOLDER_WITHIN);
    Ok(held.ok_or("all but one voter's disk is well, and no member holds tenure")?.0)
}

#[cfg(test)]
mod tests {
    use super::{logs_no_vote, logs_refusal};

    #[test]
    fn disk_refusal_is_distinguished_from_a_lost_file() {
        let check = |line: &str, is_refusal: bool, is_no_vote: bool| {
            assert_eq!(logs_refusal(line), is_refusal, "{line}");
            assert_eq!(logs_no_vote(line), is_no_vote, "{line}");
        };
        check(
            "ERROR hustings_node::group::tenure: group `t`: /d/t.voter: cannot be written: Operation not permitted (os \
             error 1): check the disk and try again",
            true,
            false,
        );
        check(
            "ERROR hustings_agent::agent::lease_backends: group `t`: this voter does not vote: /d/t.voter: Operation not permitted \
             (os error 1): check the path, its permissions and the disk, and then start this agent again",
            true,
            true,
        );
        check(
            "ERROR hustings_agent::agent::lease_backends: group `t`: this voter does not vote: /d/t.voter: no such file: if \
             nothing was ever kept there create it, else find the disk that has it",
            false,
            true,
        );
        check(
            "INFO hustings_node::group::tenure: group `t`: no tenure yet: `h2` holds it",
            false,
            false,
        );
    }
}
