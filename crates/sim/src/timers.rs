//! Running timers, with lazy deadlines: re-arming is a store, not a queue operation.
//!
//! Each timer has a deadline and at most one valid entry in the queue, at or before the deadline.
//! If the entry comes up early, because the timer was re-armed, it is queued again. A listener that
//! re-arms at every message therefore costs one queue operation per interval, not per message.
//!
//! Timers that are queued one after another for the same time form a *batch*, one entry of the
//! queue. If a multicast makes a million members wait, each timer takes four bytes and the batch is
//! not sorted.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use hustings_protocol::Instant;

use crate::wheel::{Due, Wheel};

const NEVER: u64 = u64::MAX;

/// Batches of at least this size expire in the order of their members, smaller ones in the order of
/// queueing. A million members that were queued in random order are scattered in memory, and
/// finding each would take longer than its step.
const SORTED_FROM: usize = 1 << 14;

/// The timers of all members.
#[derive(Debug)]
pub(crate) struct Timers {
    kinds: Vec<Slots>,
    members: usize,
    queue: Wheel<TimerEntry>,
    batches: Batches,
    /// The timers of the batch that has come up, the next one at the end.
    in_hand: Vec<TimerEntry>,
    in_hand_at: Instant,
    /// The time of the last queue operation.
    queued_at: Instant,
    /// The number of running timers. The queue may hold entries of stopped timers: without a
    /// running timer nothing is due.
    running: usize,
}

/// A timer of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Which {
    pub(crate) member: u32,
    /// The index of the timer among all timers of the protocol.
    pub(crate) kind: usize,
}

/// A timer in the queue, or a batch if the number is beyond all timers. The type is non-zero, so
/// that the queue needs no extra byte for an emptied place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct TimerEntry(NonZeroU32);

impl TimerEntry {
    #[inline]
    fn new(number: usize) -> Self {
        Self(NonZeroU32::MIN.saturating_add(number as u32))
    }

    #[inline]
    fn number(self) -> usize {
        self.0.get() as usize - 1
    }

    #[inline]
    fn of(which: Which, members: usize) -> Self {
        Self::new(which.kind * members + which.member as usize)
    }

    #[inline]
    fn which(self, members: usize) -> Which {
        Which { member: (self.number() % members) as u32, kind: self.number() / members }
    }
}

/// Batches: timers that were queued one after another for the same time. A batch holds all but the
/// first of them; a single timer is no batch.
#[derive(Debug)]
struct Batches {
    /// The batches by number. Empty batches are not in the queue.
    lists: Vec<Vec<TimerEntry>>,
    /// The numbers of the empty batches.
    free: Vec<usize>,
    /// The time for which the last timer was queued.
    last_at: Instant,
    /// The batch of that time, if more than one timer was queued in a row.
    open: Option<usize>,
}

/// The place of a timer that is to be queued.
enum Place {
    /// The timer goes into the queue.
    Alone,
    /// The timer begins this batch, which goes into the queue.
    Begins(usize),
    /// The timer has joined a batch that is already in the queue.
    Joined,
}

impl Batches {
    fn new() -> Self {
        Self { lists: Vec::new(), free: Vec::new(), last_at: Instant(NEVER), open: None }
    }

    fn place(&mut self, at: Instant, entry: TimerEntry) -> Place {
        if self.last_at != at {
            self.last_at = at;
            self.open = None;
            return Place::Alone;
        }
        if let Some(batch) = self.open {
            self.lists[batch].push(entry);
            return Place::Joined;
        }
        let batch = self.free.pop().unwrap_or(self.lists.len());
        if batch == self.lists.len() {
            self.lists.push(Vec::new());
        }
        self.lists[batch].push(entry);
        self.open = Some(batch);
        Place::Begins(batch)
    }

    /// Exchanges a batch that has come up for the memory of an earlier one.
    fn take(&mut self, batch: usize, emptied: &mut Vec<TimerEntry>) {
        std::mem::swap(&mut self.lists[batch], emptied);
        self.free.push(batch);
        if self.open == Some(batch) {
            // Timers that are queued for the same time from now on come after it.
            self.open = None;
            self.last_at = Instant(NEVER);
        }
    }
}

