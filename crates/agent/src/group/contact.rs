//! Whether anybody is left. Members that follow are silent, so that a member which follows nobody, as a leader by
//! announcement, may hear nothing from a group that is well; and one that is cut off looks the same. So a member that
//! follows nobody, and has heard nobody for a second, asks a member that it knows whether it is there, and if that one
//! does not answer a second one with each further second. Nothing depends on the answers but the verdict
//! ([`health`](super::health)) and the list of members in the status.
//!
//! A member that follows no other member also asks, one a second in turn, each member that has been silent for ten
//! seconds. A member that has not answered for a minute is dropped from the list. There are two exceptions: a voter stays,
//! and a member that hears no other member drops none, as it may be cut off itself. Where a failure detector runs, the
//! detector asks, and this file drops no member.

use std::net::SocketAddr;

use hustings_protocol::{Duration, Instant, MemberId};

use super::health::CUT_OFF_AFTER;
use super::{Group, Outbox, REACHED_WITHIN, Route};
use crate::frame::Body;
use crate::peers::Acquaintance;

/// The time between two looks, and the silence after which others are asked.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A member is dropped from the list if it has answered none of this many questions, for this long.
const DROP_AFTER: (u32, Duration) = (3, Duration::from_secs(60));

/// When to look next, and whom to ask.
#[derive(Debug, Default)]
pub(super) struct Contact {
    look_at: Option<Instant>,
    /// Counts through those that are known.
    turn: usize,
}

impl Contact {
    pub(super) fn due(&self) -> Option<Instant> {
        self.look_at
    }
}

impl Group {
    /// Looks from now on, unless the election names another member, or there is none.
    pub(super) fn look_after_contact(&mut self, now: Instant) {
        let follows = self.nominee.is_some_and(|id| id != self.me.id);
        let looks = !follows && !self.config.protocol.is_none();
        self.contact.look_at = looks.then(|| now + LOOK_EVERY);
        if !looks {
            self.peers.ask_no_more();
        }
    }

    /// Asks the member that was heard last, which is there if any is, if it was not heard lately; and in turn one of those
    /// that have long been silent, or if the first has not answered one of all.
    pub(super) fn pass_contact(&mut self, now: Instant, out: &mut Outbox) {
        if self.contact.look_at.take_if(|at| *at <= now).is_none() {
            return;
        }
        self.contact.look_at = Some(now + LOOK_EVERY);
        let known: Vec<(MemberId, &Acquaintance)> = self.peers.iter().collect();
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
        let is_asked = |it: &&(MemberId, &Acquaintance)| {
            asks_all || asks_silent && now - it.1.heard >= REACHED_WITHIN
        };
        let others: Vec<_> = known.iter().filter(is_asked).collect();
        if !others.is_empty() {
            let next = others[self.contact.turn % others.len()];
            asked.push((next.0, next.1.address));
            self.contact.turn = self.contact.turn.wrapping_add(1);
        }
        asked.dedup();
        let is_gone = |it: &&(MemberId, &Acquaintance)| {
            let (count, span) = DROP_AFTER;
            let unanswered = it.1.unanswered;
            unanswered.is_some_and(|it| it.count >= count && now - it.since >= span)
                && !self.tenancy.voters().any(|voter| voter == it.0)
        };
        let drops = asks_silent && silence < CUT_OFF_AFTER;
        let gone = known.iter().filter(|_| drops).filter(is_gone);
        let gone: Vec<MemberId> = gone.map(|it| it.0).collect();
        for id in gone {
            self.peers.forget(id);
        }
        for (id, address) in asked {
            self.peers.ask(id, now);
            if let Some(challenge) = self.entropy.next() {
                self.send_to(id, Route::To(address), &Body::Knock { challenge }, out);
            }
        }
    }
}
