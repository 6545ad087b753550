//! Who calls: the left neighbour, and anybody else.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};
use std::net::SocketAddr;

use hustings_protocol::wagner::fault::Side;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::account::Account;
use super::doors::{AGAIN_AFTER, Found, LINKED_WITHIN};
use super::link::{Broken, Ends, Link};

/// So many connections may be about to become links: more are refused.
const MOST_CALLERS: usize = 64;

/// Those who call.
pub(super) struct Callers {
    ends: Ends,
    found: mpsc::Sender<Found>,
    account: watch::Sender<Account>,
    refusals: Refusals,
    /// Why the last of them was refused; one that came in the left neighbour's name goes before others.
    last: Option<Broken>,
}

impl Callers {
    /// Links go to `found`, refusals to `account`.
    pub(super) fn new(
        ends: Ends,
        found: mpsc::Sender<Found>,
        account: watch::Sender<Account>,
    ) -> Self {
        Self {
            ends,
            found,
            account,
            refusals: Refusals::default(),
            last: None,
        }
    }

    /// Takes calls at `listener`, and makes links of those that are the left neighbour's; for ever.
    pub(super) async fn answer(mut self, listener: TcpListener) {
        let mut callers = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                Some(answered) = callers.join_next() => {
                    // They panic on nothing, and nobody aborts one of them alone.
                    if let Ok(Err(why)) = answered {
                        self.refuse(why);
                    }
                    continue;
                }
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok(_) if callers.len() >= MOST_CALLERS => self.refuse(Broken::Crowd),
                Ok((stream, from)) => {
                    callers.spawn(link(stream, from, self.ends.clone(), self.found.clone()));
                }
                // The system has no descriptors to give, for instance.
                Err(_) => sleep(AGAIN_AFTER).await,
            }
        }
    }

    /// A caller has not shown that it is the left neighbour, whatever it says.
    fn refuse(&mut self, why: Broken) {
        match self.refusals.add(&why) {
            Some(1) => tracing::warn!("a connection was refused: {why}"),
            Some(times) => tracing::warn!("a connection was refused, {times} times by now: {why}"),
            None => {}
        }
        // The neighbour itself, with another ring file or key, would call in its own name: no stranger's garbage hides that.
        let neighbour = &self.ends.neighbour(Side::Left).name;
        let is_named = |it: &Broken| it.is_in_name_of(neighbour);
        if is_named(&why) || !self.last.as_ref().is_some_and(is_named) {
            self.last = Some(why);
        }
        let last = self.last.as_ref().map(Broken::to_string);
        self.account.send_modify(|it| {
            it.refused += 1;
            it.last_refused = last;
        });
    }
}

/// Makes a link of one call, if it is the left neighbour's.
async fn link(
    stream: TcpStream,
    from: SocketAddr,
    ends: Ends,
    found: mpsc::Sender<Found>,
) -> Result<(), Broken> {
    let link = timeout(LINKED_WITHIN, Link::open(stream, Side::Left, &ends)).await;
    let link = link.unwrap_or(Err(Broken::Late));
    let link = link.inspect_err(|why| tracing::debug!("from {from}: {why}"))?;
    // If nobody wants it any more the draw is over.
    let _ = found.send((Side::Left, Ok(link))).await;
    Ok(())
}

/// How often calls were refused, by the kind of reason: the rest of it is the caller's word.
#[derive(Default)]
struct Refusals(HashMap<Discriminant<Broken>, u64>);

impl Refusals {
    /// Takes in one more. Tells how many there were, if it is time to say so: at once where the reason is a new one, and then
    /// ever more seldom, as a neighbour with another ring file calls several times a second, and a stranger as often as it likes.
    fn add(&mut self, why: &Broken) -> Option<u64> {
        let times = self.0.entry(discriminant(why)).or_default();
        *times += 1;
        times.is_power_of_two().then_some(*times)
    }
}
