//! What came of something, so that it need not be found out again.

#![allow(
    clippy::disallowed_types,
    reason = "what is in it is looked up, never listed"
)]

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{PoisonError, RwLock};

/// A function's results. The function must be one: the same every time.
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
