//! What others send over links.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{Limits, MOST_FRAME_BYTES, Tally};

/// After the operating system could not accept: it has no descriptors to give, for instance.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(50);

/// Accepts connections and listens to each, until aborted: then all end.
pub(super) async fn accept(
    listener: TcpListener,
    heard: mpsc::Sender<(SocketAddr, Vec<u8>)>,
    limits: Limits,
    tally: Arc<Tally>,
) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok(_) if connections.len() >= limits.connections => {
                tally.refused.fetch_add(1, Ordering::Relaxed);
            }
            Ok((stream, from)) => {
                let (heard, tally) = (heard.clone(), Arc::clone(&tally));
                connections.spawn(async move {
                    let ending = listen(stream, from, &heard, limits).await;
                    count(ending, &tally);
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_AGAIN_AFTER).await,
        }
    }
}

/// Why a connection ended.
#[derive(Debug, Clone, Copy)]
enum Ending {
    /// The other end closed it, or it broke, or nobody here listens any more.
    Closed,
    /// A frame of an impossible length.
    Misfit,
    Silent,
}

fn count(ending: Ending, tally: &Tally) {
    match ending {
        Ending::Closed => {}
        Ending::Misfit => _ = tally.misfits.fetch_add(1, Ordering::Relaxed),
        Ending::Silent => _ = tally.silent.fetch_add(1, Ordering::Relaxed),
    }
}

async fn listen(
    stream: TcpStream,
    from: SocketAddr,
    heard: &mpsc::Sender<(SocketAddr, Vec<u8>)>,
    limits: Limits,
) -> Ending {
    keep_alive(&stream, limits.silence);
    let mut stream = BufReader::new(stream);
    // Until the first byte it is a lifeline. Its end, too, is something to read.
    if stream.fill_buf().await.is_err() {
        return Ending::Closed;
    }
    loop {
        match timeout(limits.silence, read_frame(&mut stream)).await {
            Err(_) => return Ending::Silent,
            Ok(Err(_)) => return Ending::Closed,
            Ok(Ok(None)) => return Ending::Misfit,
            Ok(Ok(Some(frame))) => {
                if heard.send((from, frame)).await.is_err() {
                    return Ending::Closed;
                }
            }
        }
    }
}

/// None if its length is impossible.
async fn read_frame(stream: &mut BufReader<TcpStream>) -> io::Result<Option<Vec<u8>>> {
    let length = stream.read_u32().await? as usize;
    if length == 0 || length > MOST_FRAME_BYTES {
        return Ok(None);
    }
    let mut frame = vec![0; length];
    stream.read_exact(&mut frame).await?;
    Ok(Some(frame))
}

/// Lets the kernel find out whether the other host is still there: a lifeline says nothing itself.
fn keep_alive(stream: &TcpStream, silence: Duration) {
    let probes = TcpKeepalive::new()
        .with_time(silence / 2)
        .with_interval(silence / 8)
        .with_retries(4);
    if let Err(error) = SockRef::from(stream).set_tcp_keepalive(&probes) {
        tracing::debug!("no keep-alive on a link: {error}");
    }
}
