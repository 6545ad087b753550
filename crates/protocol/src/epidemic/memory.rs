//! The recent multicasts.

use std::collections::VecDeque;

use rand_core::Rng;

use super::{Id, MOST_NAMED};
use crate::mix64::fit;
use crate::{Duration, Instant};

/// The recent multicasts, the oldest first. A lookup scans all of them: they are few.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RumourBuffer<M> {
    heard: VecDeque<StoredRumour<M>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct StoredRumour<M> {
    id: Id,
    /// The time at which it arrived.
    at: Instant,
    /// The estimated time at which it was sent.
    said: Instant,
    /// The content, while a member may have missed it.
    payload: Option<M>,
}

impl<M: Clone> RumourBuffer<M> {
    pub(super) fn new() -> Self {
        Self { heard: VecDeque::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.heard.len()
    }

    pub(super) fn knows(&self, id: Id) -> bool {
        self.heard.iter().any(|it| it.id == id)
    }

    /// True if there is a payload that a member may have missed.
    pub(super) fn holds_any(&self) -> bool {
        self.heard.iter().any(|it| it.payload.is_some())
    }

    pub(super) fn enter(&mut self, id: Id, age: Duration, payload: M, now: Instant) {
        self.heard.push_back(StoredRumour {
            id,
            at: now,
            said: Instant(now.0.saturating_sub(age.0)),
            payload: Some(payload),
        });
    }

    /// Drops payloads that were sent `repair_time` ago, and forgets multicasts that arrived twice as
    /// long ago: by then every copy is gone, unless messages took longer than `repair_time`.
    pub(super) fn expire(&mut self, repair_time: Duration, now: Instant) {
        while self.heard.front().is_some_and(|it| now - it.at >= repair_time * 2) {
            self.heard.pop_front();
        }
        for it in &mut self.heard {
            if now - it.said >= repair_time {
                it.payload = None;
            }
        }
    }

    /// The payload, and the time since it was sent.
    pub(super) fn get(&self, id: Id, now: Instant) -> Option<(Duration, M)> {
        let it = self.heard.iter().find(|it| it.id == id)?;
        let payload = it.payload.clone()?;
        Some((now - it.said, payload))
    }

    /// The identifiers of all payloads; if they do not all fit, a run of them from a random start.
    pub(super) fn digest(&self, rng: &mut impl Rng) -> Vec<Id> {
        let held = || self.heard.iter().filter(|it| it.payload.is_some());
        let count = held().count();
        let first = if count > MOST_NAMED { fit(rng.next_u64(), count as u64) as usize } else { 0 };
        let ids = held().chain(held()).map(|it| it.id);
        ids.skip(first).take(count.min(MOST_NAMED)).collect()
    }
}
