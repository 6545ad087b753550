//! Whom a member follows: the best that it has heard of, as many as there are to be leaders.

use crate::{Candidate, Instant, MemberId};

use super::Claim;

/// Somebody better who announces itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Heard {
    pub(super) claim: Claim,
    /// The number of its last announcement.
    pub(super) beat: u32,
    /// When it is missed unless it announces itself again.
    pub(super) until: Instant,
}

/// The best that a member has heard of, the best first. With one leader to elect, as usual, no
/// memory is taken beside the member's own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Leaders {
    first: Option<Heard>,
    others: Vec<Heard>,
}

impl Leaders {
    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = &Heard> {
        self.first.iter().chain(&self.others)
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }

    #[inline]
    pub(super) fn best(&self) -> Option<Candidate> {
        self.first.map(|heard| heard.claim.candidate)
    }

    #[inline]
    pub(super) fn get(&self, id: MemberId) -> Option<&Heard> {
        self.iter().find(|heard| heard.claim.candidate.id == id)
    }

    /// When the first of them is missed.
    pub(super) fn first_missed(&self) -> Option<Instant> {
        self.iter().map(|heard| heard.until).min()
    }

    /// Enters `heard`, or what is new of it, by rank, and keeps the best `room`. Returns whether it
    /// is among them.
    pub(super) fn enter(&mut self, heard: Heard, room: usize, sticky: bool) -> bool {
        let id = heard.claim.candidate.id;
        if room == 1 {
            let rank = |heard: &Heard| heard.claim.rank(sticky);
            let place = self.first.as_ref();
            if place.is_none_or(|it| it.claim.candidate.id == id || rank(it) < rank(&heard)) {
                self.first = Some(heard);
            }
        } else {
            let mut all: Vec<Heard> = self.iter().copied().collect();
            all.retain(|it| it.claim.candidate.id != id);
            all.push(heard);
            all.sort_by_key(|it| std::cmp::Reverse(it.claim.rank(sticky)));
            all.truncate(room);
            self.replace(all);
        }
        self.get(id).is_some()
    }

    /// Drops those for whom `goes` holds. Returns whether there were any.
    pub(super) fn drop_if(&mut self, goes: impl Fn(&Heard) -> bool) -> bool {
        if !self.iter().any(&goes) {
            return false;
        }
        let stay = self.iter().copied().filter(|heard| !goes(heard)).collect();
        self.replace(stay);
        true
    }

    fn replace(&mut self, mut all: Vec<Heard>) {
        self.first = (!all.is_empty()).then(|| all.remove(0));
        self.others = all;
    }
}
