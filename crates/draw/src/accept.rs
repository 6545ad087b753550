//! Incoming connections, from the left neighbour or from any other process.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};
use std::net::SocketAddr;

use hustings_protocol::wagner::fault::Side;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::connect::{AGAIN_AFTER, Found, in_time};
use super::link::{Broken, Ends, Link};
use super::status::DrawStatus;

/// The largest number of connections that are in their handshake at once. Further ones are refused.
const MOST_CALLERS: usize = 64;

/// Accepts connections and turns those of the left neighbour into links.
pub(super) struct Acceptor {
    ends: Ends,
    found: mpsc::Sender<Found>,
    status: watch::Sender<DrawStatus>,
    refusals: Refusals,
    /// The reason for the last refusal. A refusal of a caller with the left neighbour's name takes
    /// precedence.
    last: Option<Broken>,
}

impl Acceptor {
    /// Creates an acceptor that sends links to `found` and counts refusals in `status`.
    pub(super) fn new(
        ends: Ends,
        found: mpsc::Sender<Found>,
        status: watch::Sender<DrawStatus>,
    ) -> Self {
        Self { ends, found, status, refusals: Refusals::default(), last: None }
    }

    /// Accepts connections at `listener` and turns those of the left neighbour into links. Never
    /// returns.
    pub(super) async fn answer(mut self, listener: TcpListener) {
        let mut accept = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                Some(answered) = accept.join_next() => {
                    // The tasks do not panic, and no code aborts a single one.
                    if let Ok(Err(why)) = answered {
                        self.refuse(why);
                    }
                    continue;
                }
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok(_) if accept.len() >= MOST_CALLERS => self.refuse(Broken::Crowd),
                Ok((stream, from)) => {
                    accept.spawn(link(stream, from, self.ends.clone(), self.found.clone()));
                }
                // For instance, the process has no file descriptors left.
                Err(_) => sleep(AGAIN_AFTER).await,
            }
        }
    }

    /// Counts and logs a caller that did not prove to be the left neighbour.
    fn refuse(&mut self, why: Broken) {
        match self.refusals.add(&why) {
            Some(1) => tracing::warn!("a connection was refused: {why}"),
            Some(times) => tracing::warn!(
                "a connection was refused, {times} times until now: \
                {why}"
            ),
            None => {}
        }
        // The neighbour itself, with another ring file or key, would use its own name. The garbage
        // of another process must not hide that.
        let neighbour = &self.ends.neighbour(Side::Left).name;
        let is_named = |it: &Broken| it.is_in_name_of(neighbour);
        if is_named(&why) || !self.last.as_ref().is_some_and(is_named) {
            self.last = Some(why);
        }
        let last = self.last.as_ref().map(Broken::to_string);
        self.status.send_modify(|it| {
            it.refused += 1;
            it.last_refused = last;
        });
    }
}

/// Performs the handshake on one connection.
async fn link(
    stream: TcpStream,
    from: SocketAddr,
    ends: Ends,
    found: mpsc::Sender<Found>,
) -> Result<(), Broken> {
    let link = in_time(Link::open(stream, Side::Left, &ends)).await;
    let link = link.inspect_err(|why| tracing::debug!("from {from}: {why}"))?;
    // Sending fails only when the draw is over.
    let _ = found.send((Side::Left, Ok(link))).await;
    Ok(())
}

/// The number of refusals by kind of reason. The rest of a reason is the caller's claim.
#[derive(Default)]
struct Refusals(HashMap<Discriminant<Broken>, u64>);

impl Refusals {
    /// Counts one more refusal. Returns the count if it should be logged: at the first refusal of a
    /// kind, and then at each power of two. A neighbour with another ring file connects several
    /// times a second, and a stranger as often as it likes.
    fn add(&mut self, why: &Broken) -> Option<u64> {
        let times = self.0.entry(discriminant(why)).or_default();
        *times += 1;
        times.is_power_of_two().then_some(*times)
    }
}
