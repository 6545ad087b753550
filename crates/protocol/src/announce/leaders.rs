//! The leaders that a member follows: the best known ones, up to the number of leaders to elect.

use crate::{Candidate, Instant, MemberId};

use super::{Claim, Takeover};

/// A known leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KnownLeader {
    pub(super) claim: Claim,
    /// The number of its last announcement.
    pub(super) beat: u32,
    /// The number of goodbyes that it promises, or that a complaint has asked of it since.
    pub(super) byes: u8,
    /// The number of queries since its last announcement.
    pub(super) asked: u8,
    /// The number of T_A by which it counts as lost sooner while another member announces itself.
    pub(super) sooner: u8,
    /// The time at which it counts as lost, unless it announces itself again.
    pub(super) until: Instant,
}

/// The best known leaders, the best first. The usual single leader needs no allocation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Leaders {
    first: Option<KnownLeader>,
    others: Vec<KnownLeader>,
}

impl Leaders {
    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = &KnownLeader> {
        self.first.iter().chain(&self.others)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut KnownLeader> {
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

    /// The claim of the best.
    #[inline]
    pub(super) fn first(&self) -> Option<Claim> {
        self.first.map(|heard| heard.claim)
    }

    /// The number of leaders that outrank `claim`.
    pub(super) fn better_than(&self, claim: Claim, takeover: Takeover) -> usize {
        let rank = claim.rank(takeover);
        let better = |heard: &&KnownLeader| heard.claim.rank(takeover) > rank;
        self.iter().filter(better).count()
    }

    /// Keeps the best `room` leaders.
    pub(super) fn keep(&mut self, room: usize) {
        self.replace(self.iter().copied().take(room).collect());
    }

    #[inline]
    pub(super) fn get(&self, id: MemberId) -> Option<&KnownLeader> {
        self.iter().find(|heard| heard.claim.candidate.id == id)
    }

    /// Enters or updates `heard` by rank, and keeps the best `room`. Returns true if it is among
    /// them.
    pub(super) fn enter(&mut self, heard: KnownLeader, room: usize, takeover: Takeover) -> bool {
        let id = heard.claim.candidate.id;
        if room == 1 {
            let rank = |heard: &KnownLeader| heard.claim.rank(takeover);
            let place = self.first.as_ref();
            if place.is_none_or(|it| it.claim.candidate.id == id || rank(it) < rank(&heard)) {
                self.first = Some(heard);
            }
        } else {
            let mut all: Vec<KnownLeader> = self.iter().copied().collect();
            all.retain(|it| it.claim.candidate.id != id);
            all.push(heard);
            all.sort_by_key(|it| std::cmp::Reverse(it.claim.rank(takeover)));
            all.truncate(room);
            self.replace(all);
        }
        self.get(id).is_some()
    }

    /// Notes a complaint that asked `id` for `byes` goodbyes.
    pub(super) fn note_complaint(&mut self, id: MemberId, byes: u8) {
        let known = self.iter_mut().find(|heard| heard.claim.candidate.id == id);
        if let Some(heard) = known {
            heard.byes = heard.byes.max(byes);
        }
    }

    /// Drops the leaders for which `goes` is true. Returns true if there were any.
    pub(super) fn drop_if(&mut self, goes: impl Fn(&KnownLeader) -> bool) -> bool {
        if !self.iter().any(&goes) {
            return false;
        }
        let stay = self.iter().copied().filter(|heard| !goes(heard)).collect();
        self.replace(stay);
        true
    }

    fn replace(&mut self, mut all: Vec<KnownLeader>) {
        self.first = (!all.is_empty()).then(|| all.remove(0));
        self.others = all;
    }
}

#[cfg(test)]
mod tests {
    use super::{KnownLeader, Leaders};
    use crate::announce::Claim;
    use crate::announce::Takeover::{ByTheBetter, Never};
    use crate::{Candidate, Instant, MemberId};

    fn heard(id: u64, priority: u64, established: bool) -> KnownLeader {
        let claim = Claim {
            candidate: Candidate::new(id, priority),
            incarnation: 1,
            established,
            follower_count: 0,
        };
        KnownLeader { claim, beat: 1, byes: 3, asked: 0, sooner: 0, until: Instant(100) }
    }

    fn ids(leaders: &Leaders) -> Vec<u64> {
        let ids = leaders.iter().map(|heard| heard.claim.candidate.id);
        ids.map(|MemberId(id)| id).collect()
    }

    #[test]
    fn the_best_leaders_are_kept_in_order() {
        for (room, takeover, left) in [
            (1, ByTheBetter, vec![4]),
            (2, ByTheBetter, vec![4, 2]),
            (3, ByTheBetter, vec![4, 2, 3]),
            (1, Never, vec![3]),
            (2, Never, vec![3, 4]),
        ] {
            let mut leaders = Leaders::default();
            for it in
                [heard(1, 1, false), heard(4, 9, false), heard(3, 5, true), heard(2, 5, false)]
            {
                let entered = leaders.enter(it, room, takeover);
                let id = it.claim.candidate.id;
                assert_eq!(entered, leaders.get(id).is_some(), "{id} of {room}");
            }
            assert_eq!(ids(&leaders), left, "{room}, {takeover:?}");
        }
    }

    #[test]
    fn a_new_claim_of_a_leader_replaces_the_old_one() {
        for room in [1, 2] {
            let mut leaders = Leaders::default();
            assert!(leaders.enter(heard(1, 5, true), room, Never));
            assert!(leaders.enter(heard(1, 3, false), room, Never));
            assert_eq!(leaders.len(), 1);
            assert_eq!(leaders.first(), Some(heard(1, 3, false).claim));
        }
    }

    #[test]
    fn claims_that_outrank_are_counted_and_the_worst_are_dropped() {
        let mut leaders = Leaders::default();
        for it in [heard(1, 1, true), heard(2, 5, false), heard(3, 9, false)] {
            leaders.enter(it, 3, ByTheBetter);
        }
        assert_eq!(leaders.better_than(heard(9, 4, false).claim, ByTheBetter), 2);
        assert_eq!(leaders.better_than(heard(9, 4, false).claim, Never), 3);
        leaders.keep(2);
        assert_eq!(ids(&leaders), [3, 2]);
        assert!(leaders.drop_if(|it| it.claim.candidate.id == MemberId(3)));
        assert!(!leaders.drop_if(|it| it.claim.candidate.id == MemberId(3)));
        assert_eq!((ids(&leaders), leaders.best()), (vec![2], Some(Candidate::new(2, 5))));
    }
}
