//! A leader whose host refuses connections may be dead, or behind a firewall that answers for it. It is
//! asked once more, by a sealed datagram, which only itself can answer.

use hustings_protocol::{Duration, Instant, MemberId, ViewChange};

use super::{Group, Outbox};
use crate::frame::Body;

/// A live leader answers within so many round trips, or at least within so long.
const ROUND_TRIPS: u64 = 2;
const LEAST_WAIT: Duration = Duration::from_millis(1);

/// So many are enough to tell the others of a leader's death, where each hears each: those who have not seen it
/// themselves make certain when they hear of it.
const TELLERS: u64 = 16;

/// What a member waits for before it takes its leader to be dead.
pub(super) struct Suspicion {
    of: MemberId,
    /// The number that its answer must have.
    challenge: u64,
    until: Instant,
}

impl Suspicion {
    pub(super) fn due(&self) -> Instant {
        self.until
    }

    #[cfg(test)]
    pub(super) fn challenge(&self) -> u64 {
        self.challenge
    }
}

impl Group {
    /// The host of `id` says, after `round_trip`, that nobody listens there.
    pub(crate) fn suspect(
        &mut self,
        now: Instant,
        id: MemberId,
        round_trip: Duration,
        out: &mut Outbox,
    ) {
        let Some((_, address)) = self.leader_elsewhere().filter(|(leader, _)| *leader == id) else {
            return;
        };
        if self.suspicion.as_ref().is_some_and(|it| it.of == id) {
            return; // asked already
        }
        let Some(challenge) = self.entropy.next() else {
            return; // no randomness: nothing can be sent either
        };
        self.note_time(now);
        self.suspicion = Some(Suspicion {
            of: id,
            challenge,
            until: now + (round_trip * ROUND_TRIPS).max(LEAST_WAIT),
        });
        self.knock(id, address, challenge, out);
    }

    /// Takes note that `from` answered a challenge. Returns whether it was the suspect's.
    pub(super) fn ends_suspicion(&mut self, from: MemberId, challenge: u64) -> bool {
        let is_it = |it: &mut Suspicion| it.of == from && it.challenge == challenge;
        let suspicion = self.suspicion.take_if(is_it);
        if let Some(suspicion) = &suspicion {
            tracing::debug!(
                "group `{}`: {:?} refuses connections but is there",
                self.config.name,
                suspicion.of
            );
        }
        suspicion.is_some()
    }

    /// Takes a leader that did not answer in time to be dead.
    pub(super) fn pass_suspicion(&mut self, now: Instant, out: &mut Outbox) {
        let Some(suspicion) = self.suspicion.take_if(|it| it.until <= now) else {
            return;
        };
        if self.follows(suspicion.of) {
            tracing::info!("group `{}`: the leader's process is dead", self.config.name);
            self.bury(now, suspicion.of, out);
        }
    }

    /// Does without the leader, and tells the others. They make certain for themselves, unless they are too many. All
    /// that hold a connection to it see its death at once: where those are many, only a few of them tell.
    fn bury(&mut self, now: Instant, id: MemberId, out: &mut Outbox) {
        self.died = Some(id);
        if self.circle().is_some() {
            self.declare_dead(now, id, out);
        } else {
            if self.is_drawn(TELLERS, id.0 ^ self.number) {
                self.broadcast(now, &Body::Obituary { of: id }, out);
            }
            self.seat.view_changed(now, ViewChange::Left(id));
        }
        self.act(now, out);
    }
}
