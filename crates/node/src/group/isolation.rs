//! Checks whether any other member is still there.
//!
//! Purpose     tells a leader of silent followers from a member that is cut off
//! Inputs      the times of the last frames of each known member
//! Outputs     pings; members removed from the peer table
//! Owns        the time of the next check and a counter for asking members in turn
//! Invariants  the answers affect only the health verdict ([`health`](super::health)) and the list
//!             of members in the status
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

use super::health::CUT_OFF_AFTER;
use super::{Group, Outbox, REACHED_WITHIN, Route};
use crate::frame::Body;
use crate::peer_table::PeerInfo;

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
}

impl Group {
    /// Checks from now on, unless the election names another member or the group has no election.
    pub(super) fn watch_isolation(&mut self, now: Instant) {
        let follows = self.nominee.is_some_and(|id| id != self.me.id);
        let looks = !follows && !self.config.protocol.is_none();
        self.isolation.look_at = looks.then(|| now + LOOK_EVERY);
        if !looks {
            self.peer_table.ask_no_more();
        }
    }

    /// Pings members that have been silent.
    ///
    /// - After [`LOOK_EVERY`] without a frame it pings the member heard last, which is the most
    ///   likely to be up.
    /// - It also pings, in turn, one of the members that have long been silent.
    /// - After twice [`LOOK_EVERY`] without a frame, the turn goes through all known members.
    pub(super) fn pass_isolation(&mut self, now: Instant, out: &mut Outbox) {
        if self.isolation.look_at.take_if(|at| *at <= now).is_none() {
            return;
        }
        self.isolation.look_at = Some(now + LOOK_EVERY);
        let known: Vec<(MemberId, &PeerInfo)> = self.peer_table.iter().collect();
        let Some(latest) = known.iter().max_by_key(|it| it.1.heard) else {
            return;
        };
        let silence = now - latest.1.heard;
        let mut asked: Vec<(MemberId, SocketAddr)> = Vec::new();
        if silence >= LOOK_EVERY {
            asked.push((latest.0, latest.1.address));
        }
        let asks_all = silence >= LOOK_EVERY * 2;
        let asks_silent = self.membership.is_none();
        let is_asked = |it: &&(MemberId, &PeerInfo)| {
            asks_all || asks_silent && now - it.1.heard >= REACHED_WITHIN
        };
        let others: Vec<_> = known.iter().filter(is_asked).collect();
        if !others.is_empty() {
            let next = others[self.isolation.turn % others.len()];
            asked.push((next.0, next.1.address));
            self.isolation.turn = self.isolation.turn.wrapping_add(1);
        }
        asked.dedup();
        let is_gone = |it: &&(MemberId, &PeerInfo)| {
            let (count, span) = DROP_AFTER;
            let unanswered = it.1.unanswered;
            unanswered.is_some_and(|it| it.count >= count && now - it.since >= span)
                && !self.tenure.voters().any(|voter| voter == it.0)
        };
        let drops = asks_silent && silence < CUT_OFF_AFTER;
        let gone = known.iter().filter(|_| drops).filter(is_gone);
        let gone: Vec<MemberId> = gone.map(|it| it.0).collect();
        for id in gone {
            self.peer_table.forget(id);
        }
        for (id, address) in asked {
            self.peer_table.ask(id, now);
            if let Some(challenge) = self.entropy.next() {
                self.send_to(id, Route::To(address), &Body::Ping { challenge }, out);
            }
        }
    }
}
