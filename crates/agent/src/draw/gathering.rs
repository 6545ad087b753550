//! How the members of a ring find each other: nobody begins before all are there.
//!
//! Each connects to its right neighbour and waits for its left one. Who has both says so to both, and says again each time it
//! has heard that from both: after k times from one side there are k members on that side. Somebody who is not there yet,
//! or goes and comes back, is waited for: nothing has been drawn.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hustings_protocol::wagner::fault::Side;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::link::{Broken, Ends, Link};
use super::said::Frame;

/// So long a connection may take to become a link.
const LINKED_WITHIN: Duration = Duration::from_secs(5);

/// Before the next attempt to reach a neighbour.
const AGAIN_AFTER: Duration = Duration::from_millis(200);

/// So many connections may be about to become links: more are refused.
const MOST_CALLERS: usize = 64;

/// Both links of a member.
pub(super) struct Links {
    pub(super) left: Link,
    pub(super) right: Link,
}

impl Links {
    pub(super) fn to(&self, side: Side) -> &Link {
        match side {
            Side::Left => &self.left,
            Side::Right => &self.right,
        }
    }
}

/// A gathering under way.
pub(super) struct Gathering {
    ends: Ends,
    slots: [Slot; 2],
    /// How often this member has said that it is there.
    said: u32,
    refused: Arc<AtomicU64>,
}

/// One side.
#[derive(Default)]
struct Slot {
    link: Option<Link>,
    heard: u32,
    /// Why there is no link yet.
    trouble: Option<Broken>,
}

impl Gathering {
    pub(super) fn new(ends: Ends, refused: Arc<AtomicU64>) -> Self {
        Self {
            ends,
            slots: Default::default(),
            said: 0,
            refused,
        }
    }

    /// Waits until all members are there.
    pub(super) async fn gather(&mut self, listener: TcpListener) -> Option<Links> {
        let (found, mut candidates) = mpsc::channel(1);
        let callers = accept(listener, self.ends.clone(), found.clone());
        let _callers = Aborted(tokio::spawn(callers));
        let mut calls = self.call(Duration::ZERO, &found);
        while !self.is_complete() {
            let [left, right] = &mut self.slots;
            tokio::select! {
                Some((side, link)) = candidates.recv() => self.seat(side, link),
                frame = hear(&mut left.link), if left.heard < self.ends.waves() => self.on_frame(Side::Left, frame),
                frame = hear(&mut right.link), if right.heard < self.ends.waves() => {
                    self.on_frame(Side::Right, frame);
                    if self.slots[1].link.is_none() {
                        // Two that hold one key throw each other out: not as fast as they can.
                        calls = self.call(AGAIN_AFTER, &found);
                    }
                }
            }
            self.tell();
        }
        drop(calls);
        let [left, right] = &mut self.slots;
        Some(Links {
            left: left.link.take()?,
            right: right.link.take()?,
        })
    }

    /// Who is missing, as far as this member can tell, and why.
    pub(super) fn missing(&self) -> String {
        let missing = |side| {
            let slot = self.slot(side);
            let why = slot.trouble.as_ref();
            let why = why.map_or_else(String::new, |why| format!(" ({why})"));
            let name = &self.ends.neighbour(side).name;
            slot.link.is_none().then(|| format!("{name}{why}"))
        };
        let missing: Vec<String> = [Side::Left, Side::Right]
            .into_iter()
            .filter_map(missing)
            .collect();
        match missing.is_empty() {
            true => "somebody who is no neighbour of this member".to_owned(),
            false => missing.join(" and "),
        }
    }

    fn is_complete(&self) -> bool {
        let waves = self.ends.waves();
        self.slots.iter().all(|it| it.heard >= waves)
    }

    /// Calls the right neighbour, after a while, until it answers as it should.
    fn call(&self, after: Duration, found: &mpsc::Sender<Found>) -> Aborted {
        let (ends, found) = (self.ends.clone(), found.clone());
        Aborted(tokio::spawn(async move {
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
        }))
    }

