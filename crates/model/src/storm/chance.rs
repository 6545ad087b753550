//! Random numbers of a storm, all derived from its seed.

use hustings_protocol::mix64::fit;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A source of draws that has its own numbers: one more draw in one stream changes nothing in the
/// others.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stream {
    /// The members of the group.
    Group,
    /// The faults, their targets and times.
    FaultSchedule,
    /// The fate of messages.
    Network,
    /// Draws of members, and the lateness of their timers.
    Members,
}

/// The generator of one stream.
#[derive(Debug, Clone)]
pub(super) struct Chance {
    /// The seed of the storm.
    pub(super) seed: u64,
    pub(super) rng: Xoshiro256PlusPlus,
}

impl Chance {
    pub(super) fn new(seed: u64, stream: Stream) -> Self {
        // Neighbouring seeds are fine: they are mixed before use.
        let number = seed.wrapping_mul(4).wrapping_add(stream as u64);
        let rng = Xoshiro256PlusPlus::seed_from_u64(number);
        Self { seed, rng }
    }

    pub(super) fn number(&mut self) -> u64 {
        self.rng.next_u64()
    }

    /// A number below `bound`; zero if that is zero.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        fit(self.rng.next_u64(), bound)
    }

    /// A number from `least` to `most`, inclusive.
    pub(super) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    pub(super) fn happens(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(super) fn choose<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}
