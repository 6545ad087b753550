//! The members that have said goodbye. Their earlier announcements may still arrive, and are
//! ignored.

use crate::{Instant, MemberId};

/// The members that have said goodbye. Each goodbye counts for the time after which a silent leader
/// is lost. A member that starts again in an earlier incarnation, because its calendar was set
/// back, is believed after that time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DepartedMembers(Vec<Goodbye>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Goodbye {
    id: MemberId,
    incarnation: u32,
    until: Instant,
}

/// The greatest number of goodbyes that are kept, so that forged goodbyes take little memory.
const MOST: usize = 16;

impl DepartedMembers {
    /// True if this incarnation of `id`, or a later one, ended with a goodbye that still counts at
    /// `now`.
    #[inline]
    pub(super) fn has(&self, id: MemberId, incarnation: u32, now: Instant) -> bool {
        let is_it = |gone: &Goodbye| gone.id == id && gone.incarnation >= incarnation;
        self.0.iter().any(|gone| is_it(gone) && gone.until > now)
    }

    /// Enters a goodbye, received at `now`, that counts until `until`. Removes the oldest if there
    /// is no room.
    pub(super) fn enter(&mut self, id: MemberId, incarnation: u32, until: Instant, now: Instant) {
        if self.has(id, incarnation, now) {
            return; // a duplicate, or an earlier goodbye
        }
        self.0.retain(|gone| gone.until > now && gone.id != id);
        if self.0.len() == MOST {
            self.0.remove(0);
        }
        self.0.push(Goodbye { id, incarnation, until });
    }
}

#[cfg(test)]
mod tests {
    use super::{DepartedMembers, MOST};
    use crate::{Instant, MemberId};

    #[test]
    fn a_goodbye_counts_for_its_incarnation_and_earlier_ones_for_a_time() {
        let mut departed = DepartedMembers::default();
        let at = Instant;
        departed.enter(MemberId(1), 3, at(10), at(0));
        departed.enter(MemberId(1), 2, at(20), at(5)); // late
        assert!(departed.has(MemberId(1), 3, at(9)));
        assert!(departed.has(MemberId(1), 1, at(9)));
        assert!(!departed.has(MemberId(1), 4, at(9)));
        assert!(!departed.has(MemberId(2), 3, at(9)));
        assert!(!departed.has(MemberId(1), 3, at(10)));
    }

    #[test]
    fn at_most_16_goodbyes_are_kept() {
        let mut departed = DepartedMembers::default();
        for id in 0..1_000 {
            departed.enter(MemberId(id), 1, Instant(10), Instant(0));
        }
        assert_eq!(departed.0.len(), MOST);
        assert!(departed.has(MemberId(999), 1, Instant(0)));
        departed.enter(MemberId(0), 1, Instant(20), Instant(10));
        assert_eq!(departed.0.len(), 1);
    }
}
