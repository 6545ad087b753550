//! The members known to be gone.

use crate::MemberId;

/// The greatest number of members kept: more than die within one election, except in a catastrophe.
const MOST: usize = 16;

/// The members that left last. Behind a pointer: most members of a million know none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Departed(Option<Box<Gone>>);

/// The latest at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Gone(Vec<MemberId>);

impl Departed {
    #[inline]
    pub(super) fn has(&self, id: MemberId) -> bool {
        self.0.as_ref().is_some_and(|gone| gone.0.contains(&id))
    }

    pub(super) fn enter(&mut self, id: MemberId) {
        self.remove(id);
        let gone = &mut self.0.get_or_insert_default().0;
        if gone.len() == MOST {
            gone.remove(0);
        }
        gone.push(id);
    }

    pub(super) fn remove(&mut self, id: MemberId) {
        if let Some(gone) = &mut self.0 {
            gone.0.retain(|it| *it != id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Departed, MOST};
    use crate::MemberId;

    #[test]
    fn the_last_departed_are_kept_until_they_come_back() {
        let mut departed = Departed::default();
        for id in 0..MOST as u64 + 2 {
            departed.enter(MemberId(id));
        }
        assert!(!departed.has(MemberId(1)) && departed.has(MemberId(2)));
        departed.remove(MemberId(2));
        assert!(!departed.has(MemberId(2)));
        departed.enter(MemberId(2));
        departed.enter(MemberId(2));
        assert!(departed.has(MemberId(3)), "no member counts twice");
    }
}
