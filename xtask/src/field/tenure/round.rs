//! One round: faults begin and end when they should, then the group is left alone until somebody holds tenure again.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::TTL_MS;
use super::check::Pause;
use super::disks;
use super::scene::{Calendar, Scene};
use super::schedule::{Fault, Kind, Round, Whom};
use super::stall;
use crate::Result;
use crate::field::ground::MEMBERS;
use crate::field::measure::{milliseconds, now_ns};

/// A group in which all are well has a holder by then.
pub(super) const HOLDER_WITHIN: Duration = Duration::from_secs(5);

/// How a round went.
#[derive(Debug, Clone, Default)]
pub(super) struct Course {
    pub(super) kinds: Vec<Kind>,
    pub(super) began_ns: u64,
    /// All are well from here on.
    pub(super) healed_ns: u64,
    /// Somebody holds.
    pub(super) ended_ns: u64,
    pub(super) pauses: Vec<Pause>,
}

/// A fault that goes on.
struct Underway {
    fault: Fault,
    member: usize,
    /// The process that was stopped, and when.
    stopped: Option<(u32, u64)>,
    /// What a voter had promised when its disk was full.
    promised: Vec<u8>,
}

pub(super) fn carry_out(scene: &mut Scene<'_>, round: &Round) -> Result<Course> {
    let mut course = Course {
        kinds: round.iter().map(|it| it.kind).collect(),
        began_ns: now_ns(),
        ..Course::default()
    };
    let began = Instant::now();
    let mut underway: Vec<Option<Underway>> = round.iter().map(|_| None).collect();
    for (at_ms, index, begins) in times(round) {
        let at = Duration::from_millis(at_ms);
        thread::sleep(at.saturating_sub(began.elapsed()));
        match (begins, underway[index].take()) {
            (true, _) => underway[index] = Some(Underway::begin(round[index], scene)?),
            (false, Some(it)) => {
                course.pauses.extend(it.end(scene)?);
                underway[index] = Some(it);
            }
            (false, None) => {}
        }
    }
    for it in underway.iter().flatten() {
        course.pauses.extend(it.mend(scene)?);
    }
    scene.start_all()?;
    course.healed_ns = now_ns();
    let held = scene.held_after(course.healed_ns, HOLDER_WITHIN);
    scene.require_all_up()?;
    course.ended_ns = held.ok_or_else(|| {
        format!(
            "all have been well for {HOLDER_WITHIN:?}, and nobody holds tenure, after {round:?}"
        )
    })?;
    Ok(course)
}

/// When each fault begins and ends, in order.
fn times(round: &Round) -> Vec<(u64, usize, bool)> {
    let both = |(index, fault): (usize, &Fault)| {
        [
            (fault.begins_ms, index, true),
            (fault.ends_ms, index, false),
        ]
    };
    let mut times: Vec<_> = round.iter().enumerate().flat_map(both).collect();
    times.sort_by_key(|&(at, index, begins)| (at, index, !begins));
    times
}

impl Underway {
    fn begin(fault: Fault, scene: &mut Scene<'_>) -> Result<Self> {
        let whom = match fault.whom {
            Whom::Member(member) => member,
            Whom::Holder => scene.holder().map_or(0, |(member, _)| member),
        };
        let member = match fault.kind {
            Kind::DiskFull { .. } | Kind::DiskRefuses { .. } | Kind::StateLost => {
                whom % scene.voters()
            }
            Kind::Clock { .. } => scene.unpunctual(),
            Kind::Stalled { .. } => scene.holder().map_or(0, |(member, _)| member),
            _ => whom,
        };
        let mut it = Self {
            fault,
            member,
            stopped: None,
            promised: Vec::new(),
        };
        let others: Vec<usize> = (0..MEMBERS).filter(|&it| it != member).collect();
        match fault.kind {
            Kind::Killed => scene.kill(member)?,
            Kind::Stopped => it.stopped = scene.signal(member, Signal::STOP)?,
            Kind::Restarted => _ = scene.signal(member, Signal::TERM)?,
            Kind::Partition { others: count } => {
                let (mine, theirs) = others.split_at(count);
                scene.hosts.cut(&[&[member], mine].concat(), theirs)?;
            }
            Kind::OneWay { is_deaf: true } => scene.hosts.block(member, &others)?,
            Kind::OneWay { is_deaf: false } => {
                for other in others {
                    scene.hosts.block(other, &[member])?;
                }
            }
            Kind::Loss { percent } => {
                for host in 0..MEMBERS {
                    scene.hosts.lose(host, percent)?;
                }
            }
            Kind::DiskFull { restarts } => {
                scene.fill(member)?;
                it.promised = scene.promised(member)?;
                it.restart(scene, restarts)?;
            }
            Kind::DiskRefuses { .. } if !scene.disks_can_refuse() => {} // that was said
            Kind::DiskRefuses { restarts } => {
                // A process that has said so once may not say it again: another one has not.
                it.restart(scene, scene.has_logged(member, disks::tells_of_refusal)?)?;
                scene.refuse_writes(member)?;
                it.restart(scene, restarts)?;
            }
            Kind::StateLost => {
                scene.kill(member)?;
                scene.forget(member)?;
                scene.start(member)?;
            }
            Kind::Clock { forward, restarts } => {
                scene.set_calendar(match forward {
                    true => Calendar::SetForward,
                    false => Calendar::SetBack,
                })?;
                it.restart(scene, restarts)?;
            }
            Kind::Stalled { ms } => it.stall(scene, Duration::from_millis(ms))?,
        }
        Ok(it)
    }

