//! Chance that can be repeated from a seed.

/// A small random generator (SplitMix64).
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A whole number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::Chance;

    #[test]
    fn the_same_seed_gives_the_same_chance() {
        let draw = |seed| {
            let mut chance = Chance::from_seed(seed);
            (0..100).map(|_| chance.below(6)).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        assert!((0..6).all(|face| draw(1).contains(&face)));
    }
}
