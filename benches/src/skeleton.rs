//! The workloads by hand: bare arrays, small events, one vector per timestamp (or, if delays vary,
//! one per quarter of a millisecond, sorted when its turn comes), no framework.

use hustings_sim::{Delay, Seeds, Stream};
use rand_core::Rng;
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::calendar::{Calendar, Event};

/// A 16-byte event on a ring: receiver, sender, message. Priorities have 64 bits, as in the
/// simulator (here the top bit is the kind of message): the comparison is between two loops, not
/// two integer widths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Hop {
    to: u32,
    from: u32,
    message: u64,
}

const ELECTED: u64 = 1 << 63;

/// Everything that an experiment on a ring records of a member.
#[derive(Clone, Copy)]
struct Member {
    priority: u64,
    leader: Option<u64>,
    known_at: u64,
    participating: bool,
}

struct RingState<'a> {
    members: &'a mut Vec<Member>,
    /// Messages sent, by kind.
    sent: [u64; 2],
}

impl<'a> RingState<'a> {
    fn new(priorities: &[u64], members: &'a mut Vec<Member>) -> Self {
        let member =
            |&priority| Member { priority, leader: None, known_at: 0, participating: false };
        members.clear();
        members.extend(priorities.iter().map(member));
        Self { members, sent: [0; 2] }
    }

    fn start(&mut self, at: u32) -> Hop {
        self.members[at as usize].participating = true;
        self.send(at, self.members[at as usize].priority)
    }

    /// The message that the receiver of `hop` sends on.
    #[inline(always)]
    fn receive(&mut self, now: u64, hop: Hop) -> Option<Hop> {
        let member = &mut self.members[hop.to as usize];
        let priority = hop.message & !ELECTED;
        let is_elected = hop.message & ELECTED != 0;
        if is_elected || priority == member.priority {
            if is_elected && priority == member.priority {
                return None;
            }
            member.participating = false;
            member.leader = Some(priority);
            member.known_at = now;
            return Some(self.send(hop.to, priority | ELECTED));
        }
        if priority < member.priority && member.participating {
            return None;
        }
        member.participating = true;
        let best = priority.max(member.priority);
        Some(self.send(hop.to, best))
    }

    #[inline(always)]
    fn send(&mut self, from: u32, message: u64) -> Hop {
        self.sent[(message >> 63) as usize] += 1;
        let next = from + 1;
        let to = if next as usize == self.members.len() { 0 } else { next };
        Hop { to, from, message }
    }
}

/// Memory for one election after the other.
#[derive(Default)]
pub(crate) struct RingMemory {
    members: Vec<Member>,
    due: Vec<Hop>,
    next_due: Vec<Hop>,
    buckets: [Vec<(u64, Hop)>; 8],
}

/// Holds one Chang-Roberts election; returns the number of delivered messages.
pub(crate) fn ring(
    priorities: &[u64],
    starters: &[u32],
    delay: Delay,
    memory: &mut RingMemory,
) -> u64 {
    match delay {
        Delay::Constant(delay) => steady_ring(priorities, starters, delay.0, memory),
        Delay::Uniform { from, to } => {
            jittered_ring(priorities, starters, from.0, to.0 - from.0, memory)
        }
        Delay::Exponential { .. } | Delay::LogNormal { .. } => unreachable!("not a workload"),
    }
}

fn steady_ring(priorities: &[u64], starters: &[u32], delay: u64, memory: &mut RingMemory) -> u64 {
    let mut ring = RingState::new(priorities, &mut memory.members);
    // One vector for the present time and one for the next.
    let (due, next_due) = (&mut memory.due, &mut memory.next_due);
    next_due.extend(starters.iter().map(|&at| ring.start(at)));
    let mut now = 0;
    let mut delivered = 0;
    while !next_due.is_empty() {
        now += delay;
        std::mem::swap(due, next_due);
        for hop in due.drain(..) {
            delivered += 1;
            next_due.extend(ring.receive(now, hop));
        }
    }
    std::hint::black_box(&ring.members);
    delivered
}

/// Buckets of a quarter of a millisecond: half of the shortest delay, so that no message is sent
/// into the current bucket, and eight of them hold all messages in flight.
const BUCKET_BITS: u32 = 18;