    fn restart(&self, scene: &mut Scene<'_>, restarts: bool) -> Result<()> {
        if restarts {
            scene.kill(self.member)?;
            scene.start(self.member)?;
        }
        Ok(())
    }

    /// Ends it. Returns the pause of a member that had stood still for longer than its tenure lasts.
    fn end(&self, scene: &mut Scene<'_>) -> Result<Option<Pause>> {
        let member = self.member;
        match self.fault.kind {
            Kind::Killed => scene.start(member)?,
            Kind::Stopped => return go_on(scene, member, self.stopped),
            Kind::Restarted => {
                scene.see_out(member)?;
                scene.start(member)?;
            }
            Kind::Partition { .. }
            | Kind::OneWay { .. }
            | Kind::Loss { .. }
            | Kind::Stalled { .. } => {
                scene.hosts.heal()?;
            }
            // They are mended when all else is well.
            Kind::DiskFull { .. } | Kind::DiskRefuses { .. } | Kind::StateLost => {}
            Kind::Clock { restarts, .. } => {
                if restarts {
                    require_wrong_date(scene, member)?;
                }
                scene.set_calendar(Calendar::Right)?;
            }
        }
        Ok(None)
    }

    /// What takes a group that is well otherwise. Returns the pauses of members that were made to stand still for it.
    fn mend(&self, scene: &mut Scene<'_>) -> Result<Vec<Pause>> {
        match self.fault.kind {
            Kind::StateLost => self.initialise(scene).map(|()| Vec::new()),
            Kind::DiskFull { .. } => disks::mend_full(scene, self.member, &self.promised),
            Kind::DiskRefuses { .. } if !scene.disks_can_refuse() => Ok(Vec::new()),
            Kind::DiskRefuses { .. } => disks::mend_refusing(scene, self.member),
            Kind::Killed
            | Kind::Stopped
            | Kind::Restarted
            | Kind::Partition { .. }
            | Kind::OneWay { .. }
            | Kind::Loss { .. }
            | Kind::Clock { .. }
            | Kind::Stalled { .. } => Ok(Vec::new()),
        }
    }

    /// All voters but the holder stand still as soon as they have heard something, and nobody hears the holder announce
    /// itself, so that somebody will stand against it. It asks for more meanwhile. When they go on they grant that, and
    /// then hear no more of it.
    fn stall(&self, scene: &Scene<'_>, lasts: Duration) -> Result<()> {
        let holder = self.member;
        let voters: Vec<usize> = (0..scene.voters()).filter(|&it| it != holder).collect();
        let stalls = stall::begin(scene, &voters)?;
        let began = Instant::now();
        scene.hosts.silence(holder)?;
        thread::sleep(lasts.saturating_sub(began.elapsed()));
        drop(stalls);
        scene.hosts.isolate(holder)?;
        Ok(())
    }

    fn initialise(&self, scene: &mut Scene<'_>) -> Result<()> {
        let member = self.member;
        scene.start(member)?;
        scene.require_logged(member, "that it does not vote", disks::tells_of_no_vote)?;
        scene.signal(member, Signal::TERM)?;
        scene.see_out(member)?;
        scene.replace(member)?;
        scene.start(member)
    }
}

/// A member that was stopped goes on. Returns its pause, if it was longer than tenure lasts.
pub(super) fn go_on(
    scene: &Scene<'_>,
    member: usize,
    stopped: Option<(u32, u64)>,
) -> Result<Option<Pause>> {
    let continued = scene.signal(member, Signal::CONT)?;
    // It may have been killed meanwhile, and be another one.
    let (Some((process, stopped_ns)), Some((same, continued_ns))) = (stopped, continued) else {
        return Ok(None);
    };
    let outlived = milliseconds(stopped_ns, continued_ns) > TTL_MS as f64;
    Ok((process == same && outlived).then_some(Pause {
        process,
        stopped_ns,
        continued_ns,
    }))
}

/// What a member has logged shows that its calendar was set.
fn require_wrong_date(scene: &Scene<'_>, member: usize) -> Result<()> {
    let output = Command::new("date").args(["-u", "+%F"]).output()?;
    let today = String::from_utf8(output.stdout)?;
    scene.require_logged(member, "another date", |line| {
        line.contains("is up") && !line.starts_with(today.trim())
    })
}
