//! Contacts: pairs of members that got to know each other although their initial views did not.
//!
//! Few members become contacts (those that relay or lead), but each of them perhaps of all members.
//! Therefore the table is keyed by the subject. It keeps the observers in a list while that is
//! short, and as one bit per member from then on.

use std::collections::BTreeMap;

use crate::seen::MemberSet;

/// The contacts of all members.
#[derive(Debug)]
pub(crate) struct Contacts {
    members: usize,
    observers: BTreeMap<u32, Observers>,
}

/// The members that got to know one subject.
#[derive(Debug)]
enum Observers {
    /// In ascending order.
    Few(Vec<u32>),
    Many(MemberSet),
}

impl Contacts {
    /// An empty table for a group of `members`.
    pub(crate) fn new(members: usize) -> Self {
        Self { members, observers: BTreeMap::new() }
    }

    /// True if `observer` got to know `subject`.
    #[inline]
    pub(crate) fn has(&self, observer: u32, subject: u32) -> bool {
        !self.observers.is_empty()
            && self.observers.get(&subject).is_some_and(|it| it.has(observer))
    }

    /// The subjects that `observer` got to know.
    pub(crate) fn by(&self, observer: u32) -> impl Iterator<Item = u32> {
        let known = self.observers.iter().filter(move |(_, it)| it.has(observer));
        known.map(|(&subject, _)| subject)
    }

    /// Records that `observer` got to know `subject`.
    pub(crate) fn enter(&mut self, observer: u32, subject: u32) {
        let new = || Observers::Few(Vec::new());
        let observers = self.observers.entry(subject).or_insert_with(new);
        observers.enter(observer, self.members);
    }
}

impl Observers {
    fn has(&self, observer: u32) -> bool {
        match self {
            Self::Few(list) => list.binary_search(&observer).is_ok(),
            Self::Many(set) => set.has(observer),
        }
    }

    fn enter(&mut self, observer: u32, members: usize) {
        match self {
            Self::Few(list) => {
                if let Err(place) = list.binary_search(&observer) {
                    list.insert(place, observer);
                }
                // From this size on the bits take less memory.
                if list.len() > members / u32::BITS as usize {
                    let mut set = MemberSet::empty(members);
                    list.iter().for_each(|&observer| set.enter(observer));
                    *self = Self::Many(set);
                }
            }
            Self::Many(set) => set.enter(observer),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use hustings_protocol::mix64::mix64;

    use super::Contacts;

    /// Compares with a plain set of pairs, beyond the size at which the table switches to bits.
    #[test]
    fn contacts_equal_a_plain_set_of_pairs() {
        let members = 200;
        let mut contacts = Contacts::new(members as usize);
        let mut pairs = BTreeSet::new();
        for number in 0..1_500 {
            let drawn = mix64(number);
            let pair = ((drawn % members) as u32, (drawn >> 32) as u32 % 9);
            contacts.enter(pair.0, pair.1);
            pairs.insert(pair);
            let observer = (mix64(drawn) % members) as u32;
            let known = pairs.iter().filter(|(it, _)| *it == observer);
            assert!(contacts.by(observer).eq(known.map(|&(_, subject)| subject)));
            for subject in 0..9 {
                assert_eq!(contacts.has(observer, subject), pairs.contains(&(observer, subject)));
            }
        }
    }
}
