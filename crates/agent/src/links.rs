//! Links: TCP connections for frames that must arrive in order, and must not get lost while both
//! ends run.
//!
//! A link carries frames one way: the sender connects. Each frame follows its length. The caller
//! seals the frames, and this module does not look inside.
//!
//! A new connection is a stranger's. Within two seconds it must carry a frame that the agent's loop
//! admits: sealed under the group's key and not received before. Otherwise the connection is
//! closed. The number of strangers is limited, in total and per address, and a new one replaces the
//! oldest. Connections without a key can therefore neither exhaust the descriptors of this process
//! nor keep members out.
//!
//! After an admitted frame the connection may stay open and silent as long as the other kernel
//! answers keep-alive probes. A lifeline (see [`crate::lifeline`]) sends nothing more.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::fd_limit;

mod incoming;
mod outgoing;

/// The length of the longest frame.
pub(crate) const MOST_FRAME_BYTES: usize = 65_536;

/// The length of the prefix that holds a frame's length, the most significant byte first.
const LENGTH_BYTES: usize = 4;

/// The number of frames that may wait for one destination. Further frames are dropped.
const MOST_WAITING: usize = 1_024;

/// Limits on connections and waiting times.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// The largest number of members' connections.
    connections: usize,
    /// The largest number of strangers' connections.
    strangers: usize,
    /// The largest number of strangers' connections from one address. More members may share an
    /// address, because each is a stranger only until its first frame is admitted.
    strangers_per_address: usize,
    /// The time within which a stranger must send an admitted frame.
    hello_within: Duration,
    /// The time within which a frame that has begun must be complete. Otherwise the connection is
    /// closed.
    silence: Duration,
    /// The time after which a link without frames to send is closed.
    idle: Duration,
    connect_within: Duration,
    /// The pause before the second attempt, which is the last.
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

    /// Leaves three eighths of the descriptors to the rest of this process where the limit is low.
    fn within_descriptors(self) -> Self {
        Self {
            connections: self.connections.min(fd_limit::share_of_limit(2)),
            strangers: self.strangers.min(fd_limit::share_of_limit(8)),
            strangers_per_address: self.strangers_per_address.min(fd_limit::share_of_limit(16)),
            ..self
        }
    }
}

/// A frame that arrived over a link.
#[derive(Debug)]
pub(crate) struct Arrival {
    /// The address of the sender.
    pub(crate) from: SocketAddr,
    pub(crate) frame: Vec<u8>,
    /// Present if the connection is a stranger's. It receives whether the frame was admitted.
    waits: Option<oneshot::Sender<bool>>,
}

impl Arrival {
    /// Creates the arrival of a frame from a stranger. Also returns the receiver of the verdict.
    pub(crate) fn from_stranger(
        from: SocketAddr,
        frame: Vec<u8>,
    ) -> (Self, oneshot::Receiver<bool>) {
        let (waits, verdict) = oneshot::channel();
        let waits = Some(waits);
        (Self { from, frame, waits }, verdict)
    }

    /// Tells the connection whether the frame was admitted. If it was, the connection becomes a
    /// member's.
    pub(crate) fn judge(self, is_admitted: bool) {
        if let Some(waits) = self.waits {
            // The connection may have ended in the meantime.
            let _ = waits.send(is_admitted);
        }
    }
}

/// All links of an agent. They end when dropped.
pub(crate) struct Links {
    outgoing: BTreeMap<SocketAddr, mpsc::Sender<Vec<u8>>>,
    incoming: JoinHandle<()>,
    limits: Limits,
    counts: Arc<LinkCounts>,
}

/// The counters of the links.
#[derive(Debug, Default)]
struct LinkCounts {
    /// Frames that could not be sent: too long, too many waiting, or the destination unreachable.
    dropped: AtomicU64,
    /// Connections that were not accepted, because there were too many.
    refused: AtomicU64,
    /// Connections that were closed because no frame was admitted in time, or to make room for
    /// newer ones.
    strangers: AtomicU64,
    /// Connections that were closed because a frame was empty or too long.
    misfits: AtomicU64,
    /// Connections that were closed because they fell silent within a frame.
    silent: AtomicU64,
}

impl Links {
    /// Accepts links at `listener` and sends their frames to `heard`, whose receiver judges each.
    pub(crate) fn open(listener: TcpListener, heard: mpsc::Sender<Arrival>) -> Self {
        Self::with_limits(listener, heard, Limits::FIELD.within_descriptors())
    }

    fn with_limits(listener: TcpListener, heard: mpsc::Sender<Arrival>, limits: Limits) -> Self {
        let counts = Arc::new(LinkCounts::default());
        let incoming = incoming::accept(listener, heard, limits, Arc::clone(&counts));
        Self { outgoing: BTreeMap::new(), incoming: tokio::spawn(incoming), limits, counts }
    }

    /// Sends a sealed frame to `to`, after all frames sent there before.
    pub(crate) fn send(&mut self, to: SocketAddr, frame: Vec<u8>) {
        if frame.is_empty() || frame.len() > MOST_FRAME_BYTES {
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let sent = match self.outgoing.get(&to) {
            Some(link) => link.try_send(frame),
            None => Err(TrySendError::Closed(frame)),
        };
        match sent {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => _ = self.counts.dropped.fetch_add(1, Ordering::Relaxed),
            Err(TrySendError::Closed(frame)) => self.begin(to, frame),
        }
    }

    /// Opens a link to `to` with `frame` as its first frame.
    fn begin(&mut self, to: SocketAddr, frame: Vec<u8>) {
        self.outgoing.retain(|_, link| !link.is_closed());
        let (link, waiting) = mpsc::channel(MOST_WAITING);
        // The channel is new, so there is room.
        let _ = link.try_send(frame);
        let counts = Arc::clone(&self.counts);
        tokio::spawn(outgoing::serve(to, waiting, self.limits, counts));
        self.outgoing.insert(to, link);
    }
}

/// Returns a frame as it is written to a connection: its length, then its bytes.
pub(crate) fn framed(frame: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(LENGTH_BYTES + frame.len());
    push(&mut bytes, frame);
    bytes
}

/// Appends a frame to frames that are written together.
fn push(bytes: &mut Vec<u8>, frame: &[u8]) {
    let length: [u8; LENGTH_BYTES] = (frame.len() as u32).to_be_bytes();
    bytes.extend_from_slice(&length);
    bytes.extend_from_slice(frame);
}

impl Drop for Links {
    fn drop(&mut self) {
        self.incoming.abort();
        tracing::debug!("links end: {:?}", self.counts);
    }
}

#[cfg(test)]
mod tests;
