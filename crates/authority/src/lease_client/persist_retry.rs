//! Schedules writes of the fences seen: immediately, and after failures with growing pauses.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hustings_protocol::{Duration, Instant};

use super::Published;

/// The pause after the first failure, and the longest pause. A repaired disk is noticed this late
/// at most.
const PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct PersistRetry {
    /// True if there is something to persist that no write in progress includes.
    is_dirty: bool,
    /// The earliest time of the next attempt.
    not_before: Instant,
    /// The pause after the next failure.
    pause: Duration,
    /// Shows other tasks whether the last attempt failed.
    published: Arc<Published>,
}

impl PersistRetry {
    pub(super) fn new(published: Arc<Published>) -> Self {
        Self { is_dirty: false, not_before: Instant::START, pause: PAUSE, published }
    }

    /// Records that there is something to persist.
    pub(super) fn note(&mut self) {
        self.is_dirty = true;
    }

    /// The time of the next write, if there is something to persist.
    pub(super) fn due(&self) -> Option<Instant> {
        self.is_dirty.then_some(self.not_before)
    }

    /// Records that a write of everything seen up to now has started.
    pub(super) fn begin(&mut self) {
        self.is_dirty = false;
    }

    pub(super) fn succeed(&mut self) {
        (self.not_before, self.pause) = (Instant::START, PAUSE);
        self.published.is_stuck.store(false, Ordering::Relaxed);
    }

    /// Records that the write in progress takes too long. It is repeated when it has ended.
    pub(super) fn hang(&mut self) {
        self.is_dirty = true;
        self.published.is_stuck.store(true, Ordering::Relaxed);
    }

    pub(super) fn fail(&mut self, now: Instant) {
        self.is_dirty = true;
        self.not_before = now + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        self.published.is_stuck.store(true, Ordering::Relaxed);
    }
}
