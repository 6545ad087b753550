//! What a member knows that relays.

use super::Reply;
use crate::{Candidate, MemberId};

/// What a member knows that relays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Relay {
    /// The best leader that it knows of.
    pub(super) choice: Candidate,
    /// Whom it tells, itself not among them.
    set: List,
    /// Those too, of whom it heard since it told them last. Apart, as each may belong anywhere among the others.
    late: List,
    /// Whom it has answered, where that counts.
    answered: List,
}

impl Relay {
    /// `set` in any order.
    pub(super) fn new(choice: Candidate, set: Vec<MemberId>) -> Self {
        Self {
            choice,
            set: List::of(set),
            late: List::default(),
            answered: List::default(),
        }
    }

    /// Whom to tell, in ascending order.
    pub(super) fn set(&mut self) -> &[MemberId] {
        if !self.late.ids.is_empty() {
            let mut ids = std::mem::take(&mut self.set.ids);
            ids.append(&mut self.late.ids);
            self.set = List::of(ids);
        }
        &self.set.ids
    }

    /// Somebody that relays is among those to tell from now on. Returns whether it was not.
    pub(super) fn include(&mut self, id: MemberId) -> bool {
        self.set.find(id).is_err() && self.late.enter(id)
    }

    /// Whether to answer `id`, whose choice is no better.
    pub(super) fn answers(&mut self, id: MemberId, choice: Candidate, reply: Reply) -> bool {
        match reply {
            Reply::Worse => choice < self.choice,
            Reply::Once => self.answered.enter(id),
            Reply::Literal => true,
        }
    }
}

/// Some members, ascending. Where all of thousands relay they tell each other in that order: so whom it is asked for is
/// most often next to the last one, and no search takes it all over the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct List {
    ids: Vec<MemberId>,
    /// Where the last one was, or belonged.
    last: usize,
}

impl List {
    fn of(mut ids: Vec<MemberId>) -> Self {
        // Made of ascending parts, which sorting of this kind only has to merge.
        ids.sort();
        Self { ids, last: 0 }
    }

    /// Where `id` is, or else where it belongs.
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

    /// Returns whether it was not there.
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
    use crate::scatter::scatter;
    use crate::{Candidate, MemberId};

    /// Against a plain set, in the order of identities and in none.
    #[test]
    fn everybody_is_included_once_and_told_in_order() {
        let draw = |number: u64| MemberId(scatter(number) % 300);
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
    fn a_place_is_found_from_wherever_the_last_one_was() {
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
