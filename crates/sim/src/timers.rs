//! Running timers, with lazy deadlines: re-arming is a store, not a queue operation.
//!
//! Each timer has a deadline and at most one valid entry in the queue, at or before the deadline.
//! When the entry comes up early, because the timer was re-armed meanwhile, it is queued again; so
//! a listener that re-arms at every message costs one queue operation per interval, not per message.

use hustings_protocol::Instant;

use crate::wheel::{Due, Wheel};

const NEVER: u64 = u64::MAX;

/// The timers of all members, each named by a slot number.
#[derive(Debug)]
pub(crate) struct Timers {
    slots: Vec<Slot>,
    /// How many slots there will be once the first timer is armed.
    count: usize,
    queue: Wheel<u32>,
    /// How many timers run. The queue may hold entries of timers that were stopped: without a
    /// running timer nothing is due.
    running: usize,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    /// When it runs out; [`NEVER`] if it is not running.
    deadline: u64,
    /// When its valid entry in the queue comes up; [`NEVER`] if it has none.
    queued: u64,
}

impl Timers {
    pub(crate) fn new(count: usize) -> Self {
        Self {
            slots: Vec::new(),
            count,
            queue: Wheel::new(),
            running: 0,
        }
    }

    /// Starts the timer in `slot`, or starts it anew.
    #[inline(always)]
    pub(crate) fn arm(&mut self, slot: usize, now: Instant, at: Instant) {
        match self.slots.get_mut(slot) {
            Some(timer) if timer.queued <= at.0 => {
                self.running += usize::from(timer.deadline == NEVER);
                timer.deadline = at.0;
            }
            Some(_) | None => self.enqueue(slot, now, at),
        }
    }

    #[inline(never)]
    fn enqueue(&mut self, slot: usize, now: Instant, at: Instant) {
        if self.slots.is_empty() {
            let idle = Slot {
                deadline: NEVER,
                queued: NEVER,
            };
            self.slots = vec![idle; self.count];
        }
        self.running += usize::from(self.slots[slot].deadline == NEVER);
        self.slots[slot] = Slot {
            deadline: at.0,
            queued: at.0,
        };
        self.queue.push(now, at, slot as u32);
    }

    /// Stops the timer in `slot`.
    #[inline]
    pub(crate) fn disarm(&mut self, slot: usize) {
        if let Some(timer) = self.slots.get_mut(slot) {
            self.running -= usize::from(timer.deadline != NEVER);
            timer.deadline = NEVER;
        }
    }

    /// When the timer in `slot` runs out, if it is running.
    pub(crate) fn deadline(&self, slot: usize) -> Option<Instant> {
        let deadline = self.slots.get(slot)?.deadline;
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
    /// when, and its slot.
    pub(crate) fn expire(&mut self, horizon: Instant) -> Option<(Instant, usize)> {
        while let Due::At(at) = self.queue.due()
            && at <= horizon
        {
            let (_, slot) = self.queue.pop()?;
            let timer = &mut self.slots[slot as usize];
            if timer.queued != at.0 {
                // An earlier entry replaced this one when the timer was shortened.
                continue;
            }
            timer.queued = NEVER;
            if timer.deadline == at.0 {
                timer.deadline = NEVER;
                self.running -= 1;
                return Some((at, slot as usize));
            }
            if timer.deadline != NEVER {
                timer.queued = timer.deadline;
                self.queue.push(at, Instant(timer.deadline), slot);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Timers;
    use crate::wheel::Due;
    use hustings_protocol::Instant;

    /// Runs the queue dry and returns what ran out, and when.
    fn drain(timers: &mut Timers) -> Vec<(u64, usize)> {
        let mut fired = Vec::new();
        loop {
            match timers.due() {
                Due::Never => return fired,
                Due::NotBefore(_) => timers.open(),
                Due::At(_) => {
                    let end = Instant(u64::MAX);
                    fired.extend(timers.expire(end).map(|(at, slot)| (at.0, slot)));
                }
            }
        }
    }

    #[test]
    fn a_timer_runs_out_once_at_its_last_deadline() {
        let now = Instant(0);
        let mut timers = Timers::new(4);
        timers.arm(0, now, Instant(50)); // left alone
        timers.arm(1, now, Instant(10)); // prolonged
        timers.arm(1, now, Instant(70));
        timers.arm(2, now, Instant(90)); // shortened
        timers.arm(2, now, Instant(20));
        timers.arm(3, now, Instant(30)); // stopped
        timers.disarm(3);
        assert_eq!(drain(&mut timers), [(20, 2), (50, 0), (70, 1)]);
    }

    #[test]
    fn nothing_is_due_when_every_timer_was_stopped() {
        let mut timers = Timers::new(2);
        timers.arm(0, Instant(0), Instant(10));
        timers.arm(1, Instant(0), Instant(20));
        timers.disarm(0);
        timers.disarm(0);
        assert_ne!(timers.due(), Due::Never);
        timers.disarm(1);
        assert_eq!(timers.due(), Due::Never);
        timers.arm(1, Instant(50), Instant(60));
        assert_eq!(drain(&mut timers), [(60, 1)]);
    }

    #[test]
    fn a_stopped_timer_can_be_armed_again_before_its_old_entry_comes_up() {
        let mut timers = Timers::new(1);
        timers.arm(0, Instant(0), Instant(10));
        timers.disarm(0);
        timers.arm(0, Instant(5), Instant(10));
        assert_eq!(drain(&mut timers), [(10, 0)]);
    }
}
