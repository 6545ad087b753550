//! The members of the group known to one member.

use crate::mix64::fit;
use crate::{Candidate, MemberId};

/// The members of the group known to one member, itself included. A view answers questions and
/// need not be a stored set: the simulator computes the views of a million members instead of
/// keeping them.
pub trait View {
    /// The number of members in the view; at least 1, the member itself.
    fn len(&self) -> usize;

    /// The candidate `id`, if the view contains it.
    fn get(&self, id: MemberId) -> Option<Candidate>;

    /// The member that follows `id` in the cyclic order of identities, whether or not the view
    /// contains `id`. In a view of one member, this member.
    fn successor(&self, id: MemberId) -> Candidate;

    /// Every member, in some fixed order.
    fn candidates(&self) -> impl Iterator<Item = Candidate>;

    /// True if the view contains `id`.
    fn contains(&self, id: MemberId) -> bool {
        self.get(id).is_some()
    }

    /// Always false: a member knows itself.
    fn is_empty(&self) -> bool {
        false
    }

    /// The best candidate of the view.
    fn best(&self) -> Candidate {
        self.candidates().max().expect("a view holds at least the member itself")
    }

    /// The members that `pick` chooses by their identities, in the order of [`View::candidates`]. A
    /// computed view calls `pick` first, because that is the cheaper test.
    fn picked(&self, pick: impl Fn(MemberId) -> bool) -> impl Iterator<Item = Candidate> {
        self.candidates().filter(move |it| pick(it.id))
    }

    /// True if the view has fewer than `count` members. For a small `count`, a computed view
    /// answers this sooner than [`View::len`].
    fn has_fewer_than(&self, count: u64) -> bool {
        (self.len() as u64) < count
    }

    /// Maps a uniform 64-bit `number` to a member other than `me`, each with the same probability.
    /// Returns `None` if there is no other member.
    fn other(&self, me: MemberId, number: u64) -> Option<Candidate> {
        let others = self.len().saturating_sub(1);
        let place = fit(number, others as u64) as usize;
        self.candidates().filter(|it| it.id != me).nth(place)
    }
}

/// A change of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewChange {
    /// A member has appeared that was absent or considered dead.
    Joined(Candidate),
    /// A member is dead, has left, or cannot be reached.
    Left(MemberId),
}

/// A stored view: the members sorted by identity. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roster {
    /// Strictly ascending by identity.
    members: Vec<Candidate>,
}

impl Roster {
    /// The view of a member that knows only itself.
    pub fn alone(me: Candidate) -> Self {
        Self { members: vec![me] }
    }

    /// Adds `candidate`, or updates its priority. Returns true if the candidate was unknown.
    pub fn insert(&mut self, candidate: Candidate) -> bool {
        match self.place(candidate.id) {
            Ok(at) => {
                self.members[at] = candidate;
                false
            }
            Err(at) => {
                self.members.insert(at, candidate);
                true
            }
        }
    }

    /// Removes `id`, unless it is the last member. Returns true if `id` was removed.
    pub fn remove(&mut self, id: MemberId) -> bool {
        match self.place(id) {
            Ok(at) if self.members.len() > 1 => {
                self.members.remove(at);
                true
            }
            Ok(_) | Err(_) => false,
        }
    }

    fn place(&self, id: MemberId) -> Result<usize, usize> {
        self.members.binary_search_by_key(&id, |member| member.id)
    }
}

impl View for Roster {
    fn len(&self) -> usize {
        self.members.len()
    }

    fn get(&self, id: MemberId) -> Option<Candidate> {
        self.place(id).ok().map(|at| self.members[at])
    }

    fn successor(&self, id: MemberId) -> Candidate {
        let next = match self.place(id) {
            Ok(at) => at + 1,
            Err(at) => at,
        };
        self.members[next % self.members.len()]
    }

    fn candidates(&self) -> impl Iterator<Item = Candidate> {
        self.members.iter().copied()
    }
}

// None of the provided methods, as `Roster` has none of its own.
impl View for &Roster {
    fn len(&self) -> usize {
        (**self).len()
    }

    fn get(&self, id: MemberId) -> Option<Candidate> {
        (**self).get(id)
    }

    fn successor(&self, id: MemberId) -> Candidate {
        (**self).successor(id)
    }

    fn candidates(&self) -> impl Iterator<Item = Candidate> {
        (**self).candidates()
    }
}

#[cfg(test)]
mod tests {
    use super::{Roster, View};
    use crate::{Candidate, MemberId};

    fn roster(ids: &[u64]) -> Roster {
        let mut roster = Roster::alone(Candidate::new(ids[0], 100 - ids[0]));
        for &id in &ids[1..] {
            roster.insert(Candidate::new(id, 100 - id));
        }
        roster
    }

    #[test]
    fn successors_follow_the_cyclic_order_of_identities() {
        let roster = roster(&[30, 10, 20]);
        for (of, next) in [(10, 20), (20, 30), (30, 10), (15, 20), (31, 10)] {
            assert_eq!(roster.successor(MemberId(of)).id, MemberId(next), "after {of}");
        }
        assert_eq!(self::roster(&[7]).successor(MemberId(7)).id, MemberId(7));
    }

    #[test]
    fn the_last_member_of_a_roster_cannot_be_removed() {
        let mut roster = roster(&[1, 2]);
        assert!(roster.remove(MemberId(1)));
        assert!(!roster.remove(MemberId(1)));
        assert!(!roster.remove(MemberId(2)));
        assert_eq!(roster.best(), Candidate::new(2, 98));
    }

    #[test]
    fn every_other_member_is_drawn_equally_often() {
        let roster = roster(&[30, 10, 20, 40]);
        let mut drawn = [0; 5];
        const STEP: u64 = u64::MAX / 3_000;
        for number in (0..3_000).map(|it| it * STEP + STEP / 2) {
            let other = roster.other(MemberId(20), number).unwrap();
            drawn[other.id.0 as usize / 10] += 1;
        }
        assert_eq!(drawn, [0, 1_000, 0, 1_000, 1_000]);
        assert_eq!(self::roster(&[7]).other(MemberId(7), u64::MAX), None);
    }
}
