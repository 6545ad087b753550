//! A single member of the announce family under test, and the announcements that it hears.

use hustings_protocol::Candidate;
use hustings_protocol::announce::{Claim, Config, Message};

use crate::kin::Kin;
use crate::support::desk::Desk;

/// A member that has not started.
pub(crate) fn seat<P: Kin>(
    me: Candidate,
    config: Config,
    saved: Option<u32>,
    seed: u64,
) -> Desk<P> {
    Desk::new(me, P::make(saved), P::configure(config), seed)
}

/// An announcement of `id`.
pub(crate) fn announcement(
    id: u64,
    priority: u64,
    incarnation: u32,
    beat: u32,
    established: bool,
) -> Message {
    let claim = Claim {
        candidate: Candidate::new(id, priority),
        incarnation,
        established,
        follower_count: 0,
    };
    Message::Announcement { claim, beat, byes: 3 }
}
