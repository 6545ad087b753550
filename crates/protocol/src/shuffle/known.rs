//! The members that a member knows, and the ages of its entries.

use rand_core::Rng;

use super::{Entries, Entry, MOST_EXCHANGED};
use crate::mix64::{fit, mix64};
use crate::{Candidate, Duration, Instant, MemberId, View};

/// A known member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acquaintance {
    /// The member, with its priority.
    pub candidate: Candidate,
    /// The estimated time at which the member itself reported this, without message delays.
    pub heard: Instant,
}

impl Acquaintance {
    /// The entry to send about it.
    fn entry(self, now: Instant) -> Entry {
        Entry { candidate: self.candidate, age: now - self.heard }
    }
}

impl Entry {
    /// The entry of a member that has just sent a message.
    pub fn fresh(candidate: Candidate) -> Self {
        let age = Duration::ZERO;
        Self { candidate, age }
    }

    fn acquaintance(self, now: Instant) -> Acquaintance {
        Acquaintance { candidate: self.candidate, heard: Instant(now.0.saturating_sub(self.age.0)) }
    }
}

/// The known members, except the member itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Known {
    /// Strictly ascending by identity.
    list: Vec<Acquaintance>,
}

impl Known {
    pub(super) fn list(&self) -> &[Acquaintance] {
        &self.list
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn view(&self, me: Candidate) -> Acquaintances<'_> {
        let others = &self.list;
        Acquaintances { me, others }
    }

    /// The member with the oldest entry; of several, the one that a random `number` selects.
    pub(super) fn oldest(&self, number: u64) -> Option<Acquaintance> {
        let rank = |it: &&Acquaintance| (it.heard, mix64(it.candidate.id.0 ^ number));
        self.list.iter().min_by_key(rank).copied()
    }

    /// A random sample of up to `most` members in random order, without `except`.
    ///
    /// The order matters: the first ones are replaced first, and must not be those with low
    /// identities.
    pub(super) fn sample(
        &self,
        except: MemberId,
        most: usize,
        now: Instant,
        rng: &mut impl Rng,
    ) -> Entries {
        let others = || self.list.iter().filter(|it| it.candidate.id != except);
        let mut left = others().count() as u64;
        let mut wanted = most.min(MOST_EXCHANGED) as u64;
        let chosen = others().filter(|_| {
            let is_chosen = fit(rng.next_u64(), left) < wanted;
            left -= 1;
            wanted -= u64::from(is_chosen);
            is_chosen
        });
        let mut entries: Entries = chosen.map(|it| it.entry(now)).collect();
        for last in (1..entries.len()).rev() {
            entries.swap(last, fit(rng.next_u64(), last as u64 + 1) as usize);
        }
        entries
    }

    /// Adds a member that is not known.
    pub(super) fn add(&mut self, entry: Entry, now: Instant) {
        if let Err(at) = self.place(entry.candidate.id) {
            self.list.insert(at, entry.acquaintance(now));
        }
    }

    /// Takes over the priority from a later entry of a known member. Returns true if the member is
    /// known.
    ///
    /// The age of the entry stays. Otherwise members that many others know would be forgotten
    /// later, and become known to more and more.
    pub(super) fn update(&mut self, entry: Entry, now: Instant) -> bool {
        match self.place(entry.candidate.id) {
            Ok(at) if self.list[at].heard <= entry.acquaintance(now).heard => {
                self.list[at].candidate = entry.candidate;
            }
            Ok(_) => {}
            Err(_) => return false,
        }
        true
    }

    /// Sets the age of the entry to zero.
    pub(super) fn freshen(&mut self, id: MemberId, now: Instant) {
        if let Ok(at) = self.place(id) {
            self.list[at].heard = now;
        }
    }

    /// Returns true if the member was known.
    pub(super) fn remove(&mut self, id: MemberId) -> bool {
        self.place(id).map(|at| self.list.remove(at)).is_ok()
    }

