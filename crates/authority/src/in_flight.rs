//! The work that runs under tenure: its count, and the releases of a member that dies at work.
//!
//! Tenure is not released before the work under it has stopped.
//!
//! To release: (1) publish that the member no longer leads, (2) read the work count. To start work:
//! (1) increment the count, (2) read whether the member leads. Leadership is written and read under
//! one lock. So a worker that reads "leads" took the lock before the releaser wrote, and the
//! releaser, which reads the count later, sees the work.
//!
//! A member that dies without releasing its tenure leaves it to expire. A process that watched the
//! member die can shorten this ([`LastWill`]). It first makes sure that none of the member's work is
//! left. Then it sends the member's release, which the member sealed in advance. A release that is
//! sent too early, or by any other process, would let two members lead. So only a process that
//! supervises the member receives it.

use std::net::SocketAddr;
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
        Self { count: Arc::default(), stopped }
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

/// Sealed releases of everything that a member holds or has asked for, each with its destination.
/// Empty if the member holds nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LastWill(pub Vec<(SocketAddr, Vec<u8>)>);
