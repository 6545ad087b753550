//! The choice of protocol: the one place where it is made.

use hustings_protocol::announce::{self, Announce, Criterion, Joining, MeritScale, Repeat, Wake};
use hustings_protocol::bully::Bully;
use hustings_protocol::chang_roberts::ChangRoberts;
use hustings_protocol::modified_ring::ModifiedRing;
use hustings_protocol::probabilistic::{Probabilistic, Request};
use hustings_protocol::{Candidate, Duration, Instant, MemberId, Merit, ViewChange};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::config::ProtocolConfig;
use crate::driver::{Advice, Driver, Effect, Seat};
use crate::record::Recorder;
use crate::seal::Rejected;

/// The seat of member `me`, which has lived `lives_before` times.
pub(crate) fn seat(
    protocol: ProtocolConfig,
    me: Candidate,
    rng: Xoshiro256PlusPlus,
    lives_before: u32,
    recorder: Option<Recorder>,
) -> Box<dyn Seat> {
    match protocol {
        ProtocolConfig::Announce(config) => {
            let announce = Announce::new(Some(lives_before));
            let driver = Driver::new(me, announce, config, rng, recorder);
            Box::new(driver.measuring(Announce::measured_loss))
        }
        ProtocolConfig::Bully(config) => {
            Box::new(Driver::new(me, Bully::new(), config, rng, recorder))
        }
        ProtocolConfig::ChangRoberts(config) => {
            Box::new(Driver::new(me, ChangRoberts::new(), config, rng, recorder))
        }
        ProtocolConfig::ModifiedRing(config) => {
            Box::new(Driver::new(me, ModifiedRing::new(), config, rng, recorder))
        }
        ProtocolConfig::Probabilistic(config) => {
            let member = Probabilistic::new();
            let driver = Driver::new(me, member, config, rng, recorder);
            Box::new(driver.heeding(|advice| match advice {
                Advice::GroupSize(size) => Request::GroupSize(size),
                Advice::FirstK(k) => Request::FirstK(k),
            }))
        }
        ProtocolConfig::NoElection => Box::new(Nothing),
    }
}

/// The seat of one in no election.
struct Nothing;

impl Seat for Nothing {
    fn start(&mut self, _: Instant) {}

    fn receive(&mut self, _: Instant, _: MemberId, _: &[u8]) -> Result<(), Rejected> {
        Ok(())
    }

    fn backing(&self, _: &[u8]) -> Option<u16> {
        None
    }

    fn view_changed(&mut self, _: Instant, _: ViewChange) {}

    fn count(&mut self, _: ViewChange) {}

    fn advise(&mut self, _: Instant, _: Advice) {}

    fn pass(&mut self, _: Instant) {}

    fn due(&self) -> Option<Instant> {
        None
    }

    fn leave(&mut self, _: Instant) {}

    fn measured_loss(&self) -> Option<f64> {
        None
    }

    fn take_effects(&mut self) -> Vec<Effect> {
        Vec::new()
    }
}

/// The seat of somebody who only listens, for `span`: it follows whoever leads. None where whoever does not
/// take part cannot follow.
pub(crate) fn onlooker(
    protocol: ProtocolConfig,
    rng: Xoshiro256PlusPlus,
    recorder: Option<Recorder>,
) -> Option<Box<dyn Seat>> {
    match protocol {
        ProtocolConfig::Announce(config) => {
            // The worst of all, which wakes up last of all: never.
            let nobody = Candidate::new(u64::MAX, 0);
            let at_the_end = MeritScale {
                worst: Merit(0),
                best: Merit(1),
                chance: 0.0,
            };
            // It asks for a leader that falls silent, as the others do, and so misses it when they do.
            let joining = match config.joining {
                Joining::Announce => Joining::Announce,
                Joining::Query { patience } | Joining::SuppressThenQuery { patience } => {
                    Joining::SuppressThenQuery { patience }
                }
            };
            let config = announce::Config {
                suppress: Duration(u64::MAX),
                wake: Wake::ByMerit(at_the_end),
                criterion: Criterion::Merit,
                joining,
                farewell: Repeat::Times(0),
                ..config
            };
            let driver = Driver::new(nobody, Announce::new(None), config, rng, recorder);
            Some(Box::new(driver.measuring(Announce::measured_loss)))
        }
        ProtocolConfig::Bully(_)
        | ProtocolConfig::ChangRoberts(_)
        | ProtocolConfig::ModifiedRing(_)
        | ProtocolConfig::Probabilistic(_)
        | ProtocolConfig::NoElection => None,
    }
}
