//! The choice of the election protocol. No other file makes it.
//!
//! Purpose     builds the driver for the configured protocol
//! Inputs      the configuration, the member, its random numbers
//! Outputs     an [`ElectionDriver`]
//! Owns        nothing
//! Invariants  an observer never leads

use hustings_protocol::announce::{
    self, Announce, Criterion, Joining, PriorityScale, Repeat, Wake,
};
use hustings_protocol::bully::Bully;
use hustings_protocol::chang_roberts::ChangRoberts;
use hustings_protocol::modified_ring::ModifiedRing;
use hustings_protocol::probabilistic::{Probabilistic, Request};
use hustings_protocol::{Candidate, Duration, Priority};

use crate::config::ProtocolConfig;
use crate::driver::{Driver, ElectionDriver, Hint};
use crate::node::Context;
use crate::record::Recorder;

/// The election driver of a member; an observer if the member may not lead.
pub(super) fn driver(context: &Context, recorder: Option<Recorder>) -> Box<dyn ElectionDriver> {
    if !context.config.campaigns
        && let Some(observer) = observer(context, recorder.clone())
    {
        return observer;
    }
    let (me, rng) = (context.me, context.rng());
    match context.config.protocol {
        ProtocolConfig::Announce(config) => {
            let announce = Announce::new(Some(context.incarnation.incarnations_before()));
            let driver = Driver::new(me, announce, config, rng, recorder);
            Box::new(measured(driver))
        }
        ProtocolConfig::Bully(config) => {
            Box::new(Driver::new(me, Bully::default(), config, rng, recorder))
        }
        ProtocolConfig::ChangRoberts(config) => {
            Box::new(Driver::new(me, ChangRoberts::default(), config, rng, recorder))
        }
        ProtocolConfig::ModifiedRing(config) => {
            Box::new(Driver::new(me, ModifiedRing::default(), config, rng, recorder))
        }
        ProtocolConfig::Probabilistic(config) => {
            let mut driver = Driver::new(me, Probabilistic::default(), config, rng, recorder);
            driver.hint_to_request = Some(|hint| match hint {
                Hint::GroupSize(size) => Request::GroupSize(size),
                Hint::FirstK(k) => Request::FirstK(k),
            });
            Box::new(driver)
        }
        ProtocolConfig::NoElection => Box::new(Nothing),
    }
}

/// Lets the driver read what the announce family measures and claims.
fn measured(mut driver: Driver<Announce>) -> Driver<Announce> {
    driver.measures = Some(Announce::measured_loss);
    driver.counts_followers = Some(announce::Message::follower_count);
    driver
}

/// The driver of a member of a group without elections.
struct Nothing;

impl ElectionDriver for Nothing {}

/// The driver of an observer: it follows the leader and never stands. None if the protocol does not
/// allow a member to follow without taking part.
pub(super) fn observer(
    context: &Context,
    recorder: Option<Recorder>,
) -> Option<Box<dyn ElectionDriver>> {
    match context.config.protocol {
        ProtocolConfig::Announce(config) => {
            // The worst candidate of all, which wakes up last of all: never.
            let nobody = Candidate::new(u64::MAX, 0);
            let at_the_end = PriorityScale { worst: Priority(0), best: Priority(1), chance: 0.0 };
            // It asks for a silent leader as the other members do, and so misses the leader when
            // they do.
            let joining = match config.joining {
                Joining::Announce => Joining::Announce,
                Joining::Query { election_timeout }
                | Joining::SuppressThenQuery { election_timeout } => {
                    Joining::SuppressThenQuery { election_timeout }
                }
            };
            let config = announce::Config {
                suppress: Duration(u64::MAX),
                wake: Wake::ByPriority(at_the_end),
                criterion: Criterion::Priority,
                joining,
                farewell: Repeat::Times(0),
                ..config
            };
            let (observer, rng) = (Announce::new(None), context.rng());
            let driver = Driver::new(nobody, observer, config, rng, recorder);
            Some(Box::new(measured(driver)))
        }
        ProtocolConfig::Bully(_)
        | ProtocolConfig::ChangRoberts(_)
        | ProtocolConfig::ModifiedRing(_)
        | ProtocolConfig::Probabilistic(_)
        | ProtocolConfig::NoElection => None,
    }
}
