//! Checks whether any other member is still there.
//!
//! Purpose     tells a leader of silent followers from a member that is cut off
//! Inputs      the times of the last frames of each known member
//! Outputs     pings; members to be removed from the peer table
//! Owns        the time of the next check and a counter for asking members in turn
//! Invariants  the answers affect only the health verdict ([`health`](crate::node::health)) and the
//!             list of members in the status
//!
//! Followers are silent. A member that follows no other, such as a leader that announces itself,
//! may therefore receive nothing from a healthy group. After one second without a frame it pings
//! the member heard last. If there is no answer, it pings one more member each second.
//!
//! A member that follows no other also pings, one a second in turn, each member that has been
//! silent for ten seconds. A member without an answer for a minute is dropped from the list, with
//! two exceptions:
//! - a voter stays;
//! - a member that hears no other member drops none, because it may be cut off itself.
//!
//! If a failure detector runs, the detector asks, and no member is dropped here.

use std::net::SocketAddr;

use hustings_protocol::{Duration, Instant, MemberId};

use crate::frame::Body;
use crate::node::health::CUT_OFF_AFTER;
use crate::node::{Context, Event, Io, Route};
use crate::peer_table::{PeerInfo, Unanswered};
use crate::tenure::REACHED_WITHIN;

/// The time between two checks, and the silence after which members are pinged.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A member is dropped from the list after this many unanswered pings, over at least this time.
const DROP_AFTER: (u32, Duration) = (3, Duration::from_secs(60));

/// The time of the next check, and the member to ask next.
#[derive(Debug, Default)]
pub(super) struct Isolation {
    look_at: Option<Instant>,
    /// Counter for asking the known members in turn.
    turn: usize,
}

impl Isolation {
    pub(super) fn due(&self) -> Option<Instant> {
        self.look_at
    }

    /// Checks from now on, unless the election names another member or the group has no election.
    pub(super) fn watch(&mut self, io: &mut Io<'_>) {
        let follows = io.nominee.is_some_and(|id| id != io.me.id);
        let looks = !follows && !io.config.protocol.is_none();
        self.look_at = looks.then(|| io.now + LOOK_EVERY);
        if !looks {
            io.raise(Event::PeersAskedNoMore);
        }
    }

    /// Pings members that have been silent.
    ///
    /// - After [`LOOK_EVERY`] without a frame it pings the member heard last, which is the most
    ///   likely to be up.
    /// - It also pings, in turn, one of the members that have long been silent.
    /// - After twice [`LOOK_EVERY`] without a frame, the turn goes through all known members.
    pub(super) fn on_timeout(&mut self, io: &mut Io<'_>) {
        let now = io.now;
        if self.look_at.take_if(|at| *at <= now).is_none() {
            return;
        }
        self.look_at = Some(now + LOOK_EVERY);
        let known: Vec<(MemberId, &PeerInfo)> = io.context.peers.iter().collect();
        let Some(latest) = known.iter().max_by_key(|it| it.1.heard) else {
            return;
        };
        let silence = now - latest.1.heard;
        let mut asked: Vec<(MemberId, SocketAddr)> = Vec::new();
        if silence >= LOOK_EVERY {
            asked.push((latest.0, latest.1.address));
        }
        let asks_all = silence >= LOOK_EVERY * 2;
        let asks_silent = io.members.get().is_none();
        let is_asked = |it: &&(MemberId, &PeerInfo)| {
            asks_all || asks_silent && now - it.1.heard >= REACHED_WITHIN
        };
        let others: Vec<_> = known.iter().filter(is_asked).collect();
        if !others.is_empty() {
            let next = others[self.turn % others.len()];
            asked.push((next.0, next.1.address));
            self.turn = self.turn.wrapping_add(1);
        }
        asked.dedup();
        if asks_silent && silence < CUT_OFF_AFTER {
            let lost = known.iter().filter(|it| is_lost(it.0, it.1, io.context));
            lost.for_each(|it| io.raise(Event::PeerLost(it.0)));
        }
        for (id, address) in asked {
            io.raise(Event::PeerAsked(id));
            if let Some(challenge) = io.emit.entropy.next() {
                io.send_to(id, Route::To(address), &Body::Ping { challenge });
            }
        }
    }
}

/// True if a member has left enough pings unanswered for long enough. A voter stays.
fn is_lost(id: MemberId, peer: &PeerInfo, context: &Context) -> bool {
    let (count, span) = DROP_AFTER;
    let is_long = |it: Unanswered| it.count >= count && context.now - it.since >= span;
    peer.unanswered.is_some_and(is_long) && !context.voters.contains(&id)
}
