//! What was heard lately.

use std::collections::VecDeque;

use rand_core::Rng;

use super::{Id, MOST_NAMED};
use crate::scatter::fit;
use crate::{Duration, Instant};

/// What was heard lately, the oldest first. Looking one up goes through all: they are few.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Memory<M> {
    heard: VecDeque<Heard<M>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Heard<M> {
    id: Id,
    /// When it was heard.
    at: Instant,
    /// When it was said, as far as can be told.
    said: Instant,
    /// What was said, while somebody may have missed it.
    payload: Option<M>,
}

impl<M: Clone> Memory<M> {
    pub(super) fn new() -> Self {
        Self {
            heard: VecDeque::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.heard.len()
    }

    pub(super) fn knows(&self, id: Id) -> bool {
        self.heard.iter().any(|it| it.id == id)
    }

    /// Whether it has anything that somebody may have missed.
    pub(super) fn holds_any(&self) -> bool {
        self.heard.iter().any(|it| it.payload.is_some())
    }

    pub(super) fn enter(&mut self, id: Id, age: Duration, payload: M, now: Instant) {
        self.heard.push_back(Heard {
            id,
            at: now,
            said: Instant(now.0.saturating_sub(age.0)),
            payload: Some(payload),
        });
    }

    /// Lets go of payloads that were said `life` ago, and forgets what was heard twice as long ago: by then every copy
    /// is gone, unless messages took longer than `life`.
    pub(super) fn expire(&mut self, life: Duration, now: Instant) {
        while self.heard.front().is_some_and(|it| now - it.at >= life * 2) {
            self.heard.pop_front();
        }
        for it in &mut self.heard {
            if now - it.said >= life {
                it.payload = None;
            }
        }
    }

    /// What was said, and how long ago.
    pub(super) fn get(&self, id: Id, now: Instant) -> Option<(Duration, M)> {
        let it = self.heard.iter().find(|it| it.id == id)?;
        let payload = it.payload.clone()?;
        Some((now - it.said, payload))
    }

    /// What it has; of more than fit, some in a row that begins anywhere.
    pub(super) fn digest(&self, rng: &mut impl Rng) -> Vec<Id> {
        let held = || self.heard.iter().filter(|it| it.payload.is_some());
        let count = held().count();
        let first = match count > MOST_NAMED {
            true => fit(rng.next_u64(), count as u64) as usize,
            false => 0,
        };
        let ids = held().chain(held()).map(|it| it.id);
        ids.skip(first).take(count.min(MOST_NAMED)).collect()
    }
}
