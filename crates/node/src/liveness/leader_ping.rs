//! A ping to a leader whose host refuses connections.
//!
//! Purpose     the leader's process may be dead, or a firewall may answer for it. A sealed datagram
//!             decides: only the leader itself can answer it
//! Inputs      refused connections to the leader, its answers, time
//! Outputs     a ping; the leader that did not answer
//! Owns        the open ping ([`LeaderPing`])
//! Invariants  a leader is marked dead only if it did not answer in time and is still the leader

use hustings_protocol::{Duration, Instant, MemberId};

use super::Liveness;
use crate::node::{Context, Io};

/// A live leader answers within this many round trips, and within [`LEAST_WAIT`] at least.
const ROUND_TRIPS: u64 = 2;
const LEAST_WAIT: Duration = Duration::from_millis(1);

/// The open ping, before the leader is taken to be dead.
pub(super) struct LeaderPing {
    pub(super) of: MemberId,
    /// The number that the answer must contain.
    pub(super) challenge: u64,
    pub(super) until: Instant,
}

impl Liveness {
    /// Pings the leader `id`, whose host refuses connections after `round_trip`, unless that was
    /// done.
    pub(super) fn begin_ping(&mut self, id: MemberId, round_trip: Duration, io: &mut Io<'_>) {
        if let Some((leader, address)) = io.leader_elsewhere()
            && leader == id
            && self.ping.as_ref().is_none_or(|it| it.of != id)
            && let Some(challenge) = io.emit.entropy.next()
        {
            let until = io.now + (round_trip * ROUND_TRIPS).max(LEAST_WAIT);
            self.ping = Some(LeaderPing { of: id, challenge, until });
            io.ping_at(id, address, challenge);
        }
    }

    /// Notes that `from` answered a challenge. Returns true if it was the open ping's.
    pub(super) fn ends_ping(&mut self, from: MemberId, challenge: u64, context: &Context) -> bool {
        let is_it = |it: &mut LeaderPing| it.of == from && it.challenge == challenge;
        let ended = self.ping.take_if(is_it).is_some();
        if ended {
            let group = &context.config.name;
            tracing::debug!("group `{group}`: {from:?} refuses connections, but answers a ping");
        }
        ended
    }
}
