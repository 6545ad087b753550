//! Leadership and councils as streams of server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::response::sse::Event;
use futures_core::Stream;
use serde::Serialize;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::server::{Busy, InProgress};
use crate::agent::Handle;

/// Streams the leadership of each group, then every change. Ends when the agent does.
pub(super) fn leaderships(agent: &Handle, in_progress: InProgress) -> Events {
    let (events, changes) = mpsc::channel(16);
    let groups = agent.groups();
    for watched in groups.iter().filter_map(|group| agent.watch(group)) {
        tokio::spawn(send_changes("leadership", watched, events.clone()));
    }
    Events { changes, _in_progress: in_progress }
}

/// Streams the seats that a centre knows or the seat of this host, then every change.
pub(super) fn councils(agent: &Handle, in_progress: InProgress) -> Events {
    let (events, changes) = mpsc::channel(16);
    for group in agent.groups() {
        if let Some(watched) = agent.watch_seat(&group) {
            tokio::spawn(send_changes("seat", watched, events.clone()));
        }
        if let Some(watched) = agent.watch_council(&group) {
            tokio::spawn(send_changes("council", watched, events.clone()));
        }
    }
    Events { changes, _in_progress: in_progress }
}

/// Sends the value of one group and its changes, until the client has gone or no further change can
/// come.
async fn send_changes<T: Serialize>(
    name: &'static str,
    mut watched: watch::Receiver<T>,
    events: mpsc::Sender<Event>,
) {
    loop {
        // The values are plain data, so serialisation to JSON cannot fail.
        let text = serde_json::to_string(&*watched.borrow_and_update()).unwrap_or_default();
        if events.send(Event::default().event(name).data(text)).await.is_err() {
            return;
        }
        let changed = tokio::select! {
            changed = watched.changed() => changed.is_ok(),
            () = events.closed() => false,
        };
        if !changed {
            return;
        }
    }
}

/// A stream of events: see [`leaderships`] and [`councils`].
pub(super) struct Events {
    changes: mpsc::Receiver<Event>,
    /// Keeps the connection busy, and the place of the stream.
    _in_progress: InProgress,
}

/// The open streams of events, the oldest first, and their limits.
///
/// The server cannot tell a client that reads from a client that does not: a stream carries a few
/// bytes a minute, which the kernel buffers. The oldest stream therefore makes room for a new one,
/// once it has lasted for `stays`. Without that time, more than `most` clients that reconnect when
/// closed would close each other without a pause.
pub(super) struct Streams {
    most: usize,
    stays: Duration,
    open: Mutex<VecDeque<(Instant, Weak<Busy>)>>,
}

impl Streams {
    /// Allows at most `most` streams at a time, each of which stays open for at least `stays`.
    pub(super) fn new(most: usize, stays: Duration) -> Self {
        let open = Mutex::default();
        Self { most, stays, open }
    }

    /// Reserves a place for the stream that answers `in_progress`, until that is dropped. If there
    /// are too many streams, closes the oldest. Returns false if there are too many and none has
    /// lasted long enough.
    pub(super) fn hold(&self, in_progress: &InProgress) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(_, it)| it.strong_count() > 0); // the others have ended
        if open.len() >= self.most {
            match open.pop_front_if(|(since, _)| since.elapsed() >= self.stays) {
                Some((_, oldest)) => _ = oldest.upgrade().map(|it| it.close()),
                None => return false,
            }
        }
        open.push_back((Instant::now(), Arc::downgrade(in_progress)));
        true
    }
}

impl Stream for Events {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.changes.poll_recv(context).map(|event| event.map(Ok))
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use axum::http::StatusCode;
    use axum::response::{IntoResponse, Response, Sse};
    use axum::routing::get;
    use axum::{Extension, Router};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::timeout;

    use super::super::server::{self, Bounds};
    use super::*;

    /// Longer than anything here takes.
    const SOON: Duration = Duration::from_secs(10);

    /// Starts a server of streams that send as much as their clients read.
    async fn server(streams: Streams) -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let streams = Arc::new(streams);
        let watch = async move |Extension(in_progress): Extension<InProgress>| -> Response {
            if !streams.hold(&in_progress) {
                return StatusCode::SERVICE_UNAVAILABLE.into_response();
            }
            let (events, changes) = mpsc::channel(16);
            tokio::spawn(async move {
                let event = || Event::default().event("event").data("x".repeat(4_096));
                while events.send(event()).await.is_ok() {}
            });
            Sse::new(Events { changes, _in_progress: in_progress }).into_response()
        };
        let router = Router::new().route("/v1/watch", get(watch));
        tokio::spawn(async move {
            server::serve(listener, Bounds::of(8), |_| router.clone()).await;
        });
        address
    }

    /// Requests a stream, and returns its connection and the status line of the answer.
    async fn watch(address: SocketAddr) -> (TcpStream, String) {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        let request = b"GET /v1/watch HTTP/1.1\r\nHost: localhost\r\n\r\n";
        stream.write_all(request).await.expect("it is open");
        let mut head = [0; 15];
        let read = timeout(SOON, stream.read_exact(&mut head)).await;
        read.expect("an answer in time").expect("an answer");
        (stream, String::from_utf8_lossy(&head).into_owned())
    }

    /// Reads until the connection ends or the time is over. Returns true if it ended.
    async fn ends(stream: &mut TcpStream, within: Duration) -> bool {
        let drain = async {
            let mut buffer = [0; 65_536];
            while stream.read(&mut buffer).await.is_ok_and(|it| it > 0) {}
        };
        timeout(within, drain).await.is_ok()
    }

    #[tokio::test]
    async fn oldest_stream_is_closed_for_a_new_one_even_if_unread() {
        let address = server(Streams::new(2, Duration::ZERO)).await;
        let mut streams = Vec::new();
        for _ in 0..4 {
            let (stream, status) = watch(address).await;
            assert_eq!(status, "HTTP/1.1 200 OK");
            streams.push(stream);
        }
        for closed in &mut streams[..2] {
            assert!(ends(closed, SOON).await);
        }
        for open in &mut streams[2..] {
            assert!(!ends(open, Duration::from_millis(100)).await);
        }
    }

    #[tokio::test]
    async fn recent_stream_is_not_closed_for_a_new_one() {
        let address = server(Streams::new(2, SOON * 6)).await;
        let (one, _) = watch(address).await;
        let (mut other, _) = watch(address).await;
        let (_, status) = watch(address).await;
        assert_eq!(status, "HTTP/1.1 503 Se");
        assert!(!ends(&mut other, Duration::from_millis(100)).await);
        drop(one);
        let room_again = async { while watch(address).await.1 != "HTTP/1.1 200 OK" {} };
        let room_again = timeout(SOON, room_again).await;
        room_again.expect("there is room after a stream has ended");
    }
}
