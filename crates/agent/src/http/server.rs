//! An HTTP/1.1 server that no client can exhaust: connections, their idle time and the size of a
//! request are bounded.
//!
//! A connection is busy while a request on it is being answered, and idle otherwise. It is idle
//! before the head of a request has arrived completely, while its client does not read the answer,
//! and between two requests.
//!
//! - A connection that is idle for too long is closed.
//! - At the limit of connections a new connection replaces the one that has been idle for longest.
//!   Clients that connect and send nothing therefore keep no other client out.
//! - Endless answers (`/v1/watch`) stay busy. The handlers bound their number and close the
//!   connections of some ([`Busy::close`]).

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::serve::Listener;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tower_service::Service;

use super::Refusal;

/// The size limit of the head of a request, including all headers.
const MOST_HEAD_BYTES: usize = 16 * 1024;

/// Limits of one listener.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// The largest number of simultaneous connections.
    pub(crate) connections: usize,
    /// The time after which an idle connection is closed.
    pub(crate) idle: Duration,
}

impl Bounds {
    /// Limits with this number of connections, each of which may be idle for 15 seconds.
    pub(crate) const fn of(connections: usize) -> Self {
        let idle = Duration::from_secs(15);
        Self { connections, idle }
    }
}

/// Answers requests at `listener`, each connection by the routes that `routes` chooses for it.
/// Never returns.
pub(crate) async fn serve<L>(mut listener: L, bounds: Bounds, routes: impl Fn(&L::Io) -> Router)
where
    L: Listener,
    L::Io: 'static,
{
    let mut connections = Connections::default();
    loop {
        let (stream, _) = listener.accept().await;
        if let Some(watched) = connections.admit(bounds.connections) {
            let router = routes(&stream).layer(middleware::from_fn(refuse_bodies));
            tokio::spawn(converse(stream, router, watched, bounds.idle));
        }
    }
}

/// The state of a connection.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    Idle { since: Instant },
    Busy,
    Evicted,
}

/// The open connections of a listener.
#[derive(Debug, Default)]
struct Connections(Vec<watch::Sender<Phase>>);

impl Connections {
    /// Makes room for a new connection. Returns `None` if all of `most` connections are busy.
    fn admit(&mut self, most: usize) -> Option<Watched> {
        self.0.retain(|it| it.receiver_count() > 0); // the others have ended
        if self.0.len() >= most {
            let idle_since = |it: &watch::Sender<Phase>| match *it.borrow() {
                Phase::Idle { since } => Some(since),
                Phase::Busy | Phase::Evicted => None,
            };
            let idle = self.0.iter().enumerate();
            let idle = idle.filter_map(|(at, it)| Some((idle_since(it)?, at)));
            let (_, longest) = idle.min()?;
            self.0.swap_remove(longest).send_replace(Phase::Evicted);
        }
        let since = Instant::now();
        let (phase, watched) = watch::channel(Phase::Idle { since });
        self.0.push(phase.clone());
        Some((phase, watched))
    }
}

/// The phase of a connection, to change it and to watch it.
type Watched = (watch::Sender<Phase>, watch::Receiver<Phase>);

/// Changes the phase, unless the connection is about to be closed.
fn set(phase: &watch::Sender<Phase>, to: Phase) {
    phase.send_if_modified(|it| {
        let is_open = *it != Phase::Evicted;
        if is_open {
            *it = to;
        }
        is_open
    });
}

/// A request that is being answered. While a clone of it exists, its connection is busy. Each
/// request carries one as an extension. An answer that continues after its handler has returned
/// keeps one.
pub(super) type InProgress = Arc<Busy>;

#[derive(Debug)]
pub(super) struct Busy(watch::Sender<Phase>);

impl Busy {
    fn begin(phase: &watch::Sender<Phase>) -> InProgress {
        set(phase, Phase::Busy);
        Arc::new(Self(phase.clone()))
    }

    /// Closes the connection of this request, even if its client does not read the answer.
    pub(super) fn close(&self) {
        set(&self.0, Phase::Evicted);
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let since = Instant::now();
        set(&self.0, Phase::Idle { since });
    }
}

/// Answers the requests of one connection, until its client ends it or it has to make room.
async fn converse<S>(stream: S, router: Router, (phase, mut watched): Watched, longest: Duration)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let in_progress = Busy::begin(&phase);
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(in_progress.clone());
        let answer = router.clone().call(request);
        async move {
            let answer: Result<Response, Infallible> = answer.await;
            drop(in_progress);
            answer
        }
    });
    let mut http = http1::Builder::new();
    http.max_buf_size(MOST_HEAD_BYTES);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    loop {
        let phase = *watched.borrow_and_update();
        let closes_at = match phase {
            Phase::Evicted => return,
            Phase::Busy => None,
            Phase::Idle { since } => Some(since + longest),
        };
        tokio::select! {
            // The client closed the connection, or sent something invalid.
            _ = connection.as_mut() => return,
            changed = watched.changed() => if changed.is_err() {
                return;
            },
            () = sleep_until(closes_at.unwrap_or_else(Instant::now)), if closes_at.is_some() => {
                return;
            }
        }
    }
}

