//! Who said goodbye: what it announced before may still be on its way, and is not believed.

use crate::{Instant, MemberId};

/// Those who said goodbye, for as long as a leader that says nothing is taken to be there: a member
/// that comes back without its disk, and so with an earlier incarnation, is believed after that.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Departed(Vec<Goodbye>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Goodbye {
    id: MemberId,
    incarnation: u32,
    until: Instant,
}

/// More are not remembered: whoever says goodbye for many takes little memory.
const MOST: usize = 16;

impl Departed {
    /// Whether this life of `id` ended with a goodbye that still counts at `now`.
    #[inline]
    pub(super) fn has(&self, id: MemberId, incarnation: u32, now: Instant) -> bool {
        let is_it = |gone: &Goodbye| gone.id == id && gone.incarnation >= incarnation;
        self.0.iter().any(|gone| is_it(gone) && gone.until > now)
    }

    /// Enters a goodbye, heard `now`, that counts until `until`. The oldest ones make room.
    pub(super) fn enter(&mut self, id: MemberId, incarnation: u32, until: Instant, now: Instant) {
        if self.has(id, incarnation, now) {
            return; // a copy, or an earlier one
        }
        self.0.retain(|gone| gone.until > now && gone.id != id);
        if self.0.len() == MOST {
            self.0.remove(0);
        }
        self.0.push(Goodbye {
            id,
            incarnation,
            until,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{Departed, MOST};
    use crate::{Instant, MemberId};

    #[test]
    fn a_goodbye_counts_for_its_life_and_earlier_ones_until_it_is_forgotten() {
        let mut departed = Departed::default();
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
    fn no_more_than_so_many_are_remembered() {
        let mut departed = Departed::default();
        for id in 0..1_000 {
            departed.enter(MemberId(id), 1, Instant(10), Instant(0));
        }
        assert_eq!(departed.0.len(), MOST);
        assert!(departed.has(MemberId(999), 1, Instant(0)));
        departed.enter(MemberId(0), 1, Instant(20), Instant(10));
        assert_eq!(departed.0.len(), 1);
    }
}
