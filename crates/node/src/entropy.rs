//! Unpredictable numbers and the calendar, handed in by the driver.
//!
//! Purpose     the only source of unpredictable numbers and of calendar time of a group
//! Inputs      two closures of the driver
//! Outputs     random numbers, the calendar, new incarnations
//! Owns        the closures
//! Invariants  a group with seeded closures is repeatable
//!
//! Challenges, nonces and incarnations need numbers that no other process can know or repeat. A
//! group has no source of its own, so that a test or a simulator can replay it. The agent hands in
//! the operating system's source, and tests hand in a seeded one.

use std::fmt;

use crate::identity::Incarnation;

/// Fills its argument with unpredictable bytes. Returns false if there are none.
type Fill = dyn FnMut(&mut [u8]) -> bool + Send;

/// A source of unpredictable numbers, and the calendar.
pub struct Entropy {
    fill: Box<Fill>,
    calendar: Box<dyn Fn() -> u64 + Send>,
}

impl Entropy {
    /// A source that calls `fill`, which returns false if it has no bytes, and a calendar in
    /// nanoseconds since the start of 2025.
    pub fn new(
        fill: impl FnMut(&mut [u8]) -> bool + Send + 'static,
        calendar: impl Fn() -> u64 + Send + 'static,
    ) -> Self {
        Self { fill: Box::new(fill), calendar: Box::new(calendar) }
    }

    /// A source whose numbers follow from `seed`.
    #[cfg(test)]
    pub(crate) fn seeded(seed: u64) -> Self {
        use hustings_system::clock::calendar;
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

    /// The same source with a calendar that always says `nanoseconds` since the start of 2025.
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
    pub fn draw<const LENGTH: usize>(&mut self) -> Option<[u8; LENGTH]> {
        let mut bytes = [0; LENGTH];
        (self.fill)(&mut bytes).then_some(bytes)
    }

    /// Returns the time by the host's calendar, in nanoseconds since the start of 2025.
    pub(crate) fn calendar(&self) -> u64 {
        (self.calendar)()
    }

    /// Returns the incarnation that begins now.
    pub(crate) fn begin_incarnation(&mut self) -> Incarnation {
        let random = self.next().unwrap_or_default(); // without: the calendar alone separates them
        Incarnation::begin(self.calendar(), random)
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
    fn seeded_numbers_repeat() {
        let (mut one, mut two) = (Entropy::seeded(7), Entropy::seeded(7));
        assert_eq!(one.next(), two.next());
    }
}