/// The timers of one kind. If few members ever arm it, as only leaders announce, a million slots
/// would be a waste.
#[derive(Debug, Clone, Default)]
struct Slots {
    /// Slots by member; empty while few members have armed the timer.
    all: Vec<Slot>,
    few: BTreeMap<u32, Slot>,
}

/// A timer stays in the sparse map while at most `FEW` members, or 1 in `ONE_IN`, have armed it.
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

    // A separate function, so that a step that stops a timer stays small.
    #[inline(never)]
    fn get_one_of_few(&mut self, member: u32) -> Option<&mut Slot> {
        self.few.get_mut(&member)
    }

    /// The slot of `member`, created if it does not exist.
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

const IDLE: Slot = Slot { deadline: NEVER, queued: NEVER };

#[derive(Debug, Clone, Copy)]
struct Slot {
    /// The time of expiry; [`NEVER`] if the timer is not running.
    deadline: u64,
    /// The time of the timer's valid entry in the queue; [`NEVER`] if it has none.
    queued: u64,
}

impl Timers {
    /// Creates the timers of `members` members, each with `kinds` timers.
    pub(crate) fn new(members: usize, kinds: usize) -> Self {
        Self {
            kinds: vec![Slots::default(); kinds],
            members,
            queue: Wheel::new(),
            batches: Batches::new(),
            in_hand: Vec::new(),
            in_hand_at: Instant::START,
            queued_at: Instant::START,
            running: 0,
        }
    }

