//! Sources of links: connections from the left neighbour, and connections that this member makes to
//! its right neighbour.
//!
//! Both stay open during a draw. A process that connects too late, or that lost its link as the
//! draw began, then learns that the draw has begun.

use std::sync::Arc;
use std::time::Duration;

use hustings_protocol::wagner::fault::Side;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::accept::Acceptor;
use super::link::{Broken, Ends, LAST_WORDS_WITHIN, Link};
use super::signed::Frame;
use super::status::DrawStatus;

/// The time within which a connection must become a link.
const LINKED_WITHIN: Duration = Duration::from_secs(5);

/// The delay before the next attempt to reach a neighbour.
pub(super) const AGAIN_AFTER: Duration = Duration::from_millis(200);

/// A new link and its side. An error is reported only for connections that this member makes.
pub(super) type Found = (Side, Result<Link, Broken>);

/// Accepts the left neighbour's connection and connects to the right neighbour.
pub(super) struct Connector {
    ends: Ends,
    found: mpsc::Sender<Found>,
    came: mpsc::Receiver<Found>,
    _callers: Aborted,
    call: Option<Aborted>,
}

impl Connector {
    /// Accepts the left neighbour at `listener` and connects to the right one. Other callers are
    /// refused and counted in `status`.
    pub(super) fn open(
        listener: TcpListener,
        ends: Ends,
        status: watch::Sender<DrawStatus>,
    ) -> Self {
        let (found, came) = mpsc::channel(1);
        let accept = Acceptor::new(ends.clone(), found.clone(), status);
        let mut connect = Self {
            ends,
            found,
            came,
            _callers: Aborted(tokio::spawn(accept.answer(listener))),
            call: None,
        };
        connect.call(Duration::ZERO);
        connect
    }

    /// Waits for the next link or failed attempt.
    pub(super) async fn next(&mut self) -> Found {
        match self.came.recv().await {
            Some(found) => found,
            None => std::future::pending().await, // unreachable: this struct holds a sender
        }
    }

    /// Connects to the right neighbour after a delay, and retries until a link is up.
    pub(super) fn call(&mut self, after: Duration) {
        let (ends, found) = (self.ends.clone(), self.found.clone());
        self.call = Some(Aborted(tokio::spawn(async move {
            let address = ends.neighbour(Side::Right).address.clone();
            sleep(after).await;
            loop {
                let link = in_time(async {
                    let stream = TcpStream::connect(&address).await;
                    let stream = stream.map_err(|error| Broken::Connection(error.to_string()))?;
                    Link::open(stream, Side::Right, &ends).await
                });
                let link = link.await;
                let is_link = link.is_ok();
                if found.send((Side::Right, link)).await.is_err() || is_link {
                    return;
                }
                sleep(AGAIN_AFTER).await;
            }
        })));
    }

    /// Answers each new link with `Begun` and closes it. Never returns.
    pub(super) async fn answer_begun(&mut self) {
        loop {
            if let (_, Ok(link)) = self.next().await {
                link.send(Frame::Begun);
                tokio::spawn(timeout(LAST_WORDS_WITHIN, link.finish()));
            }
        }
    }

    /// Answers late callers from now on.
    pub(super) fn herald(mut self) -> Herald {
        let right_is_lost = Arc::new(Notify::new());
        let notice = Arc::clone(&right_is_lost);
        let task = tokio::spawn(async move {
            tokio::select! {
                () = self.answer_begun() => return,
                () = notice.notified() => {}
            }
            self.call(Duration::ZERO);
            self.answer_begun().await;
        });
        Herald { _task: Aborted(task), right_is_lost }
    }
}

/// Tells late callers that the draw has begun, until dropped.
pub(super) struct Herald {
    _task: Aborted,
    right_is_lost: Arc<Notify>,
}

impl Herald {
    /// Connects to the right neighbour once more: it may be waiting for a connection.
    pub(super) fn call_right(&self) {
        self.right_is_lost.notify_one();
    }
}

/// Waits until a connection is a link, at most for [`LINKED_WITHIN`].
pub(super) async fn in_time(
    link: impl Future<Output = Result<Link, Broken>>,
) -> Result<Link, Broken> {
    timeout(LINKED_WITHIN, link).await.unwrap_or(Err(Broken::Late))
}

/// A task that is aborted on drop.
struct Aborted(JoinHandle<()>);

impl Drop for Aborted {
    fn drop(&mut self) {
        self.0.abort();
    }
}
