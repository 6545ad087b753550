//! Whether anybody is left. Members that follow are silent, so that a member which follows nobody, as a leader by
//! announcement, may hear nothing from a group that is well; and one that is cut off looks the same. So a member that
//! follows nobody, and has heard nobody for a second, asks a member that it knows whether it is there, and if that one
//! does not answer a second one with each further second. Nothing depends on the answers but the verdict
//! ([`health`](super::health)).

use std::net::SocketAddr;

use hustings_protocol::{Duration, Instant, MemberId};

use super::{Group, Outbox, Route};
use crate::frame::Body;
use crate::peers::Acquaintance;

/// The time between two looks, and the silence after which others are asked.
const LOOK_EVERY: Duration = Duration::from_secs(1);

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
    }

    /// Asks the member that was heard last, which is there if any is, if it was not heard lately; and if it has not
    /// answered, the next in turn as well.
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
        if silence >= LOOK_EVERY * 2 {
            let next = known[self.contact.turn % known.len()];
            asked.push((next.0, next.1.address));
            self.contact.turn = self.contact.turn.wrapping_add(1);
        }
        asked.dedup();
        for (id, address) in asked {
            if let Some(challenge) = self.entropy.next() {
                self.send_to(id, Route::To(address), &Body::Knock { challenge }, out);
            }
        }
    }
}