    fn place(&self, id: MemberId) -> Result<usize, usize> {
        place(&self.list, id)
    }
}

fn place(list: &[Acquaintance], id: MemberId) -> Result<usize, usize> {
    list.binary_search_by_key(&id, |it| it.candidate.id)
}

/// The view of a member that knows a few others.
#[derive(Debug, Clone, Copy)]
pub struct Acquaintances<'a> {
    me: Candidate,
    others: &'a [Acquaintance],
}

impl View for Acquaintances<'_> {
    fn len(&self) -> usize {
        self.others.len() + 1
    }

    fn get(&self, id: MemberId) -> Option<Candidate> {
        match place(self.others, id) {
            _ if id == self.me.id => Some(self.me),
            Ok(at) => Some(self.others[at].candidate),
            Err(_) => None,
        }
    }

    fn successor(&self, id: MemberId) -> Candidate {
        let next = match place(self.others, id) {
            Ok(at) => at + 1,
            Err(at) => at,
        };
        let others = self.others.len().max(1);
        let next = self.others.get(next % others).map(|it| it.candidate);
        // The nearer of the two possible successors in cyclic order.
        let way = |to: Candidate| to.id.0.wrapping_sub(id.0).wrapping_sub(1);
        next.into_iter().chain([self.me]).min_by_key(|&to| way(to)).unwrap_or(self.me)
    }

    /// The others first, by identity, then the member itself.
    fn candidates(&self) -> impl Iterator<Item = Candidate> {
        let others = self.others.iter().map(|it| it.candidate);
        others.chain([self.me])
    }

    fn other(&self, _: MemberId, number: u64) -> Option<Candidate> {
        let at = fit(number, self.others.len() as u64) as usize;
        self.others.get(at).map(|it| it.candidate)
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, Known};
    use crate::{Candidate, Duration, Instant, MemberId, View};

    const NOW: Instant = Instant(100);

    fn known(ids: &[u64]) -> Known {
        let mut known = Known::default();
        for &id in ids {
            known.add(Entry::fresh(Candidate::new(id, 0)), NOW);
        }
        known
    }

    #[test]
    fn the_view_is_a_ring_that_contains_the_member_itself() {
        let known = known(&[30, 10, 50]);
        let view = known.view(Candidate::new(20, 7));
        assert_eq!((view.len(), view.best()), (4, Candidate::new(20, 7)));
        for (of, next) in [(10, 20), (20, 30), (30, 50), (50, 10), (15, 20), (60, 10)] {
            let successor = view.successor(MemberId(of));
            assert_eq!(successor.id, MemberId(next), "after {of}");
        }
        assert!(view.contains(MemberId(20)) && !view.contains(MemberId(40)));
        let alone = self::known(&[]);
        let me = Candidate::new(20, 7);
        assert_eq!(alone.view(me).successor(me.id), me);
        assert_eq!(alone.view(me).other(me.id, 5), None);
    }

    #[test]
    fn a_later_entry_changes_the_priority_but_not_the_age() {
        let mut known = known(&[1]);
        let word =
            |priority, age| Entry { candidate: Candidate::new(1, priority), age: Duration(age) };
        let later = Instant(130);
        assert!(known.update(word(5, 20), later) && known.update(word(4, 40), later));
        assert_eq!(known.list()[0].candidate, Candidate::new(1, 5));
        assert_eq!(known.list()[0].heard, NOW);
        assert!(!known.update(Entry::fresh(Candidate::new(3, 0)), later));
        known.freshen(MemberId(1), later);
        assert_eq!(known.list()[0].heard, later);
    }

    #[test]
    fn ages_beyond_the_start_of_the_clock_saturate() {
        let mut known = known(&[1]);
        let age = Duration(u64::MAX);
        let candidate = Candidate::new(2, 0);
        known.add(Entry { candidate, age }, NOW);
        assert_eq!(known.oldest(0).unwrap().candidate, candidate);
        assert_eq!(known.oldest(0).unwrap().heard, Instant::START);
    }
}
