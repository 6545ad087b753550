//! Running timers, with lazy deadlines: re-arming is a store, not a queue operation.
//!
//! Each timer has a deadline and at most one valid entry in the queue, at or before the deadline.
//! When the entry comes up early, because the timer was re-armed meanwhile, it is queued again; so
//! a listener that re-arms at every message costs one queue operation per interval, not per message.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use hustings_protocol::Instant;

use crate::wheel::{Due, Wheel};

const NEVER: u64 = u64::MAX;

/// The timers of all members.
#[derive(Debug)]
pub(crate) struct Timers {
    kinds: Vec<Slots>,
    members: usize,
    queue: Wheel<Entry>,
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

/// A timer in the queue: one number, of which the queue needs no byte more to tell a place it has
/// emptied.
#[derive(Debug, Clone, Copy)]
struct Entry(NonZeroU32);

impl Entry {
    #[inline]
    fn new(which: Which, members: usize) -> Self {
        let number = which.kind * members + which.member as usize;
        Self(NonZeroU32::MIN.saturating_add(number as u32))
    }

    #[inline]
    fn which(self, members: usize) -> Which {
        let number = self.0.get() as usize - 1;
        Which {
            member: (number % members) as u32,
            kind: number / members,
        }
    }
}

/// The timers of one kind. Where few members ever arm it, as only leaders announce, a million slots
/// would be a waste.
#[derive(Debug, Clone, Default)]
struct Slots {
    /// By member; empty while few have armed it.
    all: Vec<Slot>,
    few: BTreeMap<u32, Slot>,
}

/// So many members are few, whatever share of all they are, and so is one in so many.
const FEW: usize = 64;
const ONE_IN: usize = 8;

impl Slots {
    #[inline]
    fn get(&self, member: u32) -> Option<&Slot> {
        match self.all.get(member as usize) {
            Some(slot) => Some(slot),
            None => self.few.get(&member),
        }
    }

    #[inline]
    fn get_mut(&mut self, member: u32) -> Option<&mut Slot> {
        if self.all.is_empty() {
            self.get_one_of_few(member)
        } else {
            self.all.get_mut(member as usize)
        }
    }

    // Apart, so that a step that stops a timer stays small.
    #[inline(never)]
    fn get_one_of_few(&mut self, member: u32) -> Option<&mut Slot> {
        self.few.get_mut(&member)
    }

    /// The slot of `member`, which may be new.
    fn obtain(&mut self, member: u32, members: usize) -> &mut Slot {
        if self.all.is_empty() && self.few.len() >= FEW.max(members / ONE_IN) {
            self.all = vec![IDLE; members];
            for (member, slot) in std::mem::take(&mut self.few) {
                self.all[member as usize] = slot;
            }
        }
        match self.all.get_mut(member as usize) {
            Some(slot) => slot,
            None => self.few.entry(member).or_insert(IDLE),
        }
    }
}

const IDLE: Slot = Slot {
    deadline: NEVER,
    queued: NEVER,
};

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
            kinds: vec![Slots::default(); kinds],
            members,
            queue: Wheel::new(),
            running: 0,
        }
    }

    /// Starts a timer, or starts it anew.
    #[inline(always)]
    pub(crate) fn arm(&mut self, which: Which, now: Instant, at: Instant) {
        let kind = self.kinds.get_mut(which.kind);
        match kind.and_then(|slots| slots.all.get_mut(which.member as usize)) {
            Some(timer) if timer.queued <= at.0 => {
                self.running += usize::from(timer.deadline == NEVER);
                timer.deadline = at.0;
            }
            Some(_) | None => self.enqueue(which, now, at),
        }
    }

    #[inline(never)]
    fn enqueue(&mut self, which: Which, now: Instant, at: Instant) {
        let slot = self.kinds[which.kind].obtain(which.member, self.members);
        self.running += usize::from(slot.deadline == NEVER);
        slot.deadline = at.0;
        if slot.queued <= at.0 {
            return; // looked at in time as it is
        }
        slot.queued = at.0;
        self.queue.push(now, at, Entry::new(which, self.members));
    }

    /// Stops a timer.
    #[inline]
    pub(crate) fn disarm(&mut self, which: Which) {
        if self.running == 0 {
            return;
        }
        let kind = self.kinds.get_mut(which.kind);
        if let Some(timer) = kind.and_then(|slots| slots.get_mut(which.member)) {
            self.running -= usize::from(timer.deadline != NEVER);
            timer.deadline = NEVER;
        }
    }

    /// When a timer runs out, if it is running.
    pub(crate) fn deadline(&self, which: Which) -> Option<Instant> {
        let deadline = self.kinds[which.kind].get(which.member)?.deadline;
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
            let which = entry.which(self.members);
            let timer = self.kinds[which.kind].get_mut(which.member)?;
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
