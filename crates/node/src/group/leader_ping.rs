//! A ping to a leader whose host refuses connections.
//!
//! Purpose     the leader's process may be dead, or a firewall may answer for it. A sealed datagram
//!             decides: only the leader itself can answer it
//! Inputs      refused connections to the leader, its answers, time
//! Outputs     a ping; the leader marked dead, and a report to the others
//! Owns        the open ping ([`LeaderPing`])
//! Invariants  a leader is marked dead only if it did not answer in time and is still the leader

use hustings_protocol::{Duration, Instant, MemberId, ViewChange};

use super::{Group, Outbox};
use crate::frame::Body;

/// A live leader answers within this many round trips, and within [`LEAST_WAIT`] at least.
const ROUND_TRIPS: u64 = 2;
const LEAST_WAIT: Duration = Duration::from_millis(1);

/// The average number of members that report a leader's death, if each member receives from each.
/// Members that have not seen the death themselves check when they receive the report.
const TELLERS: u64 = 16;

/// The open ping, before the leader is taken to be dead.
pub(super) struct LeaderPing {
    of: MemberId,
    /// The number that the answer must contain.
    challenge: u64,
    until: Instant,
}

impl LeaderPing {
    pub(super) fn due(&self) -> Instant {
        self.until
    }

    #[cfg(test)]
    pub(super) fn challenge(&self) -> u64 {
        self.challenge
    }
}

impl Group {
    /// Handles a refused connection: the host of `id` says, after `round_trip`, that no process
    /// listens.
    pub fn suspect(&mut self, now: Instant, id: MemberId, round_trip: Duration, out: &mut Outbox) {
        let Some((_, address)) = self.leader_elsewhere().filter(|(leader, _)| *leader == id) else {
            return;
        };
        if self.leader_ping.as_ref().is_some_and(|it| it.of == id) {
            return; // asked already
        }
        let Some(challenge) = self.entropy.next() else {
            return; // without randomness nothing can be sent either
        };
        self.note_time(now);
        self.leader_ping = Some(LeaderPing {
            of: id,
            challenge,
            until: now + (round_trip * ROUND_TRIPS).max(LEAST_WAIT),
        });
        self.knock(id, address, challenge, out);
    }

    /// Notes that `from` answered a challenge. Returns true if it was the open ping's.
    pub(super) fn ends_suspicion(&mut self, from: MemberId, challenge: u64) -> bool {
        let is_it = |it: &mut LeaderPing| it.of == from && it.challenge == challenge;
        let leader_ping = self.leader_ping.take_if(is_it);
        if let Some(leader_ping) = &leader_ping {
            tracing::debug!(
                "group `{}`: {:?} refuses connections but is there",
                self.config.name,
                leader_ping.of
            );
        }
        leader_ping.is_some()
    }

    /// Marks a leader dead that did not answer in time.
    pub(super) fn pass_leader_ping(&mut self, now: Instant, out: &mut Outbox) {
        let Some(leader_ping) = self.leader_ping.take_if(|it| it.until <= now) else {
            return;
        };
        if self.follows(leader_ping.of) {
            tracing::info!("group `{}`: the leader's process is dead", self.config.name);
            self.mark_dead(now, leader_ping.of, out);
        }
    }

    /// Marks the leader dead, and reports it to the others. They check for themselves, unless the
    /// group has partial views. All members with a connection to the leader notice its death at
    /// once, so only a few of them report it.
    fn mark_dead(&mut self, now: Instant, id: MemberId, out: &mut Outbox) {
        self.died = Some(id);
        if self.partial_view().is_some() {
            self.declare_dead(now, id, out);
        } else {
            if self.is_drawn(TELLERS, id.0 ^ self.number) {
                self.broadcast(now, &Body::Obituary { of: id }, out);
            }
            self.election.view_changed(now, ViewChange::Left(id));
        }
        self.act(now, out);
    }
}
