//! Running timers, with lazy deadlines: re-arming is a store, not a queue operation.
//!
//! Each timer has a deadline and at most one valid entry in the queue, at or before the deadline.
//! When the entry comes up early, because the timer was re-armed meanwhile, it is queued again; so
//! a listener that re-arms at every message costs one queue operation per interval, not per message.
//!
//! Timers that are queued one after another for the same time are a *batch*, one entry of the queue:
//! what a multicast makes a million members wait for takes four bytes of each, and is not sorted.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use hustings_protocol::Instant;

use crate::wheel::{Due, Wheel};

const NEVER: u64 = u64::MAX;

/// So many timers of one time, or more, run out in the order of their members, fewer in the order in which they were queued. A
/// million members that were queued by chance are not next to each other in memory, and to look for each takes longer than
/// its step.
const SORTED_FROM: usize = 1 << 14;

/// The timers of all members.
#[derive(Debug)]
pub(crate) struct Timers {
    kinds: Vec<Slots>,
    members: usize,
    queue: Wheel<Entry>,
    batches: Batches,
    /// The batch that has come up, the next timer at the end, and when that was.
    in_hand: Vec<Entry>,
    in_hand_at: Instant,
    /// What time it was when something was queued last.
    queued_at: Instant,
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

/// A timer in the queue, or, with a number beyond all timers, a batch: one number, of which the
/// queue needs no byte more to tell a place it has emptied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(NonZeroU32);

impl Entry {
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
        Which {
            member: (self.number() % members) as u32,
            kind: self.number() / members,
        }
    }
}

/// Timers that were queued one after another for the same time. Those after the first: a timer alone
/// is no batch.
#[derive(Debug)]
struct Batches {
    /// By number. Empty ones are not in the queue.
    lists: Vec<Vec<Entry>>,
    /// The numbers of the empty ones.
    free: Vec<usize>,
    /// For what time something was queued last.
    last_at: Instant,
    /// The batch of that time, if more than one was queued in a row.
    open: Option<usize>,
}

/// What becomes of a timer that is to be queued.
enum Place {
    /// It goes into the queue.
    Alone,
    /// It begins this batch, which goes into the queue.
    Begins(usize),
    /// It is in a batch that is in the queue.
    Joined,
}

impl Batches {
    fn new() -> Self {
        Self {
            lists: Vec::new(),
            free: Vec::new(),
            last_at: Instant(NEVER),
            open: None,
        }
    }

    fn place(&mut self, at: Instant, entry: Entry) -> Place {
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

    /// Exchanges a batch, which has come up, for the memory of an earlier one.
    fn take(&mut self, batch: usize, emptied: &mut Vec<Entry>) {
        std::mem::swap(&mut self.lists[batch], emptied);
        self.free.push(batch);
        if self.open == Some(batch) {
            // What is queued for the same time from now on comes after it.
            self.open = None;
            self.last_at = Instant(NEVER);
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
            batches: Batches::new(),
            in_hand: Vec::new(),
            in_hand_at: Instant::START,
            queued_at: Instant::START,
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
        self.queue_up(now, at, Entry::of(which, self.members));
    }

    fn queue_up(&mut self, now: Instant, at: Instant, entry: Entry) {
        self.queued_at = now;
        match self.batches.place(at, entry) {
            Place::Alone => self.queue.push(now, at, entry),
            Place::Begins(batch) => {
                let beyond_timers = self.kinds.len() * self.members;
                let entry = Entry::new(beyond_timers + batch);
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

    /// When a timer runs out, if it is running.
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

    /// Takes entries that are due up to `horizon` until one is of a timer that has run out; returns
    /// when, and which.
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
    fn next(&mut self, horizon: Instant) -> Option<(Instant, Entry)> {
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
                    match self.in_hand.len() < SORTED_FROM {
                        true => self.in_hand.reverse(),
                        false => self.in_hand.sort_unstable_by(|a, b| b.cmp(a)),
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

    /// Runs the queue dry and returns what ran out, and when.
    fn drain(timers: &mut Timers) -> Vec<(u64, u32)> {
        drain_some(timers, usize::MAX)
    }

    /// The same, but no more than so many.
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

    /// Whoever was queued first for a time comes first, in a batch or not, and also while the batch comes up.
    #[test]
    fn timers_of_one_time_run_out_in_the_order_in_which_they_were_armed() {
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
        let rest = [
            (50, 3),
            (50, 5),
            (50, 7),
            (50, 8),
            (50, 9),
            (90, 4),
            (90, 6),
        ];
        assert_eq!(drain(&mut timers), rest);
    }

    /// But for the first, which was no batch yet.
    #[test]
    fn very_many_of_one_time_run_out_in_the_order_of_their_members() {
        let members = SORTED_FROM as u32 + 1;
        let mut timers = Timers::new(members as usize, 2);
        for member in (0..members).rev() {
            timers.arm(of(member), Instant(0), Instant(50));
        }
        let fired = drain(&mut timers).into_iter().map(|(_, member)| member);
        assert!(fired.eq([members - 1].into_iter().chain(0..members - 1)));
    }

    #[test]
    fn what_is_armed_for_the_time_of_the_batch_in_hand_comes_after_it() {
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
    fn what_is_left_of_a_batch_when_all_stop_does_no_harm_later() {
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
