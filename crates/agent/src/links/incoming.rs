//! The receiving side of links.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet, yield_now};
use tokio::time::timeout;

use super::{Arrival, Limits, LinkCounts, MOST_FRAME_BYTES};

/// The pause after a failed accept, for example when no descriptors are left.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(50);

/// The size of the read buffer of each connection: enough for most frames.
const BUFFER_BYTES: usize = 1_024;

/// Accepts connections and reads from each. When this task is aborted, all connections end.
pub(super) async fn accept(
    listener: TcpListener,
    heard: mpsc::Sender<Arrival>,
    limits: Limits,
    counts: Arc<LinkCounts>,
) {
    let mut connections = JoinSet::new();
    let mut strangers = Strangers::default();
    loop {
        let accepted = tokio::select! {
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        // A connection that has ended is not a member's, even if many end at once.
        while connections.try_join_next().is_some() {}
        strangers.forget_others();
        let members = connections.len().saturating_sub(strangers.0.len());
        match accepted {
            Ok(_) if members >= limits.connections => {
                counts.refused.fetch_add(1, Ordering::Relaxed);
            }
            Ok((stream, from)) => {
                if strangers.make_room_for(from.ip(), &limits) {
                    counts.strangers.fetch_add(1, Ordering::Relaxed);
                    yield_now().await; // the evicted connection closes before another is accepted
                }
                let (heard, counts) = (heard.clone(), Arc::clone(&counts));
                let is_known = Arc::<AtomicBool>::default();
                let knows = Arc::clone(&is_known);
                let task = connections.spawn(async move {
                    let ending = listen(stream, from, &heard, limits, &knows).await;
                    count(ending, &counts);
                });
                strangers.0.push_back(Stranger { address: from.ip(), is_known, task });
            }
            Err(_) => tokio::time::sleep(ACCEPT_AGAIN_AFTER).await,
        }
    }
}

/// The connections without an admitted frame, the oldest first.
#[derive(Default)]
struct Strangers(VecDeque<Stranger>);

struct Stranger {
    address: IpAddr,
    /// True once a frame was admitted: the connection is no longer a stranger's.
    is_known: Arc<AtomicBool>,
    task: AbortHandle,
}

impl Strangers {
    /// Removes connections that have ended or are no longer strangers'.
    fn forget_others(&mut self) {
        let is_stranger =
            |it: &Stranger| !it.is_known.load(Ordering::Relaxed) && !it.task.is_finished();
        self.0.retain(is_stranger);
    }

    /// Closes the oldest stranger's connection if a new one from `address` would exceed a limit:
    /// the oldest from that address, or the oldest of all. Returns true if it closed one.
    fn make_room_for(&mut self, address: IpAddr, limits: &Limits) -> bool {
        let is_from_there = |it: &Stranger| it.address == address;
        let from_there = self.0.iter().filter(|it| is_from_there(it)).count();
        let oldest = if from_there >= limits.strangers_per_address {
            self.0.iter().position(is_from_there)
        } else {
            (self.0.len() >= limits.strangers).then_some(0)
        };
        let oldest = oldest.and_then(|index| self.0.remove(index));
        if let Some(stranger) = &oldest {
            stranger.task.abort();
        }
        oldest.is_some()
    }
}

/// The reason for which a connection ended.
#[derive(Debug, Clone, Copy)]
enum Ending {
    /// The other end closed the connection, or it broke, or this agent has ended.
    Closed,
    /// A frame had a length of 0 or above the maximum.
    Misfit,
    /// No frame was admitted in time.
    Stranger,
    Silent,
}

fn count(ending: Ending, counts: &LinkCounts) {
    match ending {
        Ending::Closed => {}
        Ending::Misfit => _ = counts.misfits.fetch_add(1, Ordering::Relaxed),
        Ending::Stranger => _ = counts.strangers.fetch_add(1, Ordering::Relaxed),
        Ending::Silent => _ = counts.silent.fetch_add(1, Ordering::Relaxed),
    }
}

async fn listen(
    stream: TcpStream,
    from: SocketAddr,
    heard: &mpsc::Sender<Arrival>,
    limits: Limits,
    is_known: &AtomicBool,
) -> Ending {
    keep_alive(&stream, limits.silence);
    let mut stream = BufReader::with_capacity(BUFFER_BYTES, stream);
    match timeout(limits.hello_within, introduce(&mut stream, from, heard)).await {
        Err(_) => return Ending::Stranger,
        Ok(Err(ending)) => return ending,
        Ok(Ok(())) => is_known.store(true, Ordering::Relaxed),
    }
    loop {
        // A lifeline sends nothing more. The end of the connection ends this wait too.
        if stream.fill_buf().await.is_err() {
            return Ending::Closed;
        }
        match timeout(limits.silence, read_frame(&mut stream)).await {
            Err(_) => return Ending::Silent,
            Ok(Err(ending)) => return ending,
            Ok(Ok(frame)) => {
                let waits = None;
                let arrival = Arrival { from, frame, waits };
                if heard.send(arrival).await.is_err() {
                    return Ending::Closed;
                }
            }
        }
    }
}

/// Returns once a frame was admitted. The first frame need not be: a link that broke repeats frames
/// that may have arrived before.
async fn introduce(
    stream: &mut BufReader<TcpStream>,
    from: SocketAddr,
    heard: &mpsc::Sender<Arrival>,
) -> Result<(), Ending> {
    loop {
        let frame = read_frame(stream).await?;
        let (arrival, verdict) = Arrival::from_stranger(from, frame);
        heard.send(arrival).await.map_err(|_| Ending::Closed)?;
        if verdict.await.map_err(|_| Ending::Closed)? {
            return Ok(());
        }
    }
}

async fn read_frame(stream: &mut BufReader<TcpStream>) -> Result<Vec<u8>, Ending> {
    let closed = |_: io::Error| Ending::Closed;
    let length = stream.read_u32().await.map_err(closed)? as usize;
    if length == 0 || length > MOST_FRAME_BYTES {
        return Err(Ending::Misfit);
    }
    // The buffer grows with the bytes that arrive, not with the announced length.
    let mut frame = Vec::new();
    let mut rest = stream.take(length as u64);
    rest.read_to_end(&mut frame).await.map_err(closed)?;
    if frame.len() == length { Ok(frame) } else { Err(Ending::Closed) }
}

/// Enables keep-alive probes, by which the kernel notices that the other host is gone. A lifeline
/// itself carries no data.
fn keep_alive(stream: &TcpStream, silence: Duration) {
    let probes =
        TcpKeepalive::new().with_time(silence / 2).with_interval(silence / 8).with_retries(4);
    if let Err(error) = SockRef::from(stream).set_tcp_keepalive(&probes) {
        tracing::debug!("cannot set keep-alive on a link: {error}");
    }
}
