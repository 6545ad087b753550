//! Links: connections for what must arrive in order, and not get lost while both ends live.
//!
//! A link goes one way: whoever has something to say connects. On it frames follow each other, each
//! after its length. They are sealed by the caller; nothing here looks inside.
//!
//! Whoever connects and says nothing holds a lifeline (see [`crate::lifeline`]): it may stay for as
//! long as its kernel answers.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::task::JoinHandle;

mod incoming;
mod outgoing;
#[cfg(test)]
mod tests;

/// The longest frame.
pub(crate) const MOST_FRAME_BYTES: usize = 65_536;

/// A frame's length goes before it, the most significant byte first.
const LENGTH_BYTES: usize = 4;

/// So many frames wait for one destination; more are dropped.
const MOST_WAITING: usize = 1_024;

/// How many connections are accepted, and how long things may take.
#[derive(Debug, Clone, Copy)]
struct Limits {
    connections: usize,
    /// A connection that is no lifeline says something at least so often.
    silence: Duration,
    /// A link on which nothing is sent for so long is closed.
    idle: Duration,
    connect_within: Duration,
    /// Before the second attempt, which is the last one.
    back_off: Duration,
}

impl Limits {
    const FIELD: Self = Self {
        connections: 1_024,
        silence: Duration::from_secs(120),
        idle: Duration::from_secs(60),
        connect_within: Duration::from_secs(1),
        back_off: Duration::from_millis(50),
    };
}

/// All links of an agent. They end when dropped.
pub(crate) struct Links {
    outgoing: BTreeMap<SocketAddr, mpsc::Sender<Vec<u8>>>,
    incoming: JoinHandle<()>,
    limits: Limits,
    tally: Arc<Tally>,
}

/// What links have counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LinkCounts {
    /// Frames that could not be sent: too long, too many waiting, or nobody there.
    pub(crate) dropped: u64,
    /// Connections that were not accepted: there were too many.
    pub(crate) refused: u64,
    /// Connections closed because a frame was longer than any may be, or empty.
    pub(crate) misfits: u64,
    /// Connections closed because they fell silent.
    pub(crate) silent: u64,
}

#[derive(Debug, Default)]
struct Tally {
    dropped: AtomicU64,
    refused: AtomicU64,
    misfits: AtomicU64,
    silent: AtomicU64,
}

impl Links {
    /// Hands what arrives at `listener` to `heard`, with the address that it came from.
    pub(crate) fn open(listener: TcpListener, heard: mpsc::Sender<(SocketAddr, Vec<u8>)>) -> Self {
        Self::with_limits(listener, heard, Limits::FIELD)
    }

    fn with_limits(
        listener: TcpListener,
        heard: mpsc::Sender<(SocketAddr, Vec<u8>)>,
        limits: Limits,
    ) -> Self {
        let tally = Arc::new(Tally::default());
        let incoming = incoming::accept(listener, heard, limits, Arc::clone(&tally));
        Self {
            outgoing: BTreeMap::new(),
            incoming: tokio::spawn(incoming),
            limits,
            tally,
        }
    }

    /// Sends a sealed frame to `to`, after those sent there before.
    pub(crate) fn send(&mut self, to: SocketAddr, frame: Vec<u8>) {
        if frame.is_empty() || frame.len() > MOST_FRAME_BYTES {
            self.tally.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let sent = match self.outgoing.get(&to) {
            Some(link) => link.try_send(frame),
            None => Err(TrySendError::Closed(frame)),
        };
        match sent {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => {
                self.tally.dropped.fetch_add(1, Ordering::Relaxed);
            }
            Err(TrySendError::Closed(frame)) => self.begin(to, frame),
        }
    }

    /// Opens a link to `to`, with `frame` the first to be sent.
    fn begin(&mut self, to: SocketAddr, frame: Vec<u8>) {
        self.outgoing.retain(|_, link| !link.is_closed());
        let (link, waiting) = mpsc::channel(MOST_WAITING);
        // The channel is new: there is room.
        let _ = link.try_send(frame);
        let tally = Arc::clone(&self.tally);
        tokio::spawn(outgoing::serve(to, waiting, self.limits, tally));
        self.outgoing.insert(to, link);
    }

    /// What has been counted.
    pub(crate) fn counts(&self) -> LinkCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        LinkCounts {
            dropped: read(&self.tally.dropped),
            refused: read(&self.tally.refused),
            misfits: read(&self.tally.misfits),
            silent: read(&self.tally.silent),
        }
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        self.incoming.abort();
        tracing::debug!("links end: {:?}", self.counts());
    }
}
