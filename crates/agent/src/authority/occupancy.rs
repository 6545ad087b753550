//! Whether work goes on that is done under tenure: tenure is not given up before it has stopped.
//!
//! Who gives tenure up first says that its member no longer leads, and then looks whether work goes on. Who begins
//! work first counts it, and then looks whether the member leads. What is said of leadership is written and read under
//! one lock. So whoever reads that the member leads has had the lock before the writer, and the writer, which looks
//! later, sees the work.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// Counts the work that goes on in one group.
#[derive(Debug, Clone, Default)]
pub struct Occupancy {
    count: Arc<AtomicUsize>,
    /// Told when work stops.
    stopped: Arc<Notify>,
}

/// Work goes on until this is dropped.
#[derive(Debug)]
pub struct Occupation(Occupancy);

impl Occupancy {
    pub(crate) fn new(stopped: Arc<Notify>) -> Self {
        let count = Arc::default();
        Self { count, stopped }
    }

    /// Whether work goes on.
    pub fn is_occupied(&self) -> bool {
        self.count.load(Ordering::SeqCst) > 0
    }

    /// Work begins, and goes on until what this returns is dropped.
    pub fn begin(&self) -> Occupation {
        self.count.fetch_add(1, Ordering::SeqCst);
        Occupation(self.clone())
    }
}

impl Drop for Occupation {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::SeqCst);
        self.0.stopped.notify_one();
    }
}