fn jittered_ring(
    priorities: &[u64],
    starters: &[u32],
    from: u64,
    width: u64,
    memory: &mut RingMemory,
) -> u64 {
    let mut ring = RingState::new(priorities, &mut memory.members);
    let mut rng = Seeds::new(1, 0).rng(Stream::Network);
    let buckets = &mut memory.buckets;
    let bucket = |at: u64| (at >> BUCKET_BITS) as usize % 8;
    for &at in starters {
        let arrives = from + below(&mut rng, width);
        let hop = ring.start(at);
        buckets[bucket(arrives)].push((arrives, hop));
    }
    let (mut number, mut delivered) = (0, 0);
    while buckets.iter().any(|bucket| !bucket.is_empty()) {
        let mut due = std::mem::take(&mut buckets[number % 8]);
        due.sort_unstable_by_key(|(at, _)| *at);
        for (at, hop) in due.drain(..) {
            delivered += 1;
            if let Some(hop) = ring.receive(at, hop) {
                let arrives = at + from + below(&mut rng, width);
                buckets[bucket(arrives)].push((arrives, hop));
            }
        }
        buckets[number % 8] = due;
        number += 1;
    }
    std::hint::black_box(&ring.members);
    delivered
}

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLISECOND;
const LISTEN: u64 = 3 * SECOND;

/// One announcement per second to each listener; each listener re-arms its listen timer at each
/// receipt.
pub(crate) fn beacon(listeners: u32, loss: f64, delay: Delay, messages: u64) -> u64 {
    match delay {
        Delay::Constant(delay) => steady_beacon(listeners, loss, delay.0, messages),
        Delay::Uniform { from, to } => {
            jittered_beacon(listeners, loss, from.0, to.0 - from.0, messages)
        }
        Delay::Exponential { .. } | Delay::LogNormal { .. } => unreachable!("not a workload"),
    }
}

/// A 16-byte event: receiver, kind, number, spare.
type Plain = [u32; 4];
const ANNOUNCE: u32 = 0;
const RECEIVE: u32 = 1;
const EXPIRE: u32 = 2;

/// One vector per timestamp: every time is a whole millisecond, and none is 4096 ahead. Emptied
/// vectors are kept for their memory.
struct Slots {
    slots: Vec<Vec<Plain>>,
    spare: Vec<Vec<Plain>>,
}

impl Slots {
    #[inline(always)]
    fn at(&mut self, time: u64) -> &mut Vec<Plain> {
        let slot = &mut self.slots[time as usize % 4096];
        if slot.capacity() == 0 {
            *slot = self.spare.pop().unwrap_or_default();
        }
        slot
    }

    /// The first time from `time` on at which an event is due. There must be one.
    #[inline(always)]
    fn next(&self, mut time: u64) -> u64 {
        while self.slots[time as usize % 4096].is_empty() {
            time += 1;
        }
        time
    }
}

/// The listeners of a beacon, and their timers. A timer that is armed again stays queued, and is
/// queued anew when its old time comes.
struct Listeners {
    deadlines: Vec<u64>,
    queued: Vec<bool>,
    delivered: u64,
    expired: u64,
}

impl Listeners {
    fn new(count: u32) -> Self {
        let count = count as usize;
        Self { deadlines: vec![0; count], queued: vec![false; count], delivered: 0, expired: 0 }
    }

    /// Takes an announcement. Returns true if the timer must be queued.
    #[inline(always)]
    fn receive(&mut self, member: u32, deadline: u64) -> bool {
        self.delivered += 1;
        self.deadlines[member as usize] = deadline;
        let is_idle = !self.queued[member as usize];
        if is_idle {
            self.queued[member as usize] = true;
        }
        is_idle
    }

    /// Takes a queued timer. Returns the time at which it must be queued anew.
    #[inline(always)]
    fn expire(&mut self, member: u32, now: u64) -> Option<u64> {
        let deadline = self.deadlines[member as usize];
        if deadline > now {
            return Some(deadline);
        }
        self.queued[member as usize] = false;
        self.expired += 1;
        None
    }
}

