//! Links: connections for what must arrive in order, and not get lost while both ends live.
//!
//! A link goes one way: whoever has something to say connects. On it frames follow each other, each
//! after its length. They are sealed by the caller; nothing here looks inside.
//!
//! A connection begins as a stranger's. Within two seconds a frame must come that the agent's loop lets in: sealed under the
//! group's key, and not heard before. Else the connection is closed. Strangers are few, in all and from one address, and a
//! newcomer takes the place of the oldest: so that connections without a key neither use up the descriptors of this process nor
//! keep members out. From then on a connection may stay, and be silent, for as long as its kernel answers: a lifeline (see
//! [`crate::lifeline`]) says nothing more.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::descriptors;

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
    /// Connections of members.
    connections: usize,
    /// Connections of strangers, in all.
    strangers: usize,
    /// Connections of strangers, from one address. More members than that may share an address: each of them is a stranger
    /// only until its first frame is heard.
    strangers_per_address: usize,
    /// A stranger has shown by then that it has the key.
    hello_within: Duration,
    /// A frame whose beginning has come is there by then, or else the connection is closed.
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
        strangers: 512,
        strangers_per_address: 256,
        hello_within: Duration::from_secs(2),
        silence: Duration::from_secs(120),
        idle: Duration::from_secs(60),
        connect_within: Duration::from_secs(1),
        back_off: Duration::from_millis(50),
    };

    /// Leaves three eighths of the descriptors to all else where this process may have few.
    fn within_descriptors(self) -> Self {
        Self {
            connections: self.connections.min(descriptors::share(2)),
            strangers: self.strangers.min(descriptors::share(8)),
            ..self
        }
    }
}

/// A frame that arrived over a link.
#[derive(Debug)]
pub(crate) struct Arrival {
    /// The address that it came from.
    pub(crate) from: SocketAddr,
    pub(crate) frame: Vec<u8>,
    /// The connection is a stranger's, which waits to hear whether the frame is let in.
    waits: Option<oneshot::Sender<bool>>,
}

impl Arrival {
    /// A frame on a connection that is a stranger's. Also what will be said of it.
    pub(crate) fn from_stranger(
        from: SocketAddr,
        frame: Vec<u8>,
    ) -> (Self, oneshot::Receiver<bool>) {
        let (waits, verdict) = oneshot::channel();
        let waits = Some(waits);
        (Self { from, frame, waits }, verdict)
    }

    /// Says whether the frame was let in: then the connection is a member's.
    pub(crate) fn judge(self, is_let_in: bool) {
        if let Some(waits) = self.waits {
            // The connection may have ended meanwhile.
            let _ = waits.send(is_let_in);
        }
    }
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
    /// Connections closed because no frame was let in in time, or newer ones needed their place.
    pub(crate) strangers: u64,
    /// Connections closed because a frame was longer than any may be, or empty.
    pub(crate) misfits: u64,
    /// Connections closed because they fell silent amid a frame.
    pub(crate) silent: u64,
}

#[derive(Debug, Default)]
struct Tally {
    dropped: AtomicU64,
    refused: AtomicU64,
    strangers: AtomicU64,
    misfits: AtomicU64,
    silent: AtomicU64,
}

impl Links {
    /// Hands what arrives at `listener` to `heard`, where each is judged.
    pub(crate) fn open(listener: TcpListener, heard: mpsc::Sender<Arrival>) -> Self {
        Self::with_limits(listener, heard, Limits::FIELD.within_descriptors())
    }

    fn with_limits(listener: TcpListener, heard: mpsc::Sender<Arrival>, limits: Limits) -> Self {
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
            strangers: read(&self.tally.strangers),
            misfits: read(&self.tally.misfits),
            silent: read(&self.tally.silent),
        }
    }
}

/// A frame as it is on a connection.
pub(crate) fn framed(frame: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(LENGTH_BYTES + frame.len());
    push(&mut bytes, frame);
    bytes
}

/// Adds a frame to those that are written together.
fn push(bytes: &mut Vec<u8>, frame: &[u8]) {
    let length: [u8; LENGTH_BYTES] = (frame.len() as u32).to_be_bytes();
    bytes.extend_from_slice(&length);
    bytes.extend_from_slice(frame);
}

impl Drop for Links {
    fn drop(&mut self) {
        self.incoming.abort();
        tracing::debug!("links end: {:?}", self.counts());
    }
}
