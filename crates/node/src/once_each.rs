//! A bounded set of senders that a log line has named: each is named once.

use std::collections::BTreeSet;

/// The most entries. A sender that is not authenticated can claim any address: more are not
/// remembered, nor logged.
const MOST: usize = 64;

/// The senders that a log line has named.
#[derive(Debug)]
pub struct OnceEach<K>(BTreeSet<K>);

impl<K> Default for OnceEach<K> {
    fn default() -> Self {
        Self(BTreeSet::new())
    }
}

impl<K: Ord> OnceEach<K> {
    /// Enters `sender`. Returns true if it is new and there was room for it.
    pub fn insert(&mut self, sender: K) -> bool {
        self.0.len() < MOST && self.0.insert(sender)
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, OnceEach};

    #[test]
    fn each_sender_is_new_once_and_memory_is_bounded() {
        let mut named = OnceEach::default();
        assert!(named.insert(0));
        assert!(!named.insert(0));
        let new = (1..1_000).filter(|it| named.insert(*it)).count();
        assert_eq!(new, MOST - 1);
    }
}
