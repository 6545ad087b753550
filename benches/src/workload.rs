//! The workloads, each with its two sides.

use clap::ValueEnum;
use hustings_protocol::Duration;
use hustings_sim::classics::{Initiators, Order, Ring, ring};
use hustings_sim::{Delay, Seeds, Who};

use crate::{skeleton, world};

/// The implementation of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Side {
    Skeleton,
    World,
}

pub(crate) struct Workload {
    pub(crate) name: &'static str,
    /// The approximate number of messages of a measurement.
    pub(crate) messages: u64,
    what: What,
}

enum What {
    /// Chang-Roberts elections on a ring, set up anew for each.
    Ring { members: u32, initiators: Initiators, delay: Delay },
    /// One announcer, a thousand listeners that re-arm a timer at each receipt.
    Beacon { delay: Delay },
    /// The queue alone: a million pending entries, pop one, push one.
    Hold,
}

const STEADY: Delay = Delay::Constant(Duration::from_millis(1));
const JITTERED: Delay =
    Delay::Uniform { from: Duration::from_micros(500), to: Duration::from_micros(1_500) };

const fn rings(name: &'static str, members: u32, initiators: Initiators, delay: Delay) -> Workload {
    Workload { name, messages: 20_000_000, what: What::Ring { members, initiators, delay } }
}

const ONE: Initiators = Initiators::Count(1);
const ALL: Initiators = Initiators::All;

pub(crate) const WORKLOADS: &[Workload] = &[
    rings("w1-one-1e3", 1_000, ONE, STEADY),
    rings("w1-one-1e4", 10_000, ONE, STEADY),
    rings("w1-one-1e5", 100_000, ONE, STEADY),
    rings("w1-one-1e6", 1_000_000, ONE, STEADY),
    rings("w1-all-1e3", 1_000, ALL, STEADY),
    rings("w1-all-1e4", 10_000, ALL, STEADY),
    rings("w1-all-1e5", 100_000, ALL, STEADY),
    rings("w1-all-1e6", 1_000_000, ALL, STEADY),
    rings("w1j-one-1e3", 1_000, ONE, JITTERED),
    rings("w1j-one-1e4", 10_000, ONE, JITTERED),
    rings("w1j-one-1e5", 100_000, ONE, JITTERED),
    rings("w1j-one-1e6", 1_000_000, ONE, JITTERED),
    rings("w1j-all-1e3", 1_000, ALL, JITTERED),
    rings("w1j-all-1e4", 10_000, ALL, JITTERED),
    rings("w1j-all-1e5", 100_000, ALL, JITTERED),
    rings("w1j-all-1e6", 1_000_000, ALL, JITTERED),
    Workload { name: "w2", messages: 20_000_000, what: What::Beacon { delay: STEADY } },
    Workload { name: "w2j", messages: 10_000_000, what: What::Beacon { delay: JITTERED } },
    Workload { name: "w3", messages: 10_000_000, what: What::Hold },
];

impl Workload {
    /// Runs one side until about `messages` messages were delivered; returns the exact number.
    pub(crate) fn run(&self, side: Side, messages: u64) -> u64 {
        match self.what {
            What::Ring { members, initiators, delay } => {
                let layout =
                    ring(Ring::ChangRoberts, members, initiators, Order::Random, Seeds::new(1, 0));
                let priorities: Vec<u64> = layout.priorities.iter().map(|it| it.0).collect();
                let starters = match &layout.starters {
                    Who::Members(starters) => starters.clone(),
                    Who::All | Who::Best => (0..members).collect(),
                };
                let mut memory = world::Memory::default();
                let mut skeletons_memory = skeleton::RingMemory::default();
                let mut delivered = 0;
                while delivered < messages {
                    delivered += match side {
                        Side::Skeleton => {
                            skeleton::ring(&priorities, &starters, delay, &mut skeletons_memory)
                        }
                        Side::World => world::ring(&layout, delay, &mut memory),
                    };
                }
                delivered
            }
            What::Beacon { delay } => match side {
                Side::Skeleton => skeleton::beacon(LISTENERS, LOSS, delay, messages),
                Side::World => world::beacon(LISTENERS, LOSS, delay, messages),
            },
            What::Hold => match side {
                Side::Skeleton => skeleton::hold(PENDING, messages),
                Side::World => world::hold(PENDING, messages),
            },
        }
    }
}

const LISTENERS: u32 = 1_000;
const LOSS: f64 = 0.1;
const PENDING: u64 = 1_000_000;
