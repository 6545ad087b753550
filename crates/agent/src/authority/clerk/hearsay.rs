//! What others were heard to hold, by the store that they hold it from.
//!
//! A store is known when it has told which it is. Before, a member cannot tell its own from one that somebody was given
//! by mistake, and what counts is for ever: so what it hears is kept by store until its own has told. Until then nothing
//! was granted to it that could be judged.

use std::collections::BTreeMap;

use crate::authority::memory::MOST_STORES;
use crate::authority::{Fence, Mark};

#[derive(Debug)]
pub(super) struct Hearsay {
    /// Its own store: as it told, or before that as it told in an earlier life.
    store: Option<Mark>,
    /// Whether it has told in this life.
    is_told: bool,
    /// Whether it told another identity than in an earlier life.
    is_replaced: bool,
    /// The highest of each store that is not known to be its own.
    heard: BTreeMap<Mark, Fence>,
    /// What that was when the store was asked last.
    when_asked: BTreeMap<Mark, Fence>,
}

/// The highest fence of one store: what was heard before it was asked last, and at all.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Highest {
    pub(super) when_asked: Option<Fence>,
    pub(super) now: Option<Fence>,
}

impl Hearsay {
    pub(super) fn new(store: Option<Mark>, heard: BTreeMap<Mark, Fence>) -> Self {
        Self {
            store,
            is_told: false,
            is_replaced: false,
            when_asked: heard.clone(),
            heard,
        }
    }

    pub(super) fn store(&self) -> Option<Mark> {
        self.store
    }

    pub(super) fn heard(&self) -> &BTreeMap<Mark, Fence> {
        &self.heard
    }

    pub(super) fn is_told(&self) -> bool {
        self.is_told
    }

    /// Whether the store told another identity in this life than it told before, so that it is another one, or has lost
    /// all that it knew.
    pub(super) fn is_replaced(&self) -> bool {
        self.is_replaced
    }

    /// The highest fence heard of a store that may be its own; none once its own has told that it is another.
    pub(super) fn mark(&self, of: Mark) -> Option<Fence> {
        let heard = self.heard.get(&of).filter(|_| !self.is_told);
        heard.copied()
    }

    /// Takes note of a fence of a store that is not known to be its own. Returns whether that is to be kept.
    pub(super) fn note(&mut self, of: Mark, fence: Fence) -> bool {
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

    /// The store is about to be asked.
    pub(super) fn on_ask(&mut self) {
        if !self.is_told {
            self.when_asked.clone_from(&self.heard);
        }
    }

    /// The store told which it is. Returns what was heard of it so far, and whether it is another one than was known.
    pub(super) fn identify(&mut self, store: Mark) -> (Highest, bool) {
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

    /// What was heard, whatever the store.
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

    use super::Hearsay;
    use crate::authority::memory::MOST_STORES;
    use crate::authority::{Fence, Mark};

    #[test]
    fn of_too_many_stores_the_highest_fences_are_kept() {
        let mut hearsay = Hearsay::new(None, BTreeMap::new());
        let many = u32::try_from(MOST_STORES).unwrap();
        for it in 1..=many {
            assert!(hearsay.note(Mark(it), Fence(u64::from(it) + 10)));
        }
        assert!(!hearsay.note(Mark(99), Fence(10)), "lower than all");
        assert!(hearsay.note(Mark(99), Fence(12)), "in place of the lowest");
        assert!(!hearsay.note(Mark(99), Fence(11)));
        assert_eq!(hearsay.heard().len(), MOST_STORES);
        assert_eq!(hearsay.heard().get(&Mark(1)), None);
        assert_eq!(hearsay.heard().get(&Mark(99)), Some(&Fence(12)));
    }
}
