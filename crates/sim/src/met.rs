//! Who got to know whom, though their views did not hold each other at the beginning.
//!
//! Few members are ever met, those who relay and those who lead, but each perhaps by all. So it is kept by whom they
//! met: as a list while that is short, and as one bit of each member from then on.

use std::collections::BTreeMap;

/// Who got to know whom.
#[derive(Debug)]
pub(crate) struct Met {
    members: usize,
    observers: BTreeMap<u32, Observers>,
}

/// Those who got to know one member.
#[derive(Debug)]
enum Observers {
    /// In ascending order.
    Few(Vec<u32>),
    /// A bit of each member.
    Many(Vec<u64>),
}

impl Met {
    /// For a group of so many.
    pub(crate) fn new(members: usize) -> Self {
        Self {
            members,
            observers: BTreeMap::new(),
        }
    }

    /// Whether `observer` got to know `subject`.
    #[inline]
    pub(crate) fn has(&self, observer: u32, subject: u32) -> bool {
        !self.observers.is_empty()
            && self
                .observers
                .get(&subject)
                .is_some_and(|it| it.has(observer))
    }

    /// Whom `observer` got to know.
    pub(crate) fn by(&self, observer: u32) -> impl Iterator<Item = u32> {
        let known = self
            .observers
            .iter()
            .filter(move |(_, it)| it.has(observer));
        known.map(|(&subject, _)| subject)
    }

    /// `observer` gets to know `subject`.
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
            Self::Many(bits) => bits[word(observer)] & bit(observer) != 0,
        }
    }

    fn enter(&mut self, observer: u32, members: usize) {
        match self {
            Self::Few(list) => {
                if let Err(place) = list.binary_search(&observer) {
                    list.insert(place, observer);
                }
                // From here on the bits take less room.
                if list.len() > members / u32::BITS as usize {
                    *self = Self::Many(bits(list, members));
                }
            }
            Self::Many(bits) => bits[word(observer)] |= bit(observer),
        }
    }
}

fn bits(list: &[u32], members: usize) -> Vec<u64> {
    let mut bits = vec![0; members.div_ceil(u64::BITS as usize)];
    for &observer in list {
        bits[word(observer)] |= bit(observer);
    }
    bits
}

fn word(observer: u32) -> usize {
    (observer / u64::BITS) as usize
}

fn bit(observer: u32) -> u64 {
    1 << (observer % u64::BITS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use hustings_protocol::scatter::scatter;

    use super::Met;

    /// Against a plain set of pairs, past the number from which bits are kept.
    #[test]
    fn whom_anybody_met_is_known_and_nobody_else() {
        let members = 200;
        let mut met = Met::new(members as usize);
        let mut pairs = BTreeSet::new();
        for number in 0..1_500 {
            let drawn = scatter(number);
            let pair = ((drawn % members) as u32, (drawn >> 32) as u32 % 9);
            met.enter(pair.0, pair.1);
            pairs.insert(pair);
            let observer = (scatter(drawn) % members) as u32;
            let known = pairs.iter().filter(|(it, _)| *it == observer);
            assert!(met.by(observer).eq(known.map(|&(_, subject)| subject)));
            for subject in 0..9 {
                assert_eq!(
                    met.has(observer, subject),
                    pairs.contains(&(observer, subject))
                );
            }
        }
    }
}
