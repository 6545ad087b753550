//! The choice of protocol: the one place where it is made.

use hustings_protocol::Candidate;
use hustings_protocol::announce::Announce;
use hustings_protocol::bully::Bully;
use hustings_protocol::chang_roberts::ChangRoberts;
use hustings_protocol::modified_ring::ModifiedRing;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::config::ProtocolConfig;
use crate::driver::{Driver, Seat};

/// The seat of member `me`, which has lived `lives_before` times.
pub(crate) fn seat(
    protocol: ProtocolConfig,
    me: Candidate,
    rng: Xoshiro256PlusPlus,
    lives_before: u32,
) -> Box<dyn Seat> {
    match protocol {
        ProtocolConfig::Announce(config) => {
            let make = |lives| Announce::new(Some(lives));
            Box::new(Driver::new(me, config, rng, lives_before, make))
        }
        ProtocolConfig::Bully(config) => {
            let make = |_| Bully::new();
            Box::new(Driver::new(me, config, rng, lives_before, make))
        }
        ProtocolConfig::ChangRoberts(config) => {
            let make = |_| ChangRoberts::new();
            Box::new(Driver::new(me, config, rng, lives_before, make))
        }
        ProtocolConfig::ModifiedRing(config) => {
            let make = |_| ModifiedRing::new();
            Box::new(Driver::new(me, config, rng, lives_before, make))
        }
    }
}
