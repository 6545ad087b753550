//! The senders that the log has named: it names each once, and at most 64 in all.

use std::collections::BTreeSet;

/// The most entries. A sender that is not authenticated can claim any address: more are not
/// remembered, nor logged.
const MOST: usize = 64;

/// The senders that the log has named.
#[derive(Debug)]
pub struct LogOnce<K>(BTreeSet<K>);

impl<K> Default for LogOnce<K> {
    fn default() -> Self {
        Self(BTreeSet::new())
    }
}

impl<K: Ord> LogOnce<K> {
    /// Enters `sender`. Returns true if it is new and there was room for it.
    pub fn insert(&mut self, sender: K) -> bool {
        self.0.len() < MOST && self.0.insert(sender)
    }
}

#[cfg(test)]
mod tests {
    use super::{LogOnce, MOST};

    #[test]
    fn each_sender_is_new_once_and_memory_is_bounded() {
        let mut named = LogOnce::default();
        assert!(named.insert(0));
        assert!(!named.insert(0));
        let new = (1..1_000).filter(|it| named.insert(*it)).count();
        assert_eq!(new, MOST - 1);
    }
}
