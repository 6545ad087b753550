//! Chance in a storm: all of it follows from a seed.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// What draws of its own: one more draw in one place moves nothing elsewhere.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stream {
    /// Who there is.
    Group,
    /// What strikes whom, and when.
    Strikes,
    /// What becomes of messages.
    Network,
    /// What members draw themselves, and how late their timers are.
    Members,
}

/// One stream.
#[derive(Debug, Clone)]
pub(super) struct Chance {
    /// From which it all follows.
    pub(super) seed: u64,
    pub(super) rng: Xoshiro256PlusPlus,
}

impl Chance {
    pub(super) fn new(seed: u64, stream: Stream) -> Self {
        // Neighbouring seeds are as good as any: they are mixed before they are used.
        let number = seed.wrapping_mul(4).wrapping_add(stream as u64);
        let rng = Xoshiro256PlusPlus::seed_from_u64(number);
        Self { seed, rng }
    }

    pub(super) fn number(&mut self) -> u64 {
        self.rng.next_u64()
    }

    /// Less than `bound`; zero if that is zero.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        let wide = u128::from(self.rng.next_u64()) * u128::from(bound);
        (wide >> 64) as u64
    }

    /// From `least` to `most`, both of them included.
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
