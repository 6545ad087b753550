//! The workloads by hand: bare arrays, small events, one vector per timestamp (a binary heap where
//! delays vary), no framework.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hustings_sim::{Delay, Seeds, Stream};
use rand_core::Rng;
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::calendar::{Calendar, Event};

/// A 16-byte event on a ring: receiver, sender, message. Merits have 64 bits, as in the simulator
/// (the top one tells the kind of message here): compared are two loops, not two widths of numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Hop {
    to: u32,
    from: u32,
    message: u64,
}

const ELECTED: u64 = 1 << 63;

/// All that an experiment on a ring wants to know of a member.
#[derive(Clone, Copy)]
struct Member {
    merit: u64,
    leader: Option<u64>,
    known_at: u64,
    participating: bool,
}

struct RingState {
    members: Vec<Member>,
    /// Messages sent, by kind.
    sent: [u64; 2],
}

impl RingState {
    fn new(merits: &[u64]) -> Self {
        let member = |&merit| Member {
            merit,
            leader: None,
            known_at: 0,
            participating: false,
        };
        Self {
            members: merits.iter().map(member).collect(),
            sent: [0; 2],
        }
    }

    fn start(&mut self, at: u32) -> Hop {
        self.members[at as usize].participating = true;
        self.send(at, self.members[at as usize].merit)
    }

    /// What the receiver of `hop` sends on.
    #[inline(always)]
    fn receive(&mut self, now: u64, hop: Hop) -> Option<Hop> {
        let member = &mut self.members[hop.to as usize];
        let merit = hop.message & !ELECTED;
        let is_elected = hop.message & ELECTED != 0;
        if is_elected || merit == member.merit {
            if is_elected && merit == member.merit {
                return None;
            }
            member.participating = false;
            member.leader = Some(merit);
            member.known_at = now;
            return Some(self.send(hop.to, merit | ELECTED));
        }
        if merit < member.merit && member.participating {
            return None;
        }
        member.participating = true;
        let best = merit.max(member.merit);
        Some(self.send(hop.to, best))
    }

    #[inline(always)]
    fn send(&mut self, from: u32, message: u64) -> Hop {
        self.sent[(message >> 63) as usize] += 1;
        let next = from + 1;
        let to = if next as usize == self.members.len() {
            0
        } else {
            next
        };
        Hop { to, from, message }
    }
}

/// One Chang-Roberts election; returns how many messages were delivered.
pub(crate) fn ring(merits: &[u64], starters: &[u32], delay: Delay) -> u64 {
    match delay {
        Delay::Constant(delay) => steady_ring(merits, starters, delay.0),
        Delay::Uniform { from, to } => jittered_ring(merits, starters, from.0, to.0 - from.0),
        Delay::Exponential { .. } | Delay::LogNormal { .. } => unreachable!("not a workload"),
    }
}

fn steady_ring(merits: &[u64], starters: &[u32], delay: u64) -> u64 {
    let mut ring = RingState::new(merits);
    // One vector for the present time and one for the next.
    let mut due: Vec<Hop> = Vec::new();
    let mut next_due: Vec<Hop> = starters.iter().map(|&at| ring.start(at)).collect();
    let mut now = 0;
    let mut delivered = 0;
    while !next_due.is_empty() {
        now += delay;
        std::mem::swap(&mut due, &mut next_due);
        for hop in due.drain(..) {
            delivered += 1;
            next_due.extend(ring.receive(now, hop));
        }
    }
    std::hint::black_box(ring.members);
    delivered
}

fn jittered_ring(merits: &[u64], starters: &[u32], from: u64, width: u64) -> u64 {
    let mut ring = RingState::new(merits);
    let mut rng = Seeds::new(1, 0).rng(Stream::Network);
    // By arrival, and by the order of sending among equal arrivals.
    let mut heap: BinaryHeap<Reverse<(u64, u64, Hop)>> = BinaryHeap::new();
    for &at in starters {
        let arrives = from + below(&mut rng, width);
        let hop = ring.start(at);
        heap.push(Reverse((arrives, ring.sent[0], hop)));
    }
    let mut delivered = 0;
    while let Some(Reverse((at, _, hop))) = heap.pop() {
        delivered += 1;
        if let Some(hop) = ring.receive(at, hop) {
            let arrives = at + from + below(&mut rng, width);
            let number = ring.sent[0] + ring.sent[1];
            heap.push(Reverse((arrives, number, hop)));
        }
    }
    std::hint::black_box(ring.members);
    delivered
}

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLISECOND;
const LISTEN: u64 = 3 * SECOND;

