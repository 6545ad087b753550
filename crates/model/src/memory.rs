//! A cache of results.

#![allow(clippy::disallowed_types, reason = "entries are looked up, never iterated")]

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{PoisonError, RwLock};

/// The results of a pure function.
#[derive(Debug)]
pub(crate) struct Memory<K, V> {
    known: RwLock<HashMap<K, V>>,
}

impl<K: Copy + Eq + Hash, V: Copy> Memory<K, V> {
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