/// Refuses requests with a body. No request here needs one, and none is read.
async fn refuse_bodies(request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        next.run(request).await
    } else {
        let what = "a request with a body: leave it out, no request here has one".to_owned();
        Refusal(StatusCode::PAYLOAD_TOO_LARGE, what).into_response()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::timeout;

    use super::*;

    const BOUNDS: Bounds = Bounds { connections: 4, idle: Duration::from_millis(200) };
    /// Longer than anything here takes.
    const SOON: Duration = Duration::from_secs(10);

    /// Starts a server with a route that answers at once and a route that never does.
    async fn server(bounds: Bounds) -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let router = Router::new()
            .route("/now", get(async || "now"))
            .route("/never", get(async || std::future::pending::<()>().await));
        tokio::spawn(async move { serve(listener, bounds, |_| router.clone()).await });
        address
    }

    async fn open(address: SocketAddr, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        stream.write_all(request.as_bytes()).await.expect("it is open");
        stream
    }

    /// Returns the bytes that a connection still carries until it is closed.
    async fn rest(stream: &mut TcpStream) -> String {
        let mut text = Vec::new();
        // A reset closes the connection too.
        let _ = timeout(SOON, stream.read_to_end(&mut text)).await.expect("it is closed in time");
        String::from_utf8(text).expect("text")
    }

    const NOW: &str = "GET /now HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const NOW_AND_CLOSE: &str = "GET /now HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    const NEVER: &str = "GET /never HTTP/1.1\r\nHost: localhost\r\n\r\n";

    #[tokio::test]
    async fn idle_connections_are_closed_and_busy_ones_are_not() {
        let address = server(BOUNDS).await;
        let mut busy = open(address, NEVER).await;
        for idle in ["", "GET /now HTTP/1.1\r\nHost: loc", NOW] {
            let mut stream = open(address, idle).await;
            let said = rest(&mut stream).await;
            assert_eq!(said.ends_with("now"), idle == NOW, "{idle:?}: {said}");
        }
        let silent = timeout(BOUNDS.idle * 2, busy.read_u8()).await;
        assert!(silent.is_err(), "still open, without an answer");
    }

    /// A client that sends a byte now and then counts as idle, like one that sends none.
    #[tokio::test]
    async fn slowly_sent_request_head_is_closed_as_idle() {
        let address = server(BOUNDS).await;
        let mut slow = open(address, "GET /now HTTP/1.1\r\n").await;
        let trickle = async {
            loop {
                tokio::time::sleep(BOUNDS.idle / 8).await;
                if slow.write_all(b"X-A: b\r\n").await.is_err() {
                    return;
                }
            }
        };
        timeout(SOON, trickle).await.expect("it is closed while it trickles");
    }

    #[tokio::test]
    async fn silent_connections_make_room_for_new_ones_and_busy_ones_stay() {
        let bounds = Bounds { idle: Duration::from_secs(600), ..BOUNDS };
        let address = server(bounds).await;
        let _busy = [open(address, NEVER).await, open(address, NEVER).await];
        let mut silent = Vec::new();
        for _ in 0..20 {
            silent.push(open(address, "").await);
        }
        for _ in 0..20 {
            let mut asks = open(address, NOW_AND_CLOSE).await;
            assert!(rest(&mut asks).await.ends_with("now"));
        }
        // The first connection has been idle for longest.
        assert_eq!(rest(&mut silent[0]).await, "");
    }

    #[tokio::test]
    async fn no_more_connections_than_the_limit_are_answered_at_once() {
        let address = server(BOUNDS).await;
        let mut busy = Vec::new();
        for _ in 0..BOUNDS.connections {
            busy.push(open(address, NEVER).await);
        }
        tokio::time::sleep(BOUNDS.idle / 2).await; // until their requests have arrived
        let mut one_more = open(address, NOW_AND_CLOSE).await;
        assert_eq!(rest(&mut one_more).await, "", "closed without an answer");
        drop(busy.pop());
        let answered = async {
            loop {
                let mut asks = open(address, NOW_AND_CLOSE).await;
                if rest(&mut asks).await.ends_with("now") {
                    return;
                }
            }
        };
        timeout(SOON, answered).await.expect("there is room again");
    }

    #[tokio::test]
    async fn bodies_and_long_heads_are_refused() {
        let address = server(BOUNDS).await;
        let with_body = "GET /now HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999\r\n\r\nx";
        let said = rest(&mut open(address, with_body).await).await;
        assert!(said.starts_with("HTTP/1.1 413 "), "{said}");
        let long = format!("GET /now HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(MOST_HEAD_BYTES));
        let said = rest(&mut open(address, &long).await).await;
        assert!(said.starts_with("HTTP/1.1 431 ") || said.is_empty(), "{said}");
    }
}
