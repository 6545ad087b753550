//! Schedules writes of the fences seen: immediately, and after failures with growing pauses.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hustings_protocol::{Duration, Instant};

/// The pause after the first failure, and the longest pause. A repaired disk is noticed this late
/// at most.
const PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct PersistRetry {
    /// True if there is something to persist that no write in progress includes.
    has_news: bool,
    /// The earliest time of the next attempt.
    not_before: Instant,
    /// The pause after the next failure.
    pause: Duration,
    /// Published to other tasks: true if the last attempt failed.
    is_stuck: Arc<AtomicBool>,
}

impl PersistRetry {
    pub(super) fn new(is_stuck: Arc<AtomicBool>) -> Self {
        Self { has_news: false, not_before: Instant::START, pause: PAUSE, is_stuck }
    }

    /// Records that there is something to persist.
    pub(super) fn note(&mut self) {
        self.has_news = true;
    }

    /// The time of the next write, if there is something to persist.
    pub(super) fn due(&self) -> Option<Instant> {
        self.has_news.then_some(self.not_before)
    }

    /// Records that a write of everything seen up to now has started.
    pub(super) fn begin(&mut self) {
        self.has_news = false;
    }

    pub(super) fn succeed(&mut self) {
        (self.not_before, self.pause) = (Instant::START, PAUSE);
        self.is_stuck.store(false, Ordering::Relaxed);
    }

    /// Records that the write in progress takes too long. It is repeated when it has ended.
    pub(super) fn hang(&mut self) {
        self.has_news = true;
        self.is_stuck.store(true, Ordering::Relaxed);
    }

    pub(super) fn fail(&mut self, now: Instant) {
        self.has_news = true;
        self.not_before = now + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        self.is_stuck.store(true, Ordering::Relaxed);
    }
}
