//! The queue against a sorted list, under random use within its rule: a slot is opened only if
//! nothing else is due before it, and nothing is pushed into the past.

mod support;

use hustings_protocol::Instant;
use hustings_sim::wheel::{Due, Wheel};
use hustings_sim::{Seeds, Stream};
use rand_core::Rng;

use support::{Replay, below, happens, seeds};

/// Times beyond any that need to be queued.
const FAR: u64 = u64::MAX / 2;

/// The wheel, and a list that is always right.
#[derive(Default)]
struct Pair {
    wheel: Wheel<u64>,
    /// Time and order of arrival, sorted.
    list: Vec<(u64, u64)>,
    arrived: u64,
    now: u64,
}

impl Pair {
    fn push(&mut self, at: u64) {
        self.wheel.push(Instant(self.now), Instant(at), self.arrived);
        let place = self.list.partition_point(|(other, _)| *other <= at);
        self.list.insert(place, (at, self.arrived));
        self.arrived += 1;
    }

    /// Takes the earliest entry from both.
    fn pop(&mut self) {
        let expected = (!self.list.is_empty()).then(|| self.list.remove(0));
        loop {
            match self.wheel.due() {
                Due::NotBefore(bound) => {
                    let (at, _) = expected.expect("the wheel holds something");
                    assert!(bound.0 <= at, "bound {bound:?} is above {at}, which is due");
                    self.wheel.open();
                }
                Due::At(at) => {
                    assert_eq!(Some(at.0), expected.map(|(at, _)| at));
                    let popped = self.wheel.pop().map(|(at, item)| (at.0, item));
                    assert_eq!(popped, expected);
                    self.now = at.0;
                    return;
                }
                Due::Never => return assert_eq!(expected, None),
            }
        }
    }

    /// An event elsewhere is due before any entry here, and time advances to it.
    fn wait(&mut self, until: u64) {
        let before = match self.wheel.due() {
            Due::At(at) | Due::NotBefore(at) => at.0,
            Due::Never => u64::MAX,
        };
        self.now = self.now.max(until.min(before));
    }

    fn drain(&mut self) {
        while !self.list.is_empty() {
            assert_eq!(self.wheel.len(), self.list.len());
            self.pop();
        }
        assert!(self.wheel.is_empty());
        assert_eq!(self.wheel.due(), Due::Never);
        assert_eq!(self.wheel.pop(), None);
    }
}

fn replay(test: &'static str, seed: u64) -> Replay {
    let file = "wheel";
    Replay { file, test, seed }
}

/// A duration of any order of magnitude, often zero.
fn span(rng: &mut impl Rng) -> u64 {
    match below(4, rng) {
        0 => 0,
        1 => below(64, rng),
        2 => below(1 << 20, rng),
        _ => below(1 << below(62, rng), rng),
    }
}

#[test]
fn random_use_agrees_with_a_sorted_list() {
    let test = "random_use_agrees_with_a_sorted_list";
    for seed in seeds(400) {
        let _replay = replay(test, seed);
        let rng = &mut Seeds::new(seed, 0).rng(Stream::Faults);
        let mut pair = Pair::default();
        let pushes = 20 + below(60, rng);
        for _ in 0..2_000 {
            match below(100, rng) {
                roll if roll < pushes => {
                    let at = pair.now.saturating_add(span(rng)).min(FAR.max(pair.now));
                    pair.push(at);
                }
                99 => pair.wait(pair.now.saturating_add(span(rng)).min(FAR)),
                _ => pair.pop(),
            }
        }
        pair.drain();
    }
}

#[test]
fn equal_times_keep_their_order_while_more_arrive() {
    let test = "equal_times_keep_their_order_while_more_arrive";
    for seed in seeds(100) {
        let _replay = replay(test, seed);
        let rng = &mut Seeds::new(seed, 1).rng(Stream::Faults);
        let mut pair = Pair::default();
        let times: Vec<u64> = (0..5).map(|_| below(1 << 40, rng)).collect();
        for round in 0..600 {
            let at = times[below(5, rng) as usize];
            if at >= pair.now && happens(if round < 300 { 80 } else { 40 }, rng) {
                pair.push(at);
            } else {
                pair.pop();
            }
        }
        pair.drain();
    }
}

#[test]
fn ten_thousand_entries_of_one_time_keep_their_order() {
    for at in [0, 1, 1_000_000_007, FAR] {
        let mut pair = Pair::default();
        (0..10_000).for_each(|_| pair.push(at));
        for _ in 0..5_000 {
            pair.pop();
        }
        (0..10_000).for_each(|_| pair.push(at));
        pair.drain();
    }
}

#[test]
fn overfull_run_is_spilled_without_loss() {
    let rng = &mut Seeds::new(0, 2).rng(Stream::Faults);
    let mut pair = Pair::default();
    for _ in 0..3_000 {
        pair.push(1_000_000 + below(1_000_000, rng));
    }
    pair.pop();
    for _ in 0..9_000 {
        pair.push(pair.now + below(500_000, rng));
        if happens(30, rng) {
            pair.pop();
        }
    }
    pair.drain();
}

#[test]
fn far_entries_come_after_near_ones() {
    let mut pair = Pair::default();
    for shift in (0..63).rev() {
        pair.push(1 << shift);
        pair.push((1 << shift) + 1);
    }
    pair.push(FAR);
    pair.drain();
    assert_eq!(pair.now, FAR);
}

#[test]
fn cleared_queue_restarts_at_time_zero() {
    let mut pair = Pair::default();
    for at in [5, 70_000, 1 << 50] {
        pair.push(at);
    }
    pair.pop();
    pair.wheel.clear();
    assert!(pair.wheel.is_empty());
    let mut again = Pair { wheel: pair.wheel, ..Pair::default() };
    for at in [3, 3, 1 << 30, 0] {
        again.push(at);
    }
    again.drain();
}
