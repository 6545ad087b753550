//! Layouts of the classic elections: priorities and initiators.

use hustings_protocol::mix64::fit;
use hustings_protocol::{Instant, Priority};
pub use hustings_theory::bully::{Best, Initiator as BullyInitiator};
use rand_core::Rng;

use crate::{Scenario, Seeds, Stream, Verb, Who};

/// The number of members that call an election at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Initiators {
    /// This number, at least one.
    Count(u32),
    /// Every member.
    All,
}

impl Initiators {
    /// The number of initiators among `members`.
    pub fn among(self, members: u32) -> u32 {
        match self {
            Self::Count(count) => count.min(members),
            Self::All => members,
        }
    }
}

/// The order of the priorities on the ring, relative to the initiators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Random, for priorities and initiators.
    Random,
    /// The order in which an election costs least.
    Best,
    /// The order in which an election costs most.
    Worst,
    /// Each member better than the one before, so that priority equals identity, as in the slides'
    /// examples. The first members start.
    Ascending,
}

/// A ring election; it decides what "best" and "worst" mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ring {
    /// Chang and Roberts: every member's priority matters.
    ChangRoberts,
    /// The modified ring: the initiators' priorities decide which election survives.
    Modified,
}

/// The members and the initiators.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// The members' priorities, in ring order.
    pub priorities: Vec<Priority>,
    /// The members that call an election at time zero.
    pub starters: Who,
}

impl Layout {
    /// The priorities, and the scenario in which the starters start.
    pub fn scenario(self) -> (Vec<Priority>, Scenario) {
        let mut scenario = Scenario::default();
        scenario.push(Instant::START, Verb::Start(self.starters));
        (self.priorities, scenario)
    }
}

/// A ring of `members`.
pub fn ring(
    ring: Ring,
    members: u32,
    initiators: Initiators,
    order: Order,
    seeds: Seeds,
) -> Layout {
    let count = initiators.among(members);
    match order {
        Order::Random => random_ring(members, count, seeds),
        Order::Best => best_ring(members, count),
        Order::Worst => match ring {
            Ring::ChangRoberts => worst_chang_roberts(members, count),
            Ring::Modified => worst_modified(members, count),
        },
        Order::Ascending => laid_out(members, |at| at, (0..count).collect()),
    }
}

fn random_ring(members: u32, initiators: u32, seeds: Seeds) -> Layout {
    let mut rng = seeds.rng(Stream::Layout);
    let mut priorities: Vec<Priority> = (0..u64::from(members)).map(Priority).collect();
    shuffle(&mut priorities, members as usize, &mut rng);
    let starters = if initiators == members {
        Who::All
    } else {
        let mut indices: Vec<u32> = (0..members).collect();
        shuffle(&mut indices, initiators as usize, &mut rng);
        indices.truncate(initiators as usize);
        indices.sort_unstable();
        Who::Members(indices)
    };
    Layout { priorities, starters }
}

fn laid_out(members: u32, priority: impl Fn(u32) -> u32, starters: Vec<u32>) -> Layout {
    Layout {
        priorities: (0..members).map(|at| Priority(u64::from(priority(at)))).collect(),
        starters: Who::Members(starters),
    }
}

/// Neighbours start, each better than the one before, the last the best of all. Every election but
/// the last ends after one hop, and no member stops the last.
fn best_ring(members: u32, initiators: u32) -> Layout {
    let priority = |at: u32| {
        if at < initiators { members - initiators + at } else { at - initiators }
    };
    laid_out(members, priority, (0..initiators).collect())
}

/// One member starts a whole arc before the best. Behind the best the others start, each worse than
/// the one before but better than all that did not start. So each election passes the whole part of
/// the ring between its initiator and the best.
fn worst_chang_roberts(members: u32, initiators: u32) -> Layout {
    let best = members - initiators;
    let priority = |at: u32| {
        if at < best { at } else { members - 1 - (at - best) }
    };
    let mut starters = vec![0];
    starters.extend(best + 1..members);
    laid_out(members, priority, starters)
}

/// Neighbours start, each worse than the one before. Every election passes the long arc from the
/// last of them to the first.
fn worst_modified(members: u32, initiators: u32) -> Layout {
    laid_out(members, |at| members - 1 - at, (0..initiators).collect())
}

/// A bully election among `members`, of which member `i` has priority `i`.
pub fn bully(
    members: u32,
    initiator: BullyInitiator,
    best: Best,
    seeds: Seeds,
) -> (Vec<Priority>, Scenario) {
    let live = match best {
        Best::Up => members,
        Best::Down => members - 1,
    };
    let mut scenario = Scenario::default();
    if best == Best::Down {
        scenario.push(Instant::START, Verb::Kill(Who::one(members - 1)));
    }
    let starters = match initiator {
        BullyInitiator::Lowest => Who::one(0),
        BullyInitiator::SecondHighest => Who::one(members.saturating_sub(2)),
        BullyInitiator::Random => {
            let number = seeds.rng(Stream::Layout).next_u64();
            Who::one(fit(number, live.max(1).into()) as u32)
        }
        BullyInitiator::All => Who::All,
    };
    scenario.push(Instant::START, Verb::Start(starters));
    ((0..u64::from(members)).map(Priority).collect(), scenario)
}

/// Moves `count` random elements, in random order, to the front.
fn shuffle<T>(items: &mut [T], count: usize, rng: &mut impl Rng) {
    for at in 0..count.min(items.len()) {
        let other = at + fit(rng.next_u64(), (items.len() - at) as u64) as usize;
        items.swap(at, other);
    }
}
