//! Names, the numbers that identify members in protocols, and incarnations.

use serde::{Deserialize, Serialize};

pub use hustings_protocol::names::{group_id, is_name, member_id};

/// One incarnation of a member. Later ones are greater, as far as the host's calendar can tell. If
/// the calendar was set back, other members answer a lower incarnation with the one that they know
/// ([`Body::StaleIncarnation`](crate::frame::Body)), and the member continues with the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Incarnation(pub u64);

/// The number of low bits of an incarnation that are random: about a millisecond. No process
/// restarts within that time.
const RANDOM_BITS: u32 = 20;

/// The number of random bits if the calendar is before 2025 or hardly after it. Then nothing else
/// distinguishes processes.
const RANDOM_BITS_WITHOUT_CALENDAR: u32 = 32;

impl Incarnation {
    /// The incarnation that begins at `calendar`, in nanoseconds since the start of 2025. Its low
    /// bits come from `random`, so that two processes differ even if their calendars agree.
    pub fn begin(calendar: u64, random: u64) -> Self {
        let bits = match calendar >> RANDOM_BITS_WITHOUT_CALENDAR {
            0 => RANDOM_BITS_WITHOUT_CALENDAR,
            _ => RANDOM_BITS,
        };
        let low = (1 << bits) - 1;
        Self(calendar & !low | random & low)
    }

    /// This incarnation, or the one after `other` if that is later.
    pub fn after(self, other: Self) -> Self {
        self.max(Self(other.0.saturating_add(1)))
    }

    /// The number of earlier incarnations, as protocols count them: quarters of a second. 32 bits
    /// suffice for 34 years.
    pub fn incarnations_before(self) -> u32 {
        (self.0 / 250_000_000).min(u64::from(u32::MAX)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::Incarnation;

    /// A restart takes longer than a millisecond.
    #[test]
    fn later_incarnation_is_greater() {
        const MILLISECOND: u64 = 1 << 20;
        for calendar in [1 << 33, 1 << 50, 60 << 50] {
            let first = Incarnation::begin(calendar, u64::MAX);
            assert!(first < Incarnation::begin(calendar + MILLISECOND, 0));
            assert!(first.0.abs_diff(calendar) < MILLISECOND);
            let ahead = Incarnation(first.0 + 1_000_000_000_000);
            assert!(first.after(ahead) > ahead);
            assert_eq!(first.after(Incarnation(0)), first);
        }
        assert!(
            Incarnation(300_000_000).incarnations_before() > Incarnation(0).incarnations_before()
        );
    }

    /// A host without a battery-backed clock: its calendar starts with 1970 at each boot.
    #[test]
    fn incarnations_differ_without_a_calendar() {
        let incarnations = (0..1_000_u64).map(|it| it.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let incarnations = incarnations.map(|random| Incarnation::begin(0, random));
        let incarnations: std::collections::BTreeSet<Incarnation> = incarnations.collect();
        assert_eq!(incarnations.len(), 1_000);
        // All are before any incarnation of a host with a correct calendar.
        assert!(incarnations.iter().all(|it| *it < Incarnation::begin(1 << 33, 0)));
    }
}
