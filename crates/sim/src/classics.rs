//! How the classic elections are laid out: who has which merit, and who starts.

use hustings_protocol::{Instant, Merit};
use rand_core::Rng;

use crate::{Scenario, Seeds, Stream, Verb, Who};

/// How many members call an election at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Initiators {
    /// So many, at least one.
    Count(u32),
    /// Every member.
    All,
}

impl Initiators {
    /// How many of `members` that is.
    pub fn among(self, members: u32) -> u32 {
        match self {
            Self::Count(count) => count.min(members),
            Self::All => members,
        }
    }
}

/// Where the merits lie on the ring, relative to the initiators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Anywhere, and so the initiators.
    Random,
    /// Where an election costs least.
    Best,
    /// Where an election costs most.
    Worst,
    /// Each member better than the one before, so that merit and identity are one, as in the
    /// slides' examples. The first members start.
    Ascending,
}

/// A ring election, which decides what "best" and "worst" mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ring {
    /// Chang and Roberts': every member's merit matters.
    ChangRoberts,
    /// The modified ring: the initiators' merits decide which election survives.
    Modified,
}

/// Who the members are, and who starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// The members' merits, in ring order.
    pub merits: Vec<Merit>,
    /// Who calls an election at time zero.
    pub starters: Who,
}

impl Layout {
    /// The scenario in which the starters start.
    pub fn scenario(self) -> (Vec<Merit>, Scenario) {
        let mut scenario = Scenario::default();
        scenario.push(Instant::START, Verb::Start(self.starters));
        (self.merits, scenario)
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
        Order::Ascending => ascending_ring(members, count),
    }
}

fn random_ring(members: u32, initiators: u32, seeds: Seeds) -> Layout {
    let mut rng = seeds.rng(Stream::Layout);
    let mut merits: Vec<Merit> = (0..u64::from(members)).map(Merit).collect();
    shuffle(&mut merits, members as usize, &mut rng);
    let starters = if initiators == members {
        Who::All
    } else {
        let mut indices: Vec<u32> = (0..members).collect();
        shuffle(&mut indices, initiators as usize, &mut rng);
        indices.truncate(initiators as usize);
        indices.sort_unstable();
        Who::Members(indices)
    };
    Layout { merits, starters }
}

/// Neighbours start, each better than the one before, the last the best of all: every election but
/// the last ends after one hop, and the last needs no one to better it.
fn best_ring(members: u32, initiators: u32) -> Layout {
    let merit = |at: u32| {
        if at < initiators {
            members - initiators + at
        } else {
            at - initiators
        }
    };
    Layout {
        merits: (0..members).map(|at| Merit(u64::from(merit(at)))).collect(),
        starters: Who::Members((0..initiators).collect()),
    }
}

/// One starts a whole arc before the best; behind the best the others start, each worse than the
/// one before but better than all who did not start: so each election passes all of the ring that
/// lies between it and the best.
fn worst_chang_roberts(members: u32, initiators: u32) -> Layout {
    let best = members - initiators;
    let merit = |at: u32| {
        if at < best {
            at
        } else {
            members - 1 - (at - best)
        }
    };
    let mut starters = vec![0];
    starters.extend(best + 1..members);
    Layout {
        merits: (0..members).map(|at| Merit(u64::from(merit(at)))).collect(),
        starters: Who::Members(starters),
    }
}

/// Neighbours start, each worse than the one before: every election passes the long arc from the
/// last of them to the first.
fn worst_modified(members: u32, initiators: u32) -> Layout {
    let merit = |at: u32| members - 1 - at;
    Layout {
        merits: (0..members).map(|at| Merit(u64::from(merit(at)))).collect(),
        starters: Who::Members((0..initiators).collect()),
    }
}

fn ascending_ring(members: u32, initiators: u32) -> Layout {
    Layout {
        merits: (0..u64::from(members)).map(Merit).collect(),
        starters: Who::Members((0..initiators).collect()),
    }
}

/// Who calls a bully election.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BullyInitiator {
    /// The worst member.
    Lowest,
    /// The best but one.
    SecondHighest,
    /// Any member that is up.
    Random,
    /// Every member.
    All,
}

/// Whether the best member is up when a bully election begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Best {
    /// It is.
    Up,
    /// It is not: the usual reason to elect.
    Down,
}

/// A bully election among `members`, of which member `i` has merit `i`.
pub fn bully(
    members: u32,
    initiator: BullyInitiator,
    best: Best,
    seeds: Seeds,
) -> (Vec<Merit>, Scenario) {
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
            Who::one(below(u64::from(live.max(1)), &mut seeds.rng(Stream::Layout)) as u32)
        }
        BullyInitiator::All => Who::All,
    };
    scenario.push(Instant::START, Verb::Start(starters));
    ((0..u64::from(members)).map(Merit).collect(), scenario)
}

/// Puts `count` elements, chosen at random and in random order, in front.
fn shuffle<T>(items: &mut [T], count: usize, rng: &mut impl Rng) {
    for at in 0..count.min(items.len()) {
        let other = at + below((items.len() - at) as u64, rng) as usize;
        items.swap(at, other);
    }
}

/// A number below `bound`, each equally likely to within 2^-32.
fn below(bound: u64, rng: &mut impl Rng) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(bound)) >> 64) as u64
}