    /// A connection has become a link, or has not. A later link of the same neighbour takes the place of an earlier one,
    /// which may be that of a process that is gone.
    fn seat(&mut self, side: Side, link: Result<Link, Broken>) {
        let name = self.ends.neighbour(side).name.clone();
        match link {
            Ok(link) => {
                tracing::info!("{name} is there");
                (1..=self.said).for_each(|wave| link.say(Frame::Ready(wave)));
                *self.slot_mut(side) = Slot {
                    link: Some(link),
                    ..Slot::default()
                };
            }
            Err(why) => {
                if side == Side::Left {
                    self.refused.fetch_add(1, Ordering::Relaxed);
                    tracing::warn!("a connection was refused: {why}");
                }
                let slot = self.slot_mut(side);
                if slot.trouble.as_ref() != Some(&why) {
                    tracing::info!("no link to {name} yet: {why}");
                    self.slot_mut(side).trouble = Some(why);
                }
            }
        }
    }

    fn on_frame(&mut self, side: Side, frame: Result<Frame, Broken>) {
        let slot = self.slot_mut(side);
        match frame {
            Ok(Frame::Ready(wave)) if wave == slot.heard + 1 => slot.heard = wave,
            Ok(Frame::Ready(_) | Frame::Said(_) | Frame::Statement(_)) => {
                self.lose(side, Broken::Nonsense);
            }
            Err(why) => self.lose(side, why),
        }
    }

    fn lose(&mut self, side: Side, why: Broken) {
        tracing::info!("{} is gone: {why}", self.ends.neighbour(side).name);
        *self.slot_mut(side) = Slot {
            trouble: Some(why),
            ..Slot::default()
        };
    }

    /// Says how many are there, if it is more than before.
    fn tell(&mut self) {
        let [left, right] = &self.slots;
        let (Some(to_left), Some(to_right)) = (&left.link, &right.link) else {
            return;
        };
        let most = self.ends.waves().min(left.heard.min(right.heard) + 1);
        for wave in self.said + 1..=most {
            to_left.say(Frame::Ready(wave));
            to_right.say(Frame::Ready(wave));
        }
        self.said = self.said.max(most);
    }

    fn slot(&self, side: Side) -> &Slot {
        match side {
            Side::Left => &self.slots[0],
            Side::Right => &self.slots[1],
        }
    }

    fn slot_mut(&mut self, side: Side) -> &mut Slot {
        match side {
            Side::Left => &mut self.slots[0],
            Side::Right => &mut self.slots[1],
        }
    }
}

impl Ends {
    /// How often all say that they are there, until everybody knows it of all.
    fn waves(&self) -> u32 {
        self.ring.len() / 2
    }
}

type Found = (Side, Result<Link, Broken>);

/// Takes calls, and makes links of those that are the left neighbour's.
async fn accept(listener: TcpListener, ends: Ends, found: mpsc::Sender<Found>) {
    let mut callers = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            Some(_) = callers.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok(_) if callers.len() >= MOST_CALLERS => {} // dropped
            Ok((stream, from)) => {
                let (ends, found) = (ends.clone(), found.clone());
                callers.spawn(async move {
                    let link = timeout(LINKED_WITHIN, Link::open(stream, Side::Left, &ends)).await;
                    let link = link.unwrap_or(Err(Broken::Late));
                    if let Err(why) = &link {
                        tracing::debug!("from {from}: {why}");
                    }
                    // If nobody wants it any more the draw has begun.
                    let _ = found.send((Side::Left, link)).await;
                });
            }
            // The system has no descriptors to give, for instance.
            Err(_) => sleep(AGAIN_AFTER).await,
        }
    }
}

/// What is heard on a link; nothing for ever where there is none.
async fn hear(link: &mut Option<Link>) -> Result<Frame, Broken> {
    match link {
        Some(link) => link.hear().await,
        None => std::future::pending().await,
    }
}

/// A task that ends when this is dropped.
struct Aborted(JoinHandle<()>);

impl Drop for Aborted {
    fn drop(&mut self) {
        self.0.abort();
    }
}
