//! The fences that other members claim, by the store that granted them.
//!
//! A store is known once it has reported its identity. Before that, a member cannot distinguish its
//! own store from one that another member was given by mistake. A fence that counts is never
//! forgotten, so claims are kept by store until the member's own store has reported. Until then
//! that store has granted nothing that a claim could invalidate.

use std::collections::BTreeMap;

use crate::fence_log::MOST_STORES;
use crate::{Fence, StoreTag};

#[derive(Debug)]
pub(super) struct FenceGossip {
    /// The member's own store: as it reported, or, before that, as it reported to an earlier
    /// process.
    store: Option<StoreTag>,
    /// True if the store has reported its identity to this process.
    is_told: bool,
    /// True if it reported another identity to this process than to an earlier one.
    is_replaced: bool,
    /// The highest fence claimed for each store that is not known to be this member's own.
    heard: BTreeMap<StoreTag, Fence>,
    /// A copy of `heard` from when the store was last asked for tenure.
    when_asked: BTreeMap<StoreTag, Fence>,
}

/// The highest fence claimed for one store: before the last request to it, and up to now.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Highest {
    pub(super) when_asked: Option<Fence>,
    pub(super) now: Option<Fence>,
}

impl FenceGossip {
    pub(super) fn new(store: Option<StoreTag>, heard: BTreeMap<StoreTag, Fence>) -> Self {
        Self { store, is_told: false, is_replaced: false, when_asked: heard.clone(), heard }
    }

    pub(super) fn store(&self) -> Option<StoreTag> {
        self.store
    }

    pub(super) fn heard(&self) -> &BTreeMap<StoreTag, Fence> {
        &self.heard
    }

    pub(super) fn is_told(&self) -> bool {
        self.is_told
    }

    /// True if the store reported another identity than before. It is another store, or has lost
    /// all its state.
    pub(super) fn is_replaced(&self) -> bool {
        self.is_replaced
    }

    /// The highest fence claimed for a store that may be this member's own. `None` once the
    /// member's own store has reported its identity.
    pub(super) fn mark(&self, of: StoreTag) -> Option<Fence> {
        let heard = self.heard.get(&of).filter(|_| !self.is_told);
        heard.copied()
    }

    /// Records a fence of a store that is not known to be this member's own. Returns true if it
    /// must be persisted.
    pub(super) fn note(&mut self, of: StoreTag, fence: Fence) -> bool {
        if self.is_told || self.heard.get(&of) >= Some(&fence) {
            return false;
        }
        self.heard.insert(of, fence);
        if self.heard.len() > MOST_STORES {
            let lowest = self.heard.iter().min_by_key(|(_, fence)| **fence);
            let lowest = lowest.map(|(of, _)| *of);
            self.heard.retain(|of, _| Some(*of) != lowest);
            return lowest != Some(of);
        }
        true
    }

    /// Records which claims preceded the request that is about to be sent.
    pub(super) fn on_ask(&mut self) {
        if !self.is_told {
            self.when_asked.clone_from(&self.heard);
        }
    }

    /// Records the identity that the store reported. Returns the claims for that store, and true if
    /// the identity is new.
    pub(super) fn identify(&mut self, store: StoreTag) -> (Highest, bool) {
        self.is_told = true;
        let before = self.store.replace(store);
        let is_news = before != Some(store);
        self.is_replaced = is_news && before.is_some();
        let highest = Highest {
            when_asked: self.when_asked.get(&store).copied(),
            now: self.heard.get(&store).copied(),
        };
        (highest, is_news)
    }

    /// Returns the highest claims, whatever the store.
    pub(super) fn of_any(&self) -> Highest {
        Highest {
            when_asked: self.when_asked.values().max().copied(),
            now: self.heard.values().max().copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::FenceGossip;
    use crate::fence_log::MOST_STORES;
    use crate::{Fence, StoreTag};

    #[test]
    fn highest_fences_are_kept_when_there_are_too_many_stores() {
        let mut fence_gossip = FenceGossip::new(None, BTreeMap::new());
        let many = u32::try_from(MOST_STORES).unwrap();
        for it in 1..=many {
            assert!(fence_gossip.note(StoreTag(it), Fence(u64::from(it) + 10)));
        }
        assert!(!fence_gossip.note(StoreTag(99), Fence(10)), "lower than all");
        assert!(fence_gossip.note(StoreTag(99), Fence(12)), "in place of the lowest");
        assert!(!fence_gossip.note(StoreTag(99), Fence(11)));
        assert_eq!(fence_gossip.heard().len(), MOST_STORES);
        assert_eq!(fence_gossip.heard().get(&StoreTag(1)), None);
        assert_eq!(fence_gossip.heard().get(&StoreTag(99)), Some(&Fence(12)));
    }
}
