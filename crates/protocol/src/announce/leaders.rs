//! Whom a member follows: the best that it has heard of, as many as there are to be leaders.

use crate::{Candidate, Instant, MemberId};

use super::{Claim, Takeover};

/// Somebody better who announces itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Heard {
    pub(super) claim: Claim,
    /// The number of its last announcement.
    pub(super) beat: u32,
    /// How many goodbyes it promises, or has been told since to promise.
    pub(super) byes: u8,
    /// How often it was asked for since.
    pub(super) asked: u8,
    /// By how many T_A it is missed sooner while another member announces itself.
    pub(super) sooner: u8,
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

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Heard> {
        self.first.iter_mut().chain(&mut self.others)
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }

    #[inline]
    pub(super) fn best(&self) -> Option<Candidate> {
        self.first.map(|heard| heard.claim.candidate)
    }

    /// What the best claims.
    #[inline]
    pub(super) fn first(&self) -> Option<Claim> {
        self.first.map(|heard| heard.claim)
    }

    /// How many outrank `claim`.
    pub(super) fn better_than(&self, claim: Claim, takeover: Takeover) -> usize {
        let rank = claim.rank(takeover);
        let better = |heard: &&Heard| heard.claim.rank(takeover) > rank;
        self.iter().filter(better).count()
    }

    /// Keeps the best `room`.
    pub(super) fn keep(&mut self, room: usize) {
        self.replace(self.iter().copied().take(room).collect());
    }

    #[inline]
    pub(super) fn get(&self, id: MemberId) -> Option<&Heard> {
        self.iter().find(|heard| heard.claim.candidate.id == id)
    }

    /// Enters `heard`, or what is new of it, by rank, and keeps the best `room`. Returns whether it
    /// is among them.
    pub(super) fn enter(&mut self, heard: Heard, room: usize, takeover: Takeover) -> bool {
        let id = heard.claim.candidate.id;
        if room == 1 {
            let rank = |heard: &Heard| heard.claim.rank(takeover);
            let place = self.first.as_ref();
            if place.is_none_or(|it| it.claim.candidate.id == id || rank(it) < rank(&heard)) {
                self.first = Some(heard);
            }
        } else {
            let mut all: Vec<Heard> = self.iter().copied().collect();
            all.retain(|it| it.claim.candidate.id != id);
            all.push(heard);
            all.sort_by_key(|it| std::cmp::Reverse(it.claim.rank(takeover)));
            all.truncate(room);
            self.replace(all);
        }
        self.get(id).is_some()
    }

    /// Somebody has told `id` to promise so many goodbyes.
    pub(super) fn told(&mut self, id: MemberId, byes: u8) {
        let known = self.iter_mut().find(|heard| heard.claim.candidate.id == id);
        if let Some(heard) = known {
            heard.byes = heard.byes.max(byes);
        }
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

#[cfg(test)]
mod tests {
    use super::{Heard, Leaders};
    use crate::announce::Claim;
    use crate::announce::Takeover::{ByTheBetter, Never};
    use crate::{Candidate, Instant, MemberId};

    fn heard(id: u64, merit: u64, established: bool) -> Heard {
        let claim = Claim {
            candidate: Candidate::new(id, merit),
            incarnation: 1,
            established,
            backing: 0,
        };
        Heard {
            claim,
            beat: 1,
            byes: 3,
            asked: 0,
            sooner: 0,
            until: Instant(100),
        }
    }

    fn ids(leaders: &Leaders) -> Vec<u64> {
        let ids = leaders.iter().map(|heard| heard.claim.candidate.id);
        ids.map(|MemberId(id)| id).collect()
    }

    #[test]
    fn the_best_are_kept_in_order() {
        for (room, takeover, left) in [
            (1, ByTheBetter, vec![4]),
            (2, ByTheBetter, vec![4, 2]),
            (3, ByTheBetter, vec![4, 2, 3]),
            (1, Never, vec![3]),
            (2, Never, vec![3, 4]),
        ] {
            let mut leaders = Leaders::default();
            for it in [
                heard(1, 1, false),
                heard(4, 9, false),
                heard(3, 5, true),
                heard(2, 5, false),
            ] {
                let entered = leaders.enter(it, room, takeover);
                let id = it.claim.candidate.id;
                assert_eq!(entered, leaders.get(id).is_some(), "{id} of {room}");
            }
            assert_eq!(ids(&leaders), left, "{room}, {takeover:?}");
        }
    }

    #[test]
    fn what_is_new_of_a_leader_replaces_what_was_known() {
        for room in [1, 2] {
            let mut leaders = Leaders::default();
            assert!(leaders.enter(heard(1, 5, true), room, Never));
            assert!(leaders.enter(heard(1, 3, false), room, Never));
            assert_eq!(leaders.len(), 1);
            assert_eq!(leaders.first(), Some(heard(1, 3, false).claim));
        }
    }

    #[test]
    fn those_who_outrank_a_claim_are_counted_and_the_last_go_first() {
        let mut leaders = Leaders::default();
        for it in [heard(1, 1, true), heard(2, 5, false), heard(3, 9, false)] {
            leaders.enter(it, 3, ByTheBetter);
        }
        assert_eq!(
            leaders.better_than(heard(9, 4, false).claim, ByTheBetter),
            2
        );
        assert_eq!(leaders.better_than(heard(9, 4, false).claim, Never), 3);
        leaders.keep(2);
        assert_eq!(ids(&leaders), [3, 2]);
        assert!(leaders.drop_if(|it| it.claim.candidate.id == MemberId(3)));
        assert!(!leaders.drop_if(|it| it.claim.candidate.id == MemberId(3)));
        assert_eq!(
            (ids(&leaders), leaders.best()),
            (vec![2], Some(Candidate::new(2, 5)))
        );
    }
}
