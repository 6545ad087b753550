//! Counts the work that runs under tenure. Tenure is not released before that work has stopped.
//!
//! To release: (1) publish that the member no longer leads, (2) read the work count. To start work:
//! (1) increment the count, (2) read whether the member leads. Leadership is written and read under
//! one lock. So a worker that reads "leads" took the lock before the releaser wrote, and the
//! releaser, which reads the count later, sees the work.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// The number of pieces of work that run in one group.
#[derive(Debug, Clone, Default)]
pub struct InFlight {
    count: Arc<AtomicUsize>,
    /// Notified each time a piece of work stops.
    stopped: Arc<Notify>,
}

/// A piece of work. It counts as running until this guard is dropped.
#[derive(Debug)]
pub struct WorkGuard(InFlight);

impl InFlight {
    /// Creates a counter with no work. It notifies `stopped` each time a piece of work stops.
    pub fn new(stopped: Arc<Notify>) -> Self {
        let count = Arc::default();
        Self { count, stopped }
    }

    /// True if any work is running.
    pub fn is_occupied(&self) -> bool {
        self.count.load(Ordering::SeqCst) > 0
    }

    /// True if more than one piece of work is running.
    pub fn is_shared(&self) -> bool {
        self.count.load(Ordering::SeqCst) > 1
    }

    /// Starts a piece of work, which runs until the returned guard is dropped.
    pub fn begin(&self) -> WorkGuard {
        self.count.fetch_add(1, Ordering::SeqCst);
        WorkGuard(self.clone())
    }
}

impl Drop for WorkGuard {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::SeqCst);
        self.0.stopped.notify_one();
    }
}
