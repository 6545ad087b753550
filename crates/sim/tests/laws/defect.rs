//! Correct protocols with one rule broken.

use std::fmt::Debug;
use std::marker::PhantomData;

use hustings_protocol::{
    Candidate, Duration, Input, Instant, Io, MemberId, Priority, Protocol, Simulated, View,
};
use hustings_sim::{Detection, Scenario};
use rand_core::Rng;

use crate::support::family::Family;
use crate::support::wrapper::{Effect, Through, Wrapper, inward};

/// The defect of a protocol.
pub(crate) trait Defect<P: Protocol>: Default + 'static {
    /// The wrong configuration of all members.
    fn config(config: P::Config) -> P::Config {
        config
    }

    /// Returns true if the member handles an input, which the defect may alter.
    fn hears(&mut self, _input: &mut Input<P>, _me: Candidate, _now: Instant) -> bool {
        true
    }

    /// Returns true if the member forgets everything when it handles this input.
    fn forgets(&mut self, _input: &Input<P>, _me: Candidate) -> bool {
        false
    }

    /// Returns true if an effect is executed.
    fn does(&mut self, _effect: &Effect<P>, _me: Candidate) -> bool {
        true
    }

    /// An additional message to its successor after this input.
    fn adds(&mut self, _input: &Input<P>, _me: Candidate) -> Option<P::Message> {
        None
    }
}

/// A correct member with one defect.
#[derive(Debug, Default)]
pub(crate) struct Defective<P, D> {
    honest: P,
    defect: D,
}

/// The correct protocol's configuration, as the defective one has it.
#[derive(Debug)]
pub(crate) struct Misguided<C, D>(C, PhantomData<D>);

impl<P: Protocol + Default, D: Defect<P>> Wrapper for Defective<P, D> {
    type Inner = P;

    fn inner_config(config: &Self::Config) -> &P::Config {
        &config.0
    }
}

impl<P: Protocol + Default, D: Defect<P>> Protocol for Defective<P, D> {
    type Config = Misguided<P::Config, D>;
    type Message = P::Message;
    type Timer = P::Timer;
    type Durable = P::Durable;
    type Outcome = P::Outcome;
    type Request = P::Request;

    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        let (me, now) = (io.me(), io.now());
        let Self { honest, defect } = self;
        let mut input = inward(input);
        if !defect.hears(&mut input, me, now) {
            return;
        }
        if defect.forgets(&input, me) {
            *honest = P::default();
        }
        let extra = defect.adds(&input, me);
        honest.step(input, &mut Through::new(io, |effect: &Effect<P>| defect.does(effect, me)));
        if let Some(message) = extra {
            let next = io.view().successor(me.id).id;
            io.unicast(next, message);
        }
    }
}

impl<P: Simulated + Default, D: Defect<P>> Simulated for Defective<P, D> {}

impl<P: Family<Config: Debug>, D: Defect<P>> Family for Defective<P, D> {
    const NAME: &'static str = P::NAME;
    const DETECTION: Detection = P::DETECTION;
    const LEADER_DEAD: bool = P::LEADER_DEAD;
    const ORDERED: bool = P::ORDERED;
    const LAPS: u64 = P::LAPS;

    fn paper() -> Self::Config {
        Misguided(D::config(P::paper()), PhantomData)
    }

    fn field(election_timeout: Duration) -> Self::Config {
        Misguided(D::config(P::field(election_timeout)), PhantomData)
    }

    fn settles_within(members: u32, election_timeout: Duration) -> Duration {
        P::settles_within(members, election_timeout)
    }

    fn messages(priorities: &[Priority], initiator: u32) -> u64 {
        P::messages(priorities, initiator)
    }

    fn most_messages(members: u32, initiators: u32) -> u64 {
        P::most_messages(members, initiators)
    }

    fn with_a_death(priorities: &[Priority], rng: &mut impl Rng) -> Scenario {
        P::with_a_death(priorities, rng)
    }

    fn garbage(rng: &mut impl Rng) -> (MemberId, Self::Message) {
        P::garbage(rng)
    }
}
