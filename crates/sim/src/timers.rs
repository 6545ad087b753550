//! Running timers, with lazy deadlines: re-arming is a store, not a queue operation.
//!
//! Each timer has a deadline and at most one valid entry in the queue, at or before the deadline.
//! When the entry comes up early, because the timer was re-armed meanwhile, it is queued again; so
//! a listener that re-arms at every message costs one queue operation per interval, not per message.

use hustings_protocol::Instant;

use crate::wheel::{Due, Wheel};

const NEVER: u64 = u64::MAX;

/// The timers of all members.
#[derive(Debug)]
pub(crate) struct Timers {
    /// By kind, then by member; nothing for kinds that were never armed.
    slots: Vec<Vec<Slot>>,
    members: usize,
    queue: Wheel<u32>,
    /// How many timers run. The queue may hold entries of timers that were stopped: without a
    /// running timer nothing is due.
    running: usize,
}

/// Which timer of whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Which {
    pub(crate) member: u32,
    /// The timer's place among all that the protocol has.
    pub(crate) kind: usize,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    /// When it runs out; [`NEVER`] if it is not running.
    deadline: u64,
    /// When its valid entry in the queue comes up; [`NEVER`] if it has none.
    queued: u64,
}

impl Timers {
    /// For `members` with `kinds` timers each.
    pub(crate) fn new(members: usize, kinds: usize) -> Self {
        Self {
            slots: vec![Vec::new(); kinds],
            members,
            queue: Wheel::new(),
            running: 0,
        }
    }

    /// Starts a timer, or starts it anew.
    #[inline(always)]
    pub(crate) fn arm(&mut self, which: Which, now: Instant, at: Instant) {
        match self.slots[which.kind].get_mut(which.member as usize) {
            Some(timer) if timer.queued <= at.0 => {
                self.running += usize::from(timer.deadline == NEVER);
                timer.deadline = at.0;
            }
            Some(_) | None => self.enqueue(which, now, at),
        }
    }

    #[inline(never)]
    fn enqueue(&mut self, which: Which, now: Instant, at: Instant) {
        let slots = &mut self.slots[which.kind];
        if slots.is_empty() {
            let idle = Slot {
                deadline: NEVER,
                queued: NEVER,
            };
            *slots = vec![idle; self.members];
        }
        let slot = &mut slots[which.member as usize];
        self.running += usize::from(slot.deadline == NEVER);
        *slot = Slot {
            deadline: at.0,
            queued: at.0,
        };
        let entry = which.kind * self.members + which.member as usize;
        self.queue.push(now, at, entry as u32);
    }

    /// Stops a timer.
    #[inline]
    pub(crate) fn disarm(&mut self, which: Which) {
        if let Some(timer) = self.slots[which.kind].get_mut(which.member as usize) {
            self.running -= usize::from(timer.deadline != NEVER);
            timer.deadline = NEVER;
        }
    }

    /// When a timer runs out, if it is running.
    pub(crate) fn deadline(&self, which: Which) -> Option<Instant> {
        let deadline = self.slots[which.kind].get(which.member as usize)?.deadline;
        (deadline != NEVER).then_some(Instant(deadline))
    }

    #[inline]
    pub(crate) fn due(&self) -> Due {
        if self.running == 0 {
            Due::Never
        } else {
            self.queue.due()
        }
    }

    pub(crate) fn open(&mut self) {
        self.queue.open();
    }

    /// Takes entries that are due up to `horizon` until one is of a timer that has run out; returns
    /// when, and which.
    pub(crate) fn expire(&mut self, horizon: Instant) -> Option<(Instant, Which)> {
        while let Due::At(at) = self.queue.due()
            && at <= horizon
        {
            let (_, entry) = self.queue.pop()?;
            let which = Which {
                member: (entry as usize % self.members) as u32,
                kind: entry as usize / self.members,
            };
            let timer = &mut self.slots[which.kind][which.member as usize];
            if timer.queued != at.0 {
                // An earlier entry replaced this one when the timer was shortened.
                continue;
            }
            timer.queued = NEVER;
            if timer.deadline == at.0 {
                timer.deadline = NEVER;
                self.running -= 1;
                return Some((at, which));
            }
            if timer.deadline != NEVER {
                timer.queued = timer.deadline;
                self.queue.push(at, Instant(timer.deadline), entry);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Timers, Which};
    use crate::wheel::Due;
    use hustings_protocol::Instant;

    fn of(member: u32) -> Which {
        Which { member, kind: 1 }
    }

    /// Runs the queue dry and returns what ran out, and when.
    fn drain(timers: &mut Timers) -> Vec<(u64, u32)> {
        let mut fired = Vec::new();
        loop {
            match timers.due() {
                Due::Never => return fired,
                Due::NotBefore(_) => timers.open(),
                Due::At(_) => {
                    let end = Instant(u64::MAX);
                    fired.extend(timers.expire(end).map(|(at, which)| (at.0, which.member)));
                }
            }
        }
    }

    #[test]
    fn a_timer_runs_out_once_at_its_last_deadline() {
        let now = Instant(0);
        let mut timers = Timers::new(4, 2);
        timers.arm(of(0), now, Instant(50)); // left alone
        timers.arm(of(1), now, Instant(10)); // prolonged
        timers.arm(of(1), now, Instant(70));
        timers.arm(of(2), now, Instant(90)); // shortened
        timers.arm(of(2), now, Instant(20));
        timers.arm(of(3), now, Instant(30)); // stopped
        timers.disarm(of(3));
        assert_eq!(drain(&mut timers), [(20, 2), (50, 0), (70, 1)]);
    }

    #[test]
    fn nothing_is_due_when_every_timer_was_stopped() {
        let mut timers = Timers::new(2, 2);
        timers.arm(of(0), Instant(0), Instant(10));
        timers.arm(of(1), Instant(0), Instant(20));
        timers.disarm(of(0));
        timers.disarm(of(0));
        assert_ne!(timers.due(), Due::Never);
        timers.disarm(of(1));
        assert_eq!(timers.due(), Due::Never);
        timers.arm(of(1), Instant(50), Instant(60));
        assert_eq!(drain(&mut timers), [(60, 1)]);
    }

    #[test]
    fn a_stopped_timer_can_be_armed_again_before_its_old_entry_comes_up() {
        let mut timers = Timers::new(1, 2);
        timers.arm(of(0), Instant(0), Instant(10));
        timers.disarm(of(0));
        timers.arm(of(0), Instant(5), Instant(10));
        assert_eq!(drain(&mut timers), [(10, 0)]);
    }
}
