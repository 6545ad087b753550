//! What a group cannot know by itself, handed in by its driver: unpredictable numbers, and the calendar.
//!
//! Challenges, nonces and incarnations need numbers that no other process can know or repeat. A group has no source of its own, so
//! that a test or a simulator can replay it: the agent hands in the operating system's, tests hand in a seeded one.

use std::fmt;

use crate::identity::{Life, calendar};

/// Fills its argument with unpredictable bytes. Returns whether there are any.
type Fill = dyn FnMut(&mut [u8]) -> bool + Send;

/// A source of unpredictable numbers, and the calendar.
pub(crate) struct Entropy {
    fill: Box<Fill>,
    calendar: Box<dyn Fn() -> u64 + Send>,
}

impl Entropy {
    /// The operating system's source. Each number is drawn anew: a machine that is started twice from one snapshot does
    /// not repeat them.
    pub(crate) fn system() -> Self {
        Self {
            fill: Box::new(|bytes| getrandom::fill(bytes).is_ok()),
            calendar: Box::new(calendar),
        }
    }

    /// A source whose numbers follow from `seed`.
    #[cfg(test)]
    pub(crate) fn seeded(seed: u64) -> Self {
        use rand_core::{Rng, SeedableRng};
        let mut rng = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(seed);
        Self {
            fill: Box::new(move |bytes| {
                rng.fill_bytes(bytes);
                true
            }),
            calendar: Box::new(calendar),
        }
    }

    /// The same source, where the calendar always says `nanoseconds` since 2025 began.
    #[cfg(test)]
    pub(crate) fn with_calendar_at(mut self, nanoseconds: u64) -> Self {
        self.calendar = Box::new(move || nanoseconds);
        self
    }

    /// Returns the next number, or `None` if the operating system has no randomness to give.
    pub(crate) fn next(&mut self) -> Option<u64> {
        self.draw().map(u64::from_le_bytes)
    }

    /// Returns the next bytes, or `None` if the operating system has no randomness to give.
    pub(crate) fn draw<const LENGTH: usize>(&mut self) -> Option<[u8; LENGTH]> {
        let mut bytes = [0; LENGTH];
        (self.fill)(&mut bytes).then_some(bytes)
    }

    /// Returns the time by the host's calendar, in nanoseconds since 2025 began.
    pub(crate) fn calendar(&self) -> u64 {
        (self.calendar)()
    }

    /// Returns the incarnation that begins now.
    pub(crate) fn begin_life(&mut self) -> Life {
        let random = self.next().unwrap_or_default(); // none: the calendar alone tells incarnations apart
        Life::begin(self.calendar(), random)
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
    use std::collections::BTreeSet;

    #[test]
    fn system_numbers_differ_and_seeded_numbers_repeat() {
        let (mut one, mut two) = (Entropy::system(), Entropy::system());
        assert_ne!(one.next(), two.next());
        assert_ne!(one.next(), one.next());
        let (mut one, mut two) = (Entropy::seeded(7), Entropy::seeded(7));
        assert_eq!(one.next(), two.next());
    }

    /// As after two starts from one snapshot: whatever the process remembers is the same.
    #[test]
    fn system_nonces_repeat_in_no_two_sources() {
        let mut sources = [Entropy::system(), Entropy::system()];
        let mut nonces = BTreeSet::new();
        for _ in 0..1_000 {
            for source in &mut sources {
                assert!(nonces.insert(source.draw::<24>().expect("the system has some")));
            }
        }
    }
}