/// An announcement a second to each listener; each re-arms its listen timer at each receipt.
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

fn steady_beacon(listeners: u32, loss: f64, delay: u64, messages: u64) -> u64 {
    let mut rng = Seeds::new(1, 0).rng(Stream::Network);
    let lost_below = (loss * 2f64.powi(64)) as u64;
    let mut deadlines = vec![0; listeners as usize];
    let mut queued = vec![false; listeners as usize];
    // One vector per timestamp: every time is a whole millisecond, and none is 4096 away.
    let slot = |at: u64| at as usize % 4096;
    let (delay, second, listen) = (delay / MILLISECOND, 1_000, 3_000);
    let mut slots: Vec<Vec<Plain>> = vec![Vec::new(); 4096];
    slots[0].push([0, ANNOUNCE, 0, 0]);
    let mut due = Vec::new();
    let (mut now, mut delivered, mut expired) = (0, 0, 0);
    while delivered < messages {
        std::mem::swap(&mut due, &mut slots[slot(now)]);
        for [member, kind, number, _] in due.drain(..) {
            match kind {
                ANNOUNCE => {
                    for to in 0..listeners {
                        if rng.next_u64() >= lost_below {
                            slots[slot(now + delay)].push([to, RECEIVE, number, 0]);
                        }
                    }
                    slots[slot(now + second)].push([0, ANNOUNCE, number + 1, 0]);
                }
                RECEIVE => {
                    delivered += 1;
                    deadlines[member as usize] = now + listen;
                    if !queued[member as usize] {
                        queued[member as usize] = true;
                        slots[slot(now + listen)].push([member, EXPIRE, 0, 0]);
                    }
                }
                _ => {
                    let deadline = deadlines[member as usize];
                    if deadline > now {
                        slots[slot(deadline)].push([member, EXPIRE, 0, 0]);
                    } else {
                        queued[member as usize] = false;
                        expired += 1;
                    }
                }
            }
        }
        now += 1;
    }
    std::hint::black_box(expired);
    delivered
}

fn jittered_beacon(listeners: u32, loss: f64, from: u64, width: u64, messages: u64) -> u64 {
    let mut rng = Seeds::new(1, 0).rng(Stream::Network);
    let lost_below = (loss * 2f64.powi(64)) as u64;
    let mut deadlines = vec![0; listeners as usize];
    let mut queued = vec![false; listeners as usize];
    let mut heap: BinaryHeap<Reverse<(u64, u32, u32)>> = BinaryHeap::new();
    heap.push(Reverse((0, ANNOUNCE, 0)));
    let (mut delivered, mut expired) = (0, 0);
    while delivered < messages {
        let Some(Reverse((now, kind, member))) = heap.pop() else {
            break;
        };
        match kind {
            ANNOUNCE => {
                for to in 0..listeners {
                    if rng.next_u64() >= lost_below {
                        heap.push(Reverse((now + from + below(&mut rng, width), RECEIVE, to)));
                    }
                }
                heap.push(Reverse((now + SECOND, ANNOUNCE, 0)));
            }
            RECEIVE => {
                delivered += 1;
                deadlines[member as usize] = now + LISTEN;
                if !queued[member as usize] {
                    queued[member as usize] = true;
                    heap.push(Reverse((now + LISTEN, EXPIRE, member)));
                }
            }
            _ => {
                let deadline = deadlines[member as usize];
                if deadline > now {
                    heap.push(Reverse((deadline, EXPIRE, member)));
                } else {
                    queued[member as usize] = false;
                    expired += 1;
                }
            }
        }
    }
    std::hint::black_box(expired);
    delivered
}

/// The queue alone under a hold model: pop the earliest, push it again an exponential time later.
pub(crate) fn hold(pending: u64, operations: u64) -> u64 {
    let mut rng = Seeds::new(1, 0).rng(Stream::Network);
    // Buckets of 65 microseconds with 65 entries each, a turn of half a second.
    let mut calendar = Calendar::new(16, 13);
    for entry in 0..pending {
        calendar.push(Event {
            at: exponential(&mut rng),
            entry,
        });
    }
    for _ in 0..operations {
        let Some(event) = calendar.pop() else { break };
        std::hint::black_box(event.entry);
        calendar.push(Event {
            at: event.at + exponential(&mut rng),
            ..event
        });
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
