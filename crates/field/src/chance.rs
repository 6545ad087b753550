//! Random choices that a seed repeats.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

/// A small random generator.
pub(crate) struct Chance(SplitMix64);

impl Chance {
    pub(crate) fn from_seed(seed: u64) -> Self {
        Self(SplitMix64::seed_from_u64(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a whole number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::Chance;

    #[test]
    fn same_seed_gives_the_same_choices() {
        let draw = |seed| {
            let mut chance = Chance::from_seed(seed);
            (0..100).map(|_| chance.below(6)).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        assert!((0..6).all(|face| draw(1).contains(&face)));
    }
}
