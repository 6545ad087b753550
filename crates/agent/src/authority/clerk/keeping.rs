//! When what was seen is to be kept on disk: at once, and if that fails again and again, with pauses that grow.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hustings_protocol::{Duration, Instant};

/// The pause after the first failure, and the longest: a disk that was mended is noticed so late at most.
const PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Keeping {
    /// Whether there is something that is not kept yet, nor being kept.
    has_news: bool,
    /// Nothing is tried before.
    not_before: Instant,
    /// The pause after the next failure.
    pause: Duration,
    /// Whether the last try failed, for others to see.
    is_stuck: Arc<AtomicBool>,
}

impl Keeping {
    pub(super) fn new(is_stuck: Arc<AtomicBool>) -> Self {
        Self {
            has_news: false,
            not_before: Instant::START,
            pause: PAUSE,
            is_stuck,
        }
    }

    /// Something was seen that is to be kept.
    pub(super) fn note(&mut self) {
        self.has_news = true;
    }

    /// When to keep what is not kept yet.
    pub(super) fn due(&self) -> Option<Instant> {
        self.has_news.then_some(self.not_before)
    }

    /// All that was seen is being kept from here on.
    pub(super) fn begin(&mut self) {
        self.has_news = false;
    }

    pub(super) fn succeed(&mut self) {
        (self.not_before, self.pause) = (Instant::START, PAUSE);
        self.is_stuck.store(false, Ordering::Relaxed);
    }

    /// What is being kept has taken too long. It is kept once more when that has ended.
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
