//! Where links come from: the left neighbour's calls, and this member's to its right neighbour.
//!
//! They stay open while a draw is under way, to tell whoever comes too late, or lost its link as the draw began, that it has.

use std::sync::Arc;
use std::time::Duration;

use hustings_protocol::wagner::fault::Side;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::account::Account;
use super::callers::Callers;
use super::link::{Broken, Ends, LAST_WORDS_WITHIN, Link};
use super::said::Frame;

/// So long a connection may take to become a link.
pub(super) const LINKED_WITHIN: Duration = Duration::from_secs(5);

/// Before the next attempt to reach a neighbour.
pub(super) const AGAIN_AFTER: Duration = Duration::from_millis(200);

/// A connection that has become a link to one side; or, of those that this member makes, has not.
pub(super) type Found = (Side, Result<Link, Broken>);

/// Both doors of a member.
pub(super) struct Doors {
    ends: Ends,
    found: mpsc::Sender<Found>,
    came: mpsc::Receiver<Found>,
    _callers: Aborted,
    call: Option<Aborted>,
}

impl Doors {
    /// The left neighbour calls at `listener`; the right one is called. Who else calls is refused, and counted in `account`.
    pub(super) fn open(listener: TcpListener, ends: Ends, account: watch::Sender<Account>) -> Self {
        let (found, came) = mpsc::channel(1);
        let callers = Callers::new(ends.clone(), found.clone(), account);
        let mut doors = Self {
            ends,
            found,
            came,
            _callers: Aborted(tokio::spawn(callers.answer(listener))),
            call: None,
        };
        doors.call(Duration::ZERO);
        doors
    }

    /// Who comes next.
    pub(super) async fn next(&mut self) -> Found {
        match self.came.recv().await {
            Some(found) => found,
            None => std::future::pending().await, // never: there is a sender here
        }
    }

    /// Calls the right neighbour, after a while, until it answers as it should.
    pub(super) fn call(&mut self, after: Duration) {
        let (ends, found) = (self.ends.clone(), self.found.clone());
        self.call = Some(Aborted(tokio::spawn(async move {
            let address = ends.neighbour(Side::Right).address.clone();
            sleep(after).await;
            loop {
                let link = timeout(LINKED_WITHIN, async {
                    let stream = TcpStream::connect(&address).await;
                    let stream = stream.map_err(|error| Broken::Connection(error.to_string()))?;
                    Link::open(stream, Side::Right, &ends).await
                });
                let link = link.await.unwrap_or(Err(Broken::Late));
                let is_link = link.is_ok();
                if found.send((Side::Right, link)).await.is_err() || is_link {
                    return;
                }
                sleep(AGAIN_AFTER).await;
            }
        })));
    }

    /// Tells whoever still comes that the draw has begun; for ever.
    pub(super) async fn tell_begun(&mut self) {
        loop {
            if let (_, Ok(link)) = self.next().await {
                link.say(Frame::Begun);
                tokio::spawn(timeout(LAST_WORDS_WITHIN, link.finish()));
            }
        }
    }
}

/// Tells those who are not part of a draw under way that it has begun, until dropped.
pub(super) struct Herald {
    _task: Aborted,
    right_is_lost: Arc<Notify>,
}

impl Herald {
    /// The right neighbour may be waiting to be called.
    pub(super) fn call_right(&self) {
        self.right_is_lost.notify_one();
    }
}

impl Doors {
    pub(super) fn herald(mut self) -> Herald {
        let right_is_lost = Arc::new(Notify::new());
        let notice = Arc::clone(&right_is_lost);
        let task = tokio::spawn(async move {
            tokio::select! {
                () = self.tell_begun() => return,
                () = notice.notified() => {}
            }
            self.call(Duration::ZERO);
            self.tell_begun().await;
        });
        Herald {
            _task: Aborted(task),
            right_is_lost,
        }
    }
}

/// A task that ends when this is dropped.
struct Aborted(JoinHandle<()>);

impl Drop for Aborted {
    fn drop(&mut self) {
        self.0.abort();
    }
}
