//! The sending side of links.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::{Limits, LinkCounts, MOST_FRAME_BYTES, push};

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
    let mut batch = Batch::default();
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
        batch.fill(&frame, &mut waiting);
        if link.write(&batch.bytes).await.is_err() {
            let mut dropped = batch.frames;
            // The frames behind this one would fail too, and be late.
            while waiting.try_recv().is_ok() {
                dropped += 1;
            }
            counts.dropped.fetch_add(dropped, Ordering::Relaxed);
            tracing::debug!("dropped {dropped} frames to {to}, which cannot be reached");
        }
    }
}

/// Frames that are written together.
#[derive(Default)]
struct Batch {
    frames: u64,
    bytes: Vec<u8>,
}

impl Batch {
    /// Fills the batch with `first` and the frames that wait behind it.
    fn fill(&mut self, first: &[u8], waiting: &mut mpsc::Receiver<Vec<u8>>) {
        self.frames = 0;
        self.bytes.clear();
        self.push(first);
        while self.bytes.len() < MOST_BATCH_BYTES
            && let Ok(frame) = waiting.try_recv()
        {
            self.push(&frame);
        }
    }

    fn push(&mut self, frame: &[u8]) {
        push(&mut self.bytes, frame);
        self.frames += 1;
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
