//! The state of a relaying member.

use super::ReplyRule;
use crate::{Candidate, MemberId};

/// The state of a relaying member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Relay {
    /// The best leader that it knows.
    pub(super) choice: Candidate,
    /// The other relaying members, to which it sends preferences.
    set: List,
    /// Relaying members found since the last sending. Separate, because each may belong anywhere in
    /// `set`.
    late: List,
    /// The members that it has answered, for [`ReplyRule::Once`].
    answered: List,
}

impl Relay {
    /// A new state; `set` may be in any order.
    pub(super) fn new(choice: Candidate, set: Vec<MemberId>) -> Self {
        Self { choice, set: List::of(set), late: List::default(), answered: List::default() }
    }

    /// The members to send to, in ascending order.
    pub(super) fn set(&mut self) -> &[MemberId] {
        if !self.late.ids.is_empty() {
            let mut ids = std::mem::take(&mut self.set.ids);
            ids.append(&mut self.late.ids);
            self.set = List::of(ids);
        }
        &self.set.ids
    }

    /// Adds a relaying member. Returns true if it was unknown.
    pub(super) fn include(&mut self, id: MemberId) -> bool {
        self.set.find(id).is_err() && self.late.enter(id)
    }

    /// True if `id`, whose choice is no better, gets an answer.
    pub(super) fn answers(&mut self, id: MemberId, choice: Candidate, reply: ReplyRule) -> bool {
        match reply {
            ReplyRule::Worse => choice < self.choice,
            ReplyRule::Once => self.answered.enter(id),
            ReplyRule::Literal => true,
        }
    }
}

/// A sorted list of members. If thousands relay, they send in ascending order: the member looked up
/// is mostly next to the last one, so that most lookups need no search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct List {
    ids: Vec<MemberId>,
    /// The position of the last lookup.
    last: usize,
}

impl List {
    fn of(mut ids: Vec<MemberId>) -> Self {
        // The list consists of ascending parts, which this sort only has to merge.
        ids.sort();
        Self { ids, last: 0 }
    }

    /// The position of `id`, or else the position where it belongs.
    fn find(&mut self, id: MemberId) -> Result<usize, usize> {
        let near = self.last..self.ids.len().min(self.last + 2);
        let place = match self.ids.get(near) {
            Some([at, ..]) if *at == id => Ok(self.last),
            Some([before, at]) if *before < id && id <= *at => {
                let place = self.last + 1;
                if *at == id { Ok(place) } else { Err(place) }
            }
            Some([before]) if *before < id => Err(self.last + 1),
            Some(_) | None => self.ids.binary_search(&id),
        };
        self.last = place.unwrap_or_else(|place| place);
        place
    }

    /// Returns true if `id` was absent.
    fn enter(&mut self, id: MemberId) -> bool {
        match self.find(id) {
            Ok(_) => false,
            Err(place) => {
                self.ids.insert(place, id);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{List, Relay};
    use crate::mix64::mix64;
    use crate::{Candidate, MemberId};

    /// Compared with a plain set, in ascending and in random order.
    #[test]
    fn every_member_is_included_once_and_in_order() {
        let draw = |number: u64| MemberId(mix64(number) % 300);
        let in_order = |number: u64| MemberId(number % 100 * 3);
        for ids in [draw, in_order] {
            let begin: Vec<MemberId> = (0..40).map(|it| draw(1_000 + it)).collect();
            let mut all: BTreeSet<MemberId> = begin.iter().copied().collect();
            let begin = all.iter().rev().copied().collect();
            let mut relay = Relay::new(Candidate::new(1, 1), begin);
            for number in 0..500 {
                let id = ids(number);
                assert_eq!(relay.include(id), all.insert(id), "{id:?}");
                if number % 37 == 0 {
                    assert!(relay.set().iter().eq(&all), "after {number}");
                }
            }
            assert!(relay.set().iter().eq(&all));
        }
    }

    #[test]
    fn lookups_are_right_from_every_previous_position() {
        let ids = [10, 20, 30, 40].map(MemberId).to_vec();
        for last in 0..=4 {
            for id in 5..50 {
                let mut list = List::of(ids.clone());
                list.last = last;
                assert_eq!(list.find(MemberId(id)), ids.binary_search(&MemberId(id)));
            }
        }
    }
}
