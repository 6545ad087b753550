//! Unpredictable numbers, handed to a group by its driver.
//!
//! Challenges and incarnations need numbers that no other process can know or repeat. A group has no source of its own, so
//! that a test or a simulator can replay it: the agent hands in the operating system's, tests hand in a seeded one.

use std::fmt;

/// A source of unpredictable numbers.
pub(crate) struct Entropy(Box<dyn FnMut() -> Option<u64> + Send>);

impl Entropy {
    /// The operating system's source. Each number is drawn anew: a machine that is started twice from one snapshot does
    /// not repeat them.
    pub(crate) fn system() -> Self {
        Self(Box::new(|| getrandom::u64().ok()))
    }

    /// A source whose numbers follow from `seed`.
    #[cfg(test)]
    pub(crate) fn seeded(seed: u64) -> Self {
        use rand_core::{Rng, SeedableRng};
        let mut rng = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(seed);
        Self(Box::new(move || Some(rng.next_u64())))
    }

    /// Returns the next number, or `None` if the operating system has no randomness to give.
    pub(crate) fn next(&mut self) -> Option<u64> {
        (self.0)()
    }
}

impl fmt::Debug for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entropy(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::Entropy;

    #[test]
    fn system_numbers_differ_and_seeded_numbers_repeat() {
        let (mut one, mut two) = (Entropy::system(), Entropy::system());
        assert_ne!(one.next(), two.next());
        assert_ne!(one.next(), one.next());
        let (mut one, mut two) = (Entropy::seeded(7), Entropy::seeded(7));
        assert_eq!(one.next(), two.next());
    }
}