    /// Starts or restarts a timer.
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
            return; // its entry comes up early enough
        }
        slot.queued = at.0;
        self.queue_up(now, at, TimerEntry::of(which, self.members));
    }

    fn queue_up(&mut self, now: Instant, at: Instant, entry: TimerEntry) {
        self.queued_at = now;
        match self.batches.place(at, entry) {
            Place::Alone => self.queue.push(now, at, entry),
            Place::Begins(batch) => {
                let beyond_timers = self.kinds.len() * self.members;
                let entry = TimerEntry::new(beyond_timers + batch);
                self.queue.push(now, at, entry);
            }
            Place::Joined => {}
        }
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

    /// The time at which a running timer expires.
    pub(crate) fn deadline(&self, which: Which) -> Option<Instant> {
        let deadline = self.kinds[which.kind].get(which.member)?.deadline;
        (deadline != NEVER).then_some(Instant(deadline))
    }

    #[inline]
    pub(crate) fn due(&self) -> Due {
        if self.running == 0 {
            Due::Never
        } else if !self.in_hand.is_empty() {
            Due::At(self.in_hand_at)
        } else {
            self.queue.due()
        }
    }

    pub(crate) fn open(&mut self) {
        self.queue.open();
    }

    /// Takes entries that are due up to `horizon` until one belongs to an expired timer. Returns
    /// its time and the timer.
    pub(crate) fn expire(&mut self, horizon: Instant) -> Option<(Instant, Which)> {
        while let Some((at, entry)) = self.next(horizon) {
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
                let deadline = Instant(timer.deadline);
                self.queue_up(at.max(self.queued_at), deadline, entry);
            }
        }
        None
    }

    /// Takes the next timer of the queue, if it is due up to `horizon`.
    #[inline]
    fn next(&mut self, horizon: Instant) -> Option<(Instant, TimerEntry)> {
        loop {
            if let Some(entry) = self.in_hand.pop() {
                return Some((self.in_hand_at, entry));
            }
            let Due::At(at) = self.queue.due() else {
                return None;
            };
            let (_, entry) = (at <= horizon).then(|| self.queue.pop())??;
            let beyond_timers = self.kinds.len() * self.members;
            match entry.number().checked_sub(beyond_timers) {
                None => return Some((at, entry)),
                Some(batch) => {
                    self.batches.take(batch, &mut self.in_hand);
                    if self.in_hand.len() < SORTED_FROM {
                        self.in_hand.reverse();
                    } else {
                        self.in_hand.sort_unstable_by(|a, b| b.cmp(a));
                    }
                    self.in_hand_at = at;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SORTED_FROM, Timers, Which};
    use crate::wheel::Due;
    use hustings_protocol::Instant;

    fn of(member: u32) -> Which {
        Which { member, kind: 1 }
    }

    /// Drains the queue and returns the expired timers with their times.
    fn drain(timers: &mut Timers) -> Vec<(u64, u32)> {
        drain_some(timers, usize::MAX)
    }

    /// As `drain`, but stops after `most` timers.
    fn drain_some(timers: &mut Timers, most: usize) -> Vec<(u64, u32)> {
        let mut fired = Vec::new();
        loop {
            match timers.due() {
                _ if fired.len() == most => return fired,
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
    fn timer_expires_once_at_its_last_deadline() {
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

    /// Timers of one time expire in the order of queueing, in a batch or not, and also while the
    /// batch is being expired.
    #[test]
    fn timers_of_one_time_expire_in_the_order_of_arming() {
        let now = Instant(0);
        let mut timers = Timers::new(12, 2);
        for member in [0, 1, 2, 3] {
            timers.arm(of(member), now, Instant(50));
        }
        timers.arm(of(4), now, Instant(90)); // another time ends the batch
        for member in [5, 6, 7] {
            timers.arm(of(member), now, Instant(50));
        }
        timers.disarm(of(2)); // one of the batch stops
        timers.arm(of(6), now, Instant(90)); // one is prolonged
        assert_eq!(drain_some(&mut timers, 2), [(50, 0), (50, 1)]);
        for member in [8, 9] {
            timers.arm(of(member), Instant(50), Instant(50));
        }
        let rest = [(50, 3), (50, 5), (50, 7), (50, 8), (50, 9), (90, 4), (90, 6)];
        assert_eq!(drain(&mut timers), rest);
    }

    /// Except for the first timer, which was not yet in a batch.
    #[test]
    fn large_batches_expire_in_the_order_of_members() {
        let members = SORTED_FROM as u32 + 1;
        let mut timers = Timers::new(members as usize, 2);
        for member in (0..members).rev() {
            timers.arm(of(member), Instant(0), Instant(50));
        }
        let fired = drain(&mut timers).into_iter().map(|(_, member)| member);
        assert!(fired.eq([members - 1].into_iter().chain(0..members - 1)));
    }

    #[test]
    fn timers_armed_for_the_current_batch_time_come_after_it() {
        let mut timers = Timers::new(6, 2);
        for member in 0..4 {
            timers.arm(of(member), Instant(0), Instant(50));
        }
        assert_eq!(drain_some(&mut timers, 2), [(50, 0), (50, 1)]);
        for member in [4, 5] {
            timers.arm(of(member), Instant(50), Instant(50));
        }
        assert_eq!(drain(&mut timers), [(50, 2), (50, 3), (50, 4), (50, 5)]);
    }

    #[test]
    fn rest_of_a_stopped_batch_has_no_later_effect() {
        let mut timers = Timers::new(4, 2);
        for member in 0..4 {
            timers.arm(of(member), Instant(0), Instant(50));
        }
        assert_eq!(drain_some(&mut timers, 2), [(50, 0), (50, 1)]);
        timers.disarm(of(2));
        timers.disarm(of(3));
        assert_eq!(timers.due(), Due::Never);
        timers.arm(of(0), Instant(200), Instant(300));
        timers.arm(of(2), Instant(200), Instant(250));
        assert_eq!(drain(&mut timers), [(250, 2), (300, 0)]);
    }

    #[test]
    fn nothing_is_due_after_all_timers_are_stopped() {
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
    fn stopped_timer_can_be_rearmed_before_its_old_entry_comes_up() {
        let mut timers = Timers::new(1, 2);
        timers.arm(of(0), Instant(0), Instant(10));
        timers.disarm(of(0));
        timers.arm(of(0), Instant(5), Instant(10));
        assert_eq!(drain(&mut timers), [(10, 0)]);
    }
}
