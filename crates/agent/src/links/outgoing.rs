//! The sending side of links: sends the frames that are queued for one destination over TCP. It
//! connects when there is something to send, retries once, drops the queue if that fails, and
//! closes an idle connection.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::{Limits, LinkCounts, MOST_FRAME_BYTES, framed, push};

/// A batch of waiting frames is written at once when it has reached this size.
const MOST_BATCH_BYTES: usize = MOST_FRAME_BYTES;

/// Sends the frames of the queue to `to` until the link has been idle for too long.
pub(super) async fn serve(
    to: SocketAddr,
    mut waiting: mpsc::Receiver<Vec<u8>>,
    limits: Limits,
    counts: Arc<LinkCounts>,
) {
    let mut link = Link { to, stream: None, limits };
    loop {
        let frame = tokio::select! {
            biased; // first: frames written to a connection that has ended are lost
            () = link.closed_by_the_other_end() => {
                link.stream = None;
                continue;
            }
            frame = waiting.recv() => frame,
            () = sleep(limits.idle) => {
                // A frame that was queued at the last moment is still sent. A later one opens a new
                // link.
                waiting.close();
                waiting.recv().await
            }
        };
        let Some(frame) = frame else { return };
        let (mut frames, mut bytes) = (1, framed(&frame));
        while bytes.len() < MOST_BATCH_BYTES
            && let Ok(frame) = waiting.try_recv()
        {
            frames += 1;
            push(&mut bytes, &frame);
        }
        if link.write(&bytes).await.is_err() {
            // The frames behind this one would fail too, and be late.
            let dropped = frames + std::iter::from_fn(|| waiting.try_recv().ok()).count() as u64;
            counts.dropped.fetch_add(dropped, Ordering::Relaxed);
            tracing::debug!("dropped {dropped} frames to {to}, which cannot be reached");
        }
    }
}

/// A connection to one destination. It is open only while there is something to send.
struct Link {
    to: SocketAddr,
    stream: Option<TcpStream>,
    limits: Limits,
}

impl Link {
    /// Writes `bytes`. If the connection breaks, writes them once more on a new one. Receivers
    /// recognise repeated frames by their numbers.
    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.try_write(bytes).await.is_ok() {
            return Ok(());
        }
        sleep(self.limits.back_off).await;
        self.try_write(bytes).await
    }

    async fn try_write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => self.connect().await?,
        };
        // A peer that accepts no bytes for this long counts as gone.
        timeout(self.limits.silence, stream.write_all(bytes)).await??;
        self.stream = Some(stream);
        Ok(())
    }

    async fn connect(&self) -> io::Result<TcpStream> {
        let connecting = TcpStream::connect(self.to);
        let stream = timeout(self.limits.connect_within, connecting).await??;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// Returns when the other end closes the connection. Received bytes count as the end too,
    /// because the other end of a link must not send any.
    async fn closed_by_the_other_end(&mut self) {
        match &mut self.stream {
            Some(stream) => _ = stream.read(&mut [0]).await,
            None => std::future::pending().await,
        }
    }
}
