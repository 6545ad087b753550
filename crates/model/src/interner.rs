//! Tables that all threads of a search share: an interner, which gives numbers in place of values
//! so that states are small and quick to compare, and a cache of results.

#![allow(clippy::disallowed_types, reason = "entries are looked up, never iterated")]

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{PoisonError, RwLock};

/// Gives each different value a number. The numbers depend on the order in which threads ask, so
/// they mean nothing beyond one search.
#[derive(Debug)]
pub(crate) struct Interner<T> {
    known: RwLock<Known<T>>,
}

#[derive(Debug)]
struct Known<T> {
    things: Vec<T>,
    numbers: HashMap<T, u32>,
}

impl<T: Copy + Eq + Hash> Interner<T> {
    pub(crate) fn new() -> Self {
        let known = RwLock::new(Known { things: Vec::new(), numbers: HashMap::new() });
        Self { known }
    }

    pub(crate) fn get(&self, number: u32) -> T {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.things[number as usize]
    }

    pub(crate) fn number(&self, thing: T) -> u32 {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = known.numbers.get(&thing) {
            return *number;
        }
        drop(known);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let next = known.things.len() as u32;
        let number = *known.numbers.entry(thing).or_insert(next);
        if number == next {
            known.things.push(thing);
        }
        number
    }
}

/// The results of a pure function.
#[derive(Debug)]
pub(crate) struct Cache<K, V> {
    known: RwLock<HashMap<K, V>>,
}

impl<K: Copy + Eq + Hash, V: Copy> Cache<K, V> {
    pub(crate) fn new() -> Self {
        let known = RwLock::new(HashMap::new());
        Self { known }
    }

    pub(crate) fn recall(&self, question: K, find_out: impl FnOnce() -> V) -> V {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = known.get(&question) {
            return *answer;
        }
        drop(known);
        let answer = find_out();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        *known.entry(question).or_insert(answer)
    }
}