fn steady_beacon(listeners: u32, loss: f64, delay: u64, messages: u64) -> u64 {
    let mut rng = Seeds::new(1, 0).rng(Stream::Network);
    let lost_below = (loss * 2f64.powi(64)) as u64;
    let mut state = Listeners::new(listeners);
    let (delay, second, listen) = (delay / MILLISECOND, 1_000, 3_000);
    let mut slots = Slots { slots: vec![Vec::new(); 4096], spare: Vec::new() };
    slots.at(0).push([0, ANNOUNCE, 0, 0]);
    let mut now = 0;
    while state.delivered < messages {
        now = slots.next(now);
        let mut due = std::mem::take(slots.at(now));
        for [member, kind, number, _] in due.drain(..) {
            match kind {
                ANNOUNCE => {
                    let arrivals = slots.at(now + delay);
                    for to in 0..listeners {
                        if rng.next_u64() >= lost_below {
                            arrivals.push([to, RECEIVE, number, 0]);
                        }
                    }
                    slots.at(now + second).push([0, ANNOUNCE, number + 1, 0]);
                }
                RECEIVE => {
                    if state.receive(member, now + listen) {
                        slots.at(now + listen).push([member, EXPIRE, 0, 0]);
                    }
                }
                _ => {
                    if let Some(deadline) = state.expire(member, now) {
                        slots.at(deadline).push([member, EXPIRE, 0, 0]);
                    }
                }
            }
        }
        slots.spare.push(due);
    }
    std::hint::black_box(state.expired);
    state.delivered
}

/// A 16-byte event that carries its time: time, kind, receiver.
type Timed = (u64, u32, u32);

/// The same buckets, each sorted when its turn comes; no event is a whole turn ahead.
fn jittered_beacon(listeners: u32, loss: f64, from: u64, width: u64, messages: u64) -> u64 {
    let mut rng = Seeds::new(1, 0).rng(Stream::Network);
    let lost_below = (loss * 2f64.powi(64)) as u64;
    let mut state = Listeners::new(listeners);
    let bucket = |at: u64| (at >> BUCKET_BITS) as usize % 16_384;
    let mut buckets: Vec<Vec<Timed>> = vec![Vec::new(); 16_384];
    buckets[0].push((0, ANNOUNCE, 0));
    let mut due: Vec<Timed> = Vec::new();
    let mut number = 0;
    while state.delivered < messages {
        while buckets[number % 16_384].is_empty() {
            number += 1;
        }
        std::mem::swap(&mut due, &mut buckets[number % 16_384]);
        due.sort_unstable_by_key(|(at, ..)| *at);
        for (now, kind, member) in due.drain(..) {
            match kind {
                ANNOUNCE => {
                    for to in 0..listeners {
                        if rng.next_u64() >= lost_below {
                            let arrives = now + from + below(&mut rng, width);
                            buckets[bucket(arrives)].push((arrives, RECEIVE, to));
                        }
                    }
                    buckets[bucket(now + SECOND)].push((now + SECOND, ANNOUNCE, 0));
                }
                RECEIVE => {
                    if state.receive(member, now + LISTEN) {
                        buckets[bucket(now + LISTEN)].push((now + LISTEN, EXPIRE, member));
                    }
                }
                _ => {
                    if let Some(deadline) = state.expire(member, now) {
                        buckets[bucket(deadline)].push((deadline, EXPIRE, member));
                    }
                }
            }
        }
    }
    std::hint::black_box(state.expired);
    state.delivered
}

/// The queue alone under a hold model: pops the earliest entry, and pushes it again an exponential
/// time later.
pub(crate) fn hold(pending: u64, operations: u64) -> u64 {
    let mut rng = Seeds::new(1, 0).rng(Stream::Network);
    // Buckets of 65 microseconds with 65 entries each, a turn of half a second.
    let mut calendar = Calendar::new(16, 13);
    for entry in 0..pending {
        calendar.push(Event { at: exponential(&mut rng), entry });
    }
    for _ in 0..operations {
        let Some(event) = calendar.pop() else { break };
        std::hint::black_box(event.entry);
        calendar.push(Event { at: event.at + exponential(&mut rng), ..event });
    }
    operations
}

/// An exponential time of mean one second, in nanoseconds.
#[inline]
pub(crate) fn exponential(rng: &mut Xoshiro256PlusPlus) -> u64 {
    let unit: f64 = Exp1.sample(rng);
    (unit * 1e9) as u64
}

#[inline]
fn below(rng: &mut Xoshiro256PlusPlus, width: u64) -> u64 {
    ((u128::from(rng.next_u64()) * (u128::from(width) + 1)) >> 64) as u64
}
