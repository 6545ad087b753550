//! Honest protocols with one rule broken.

use std::fmt::Debug;
use std::marker::PhantomData;

use hustings_protocol::{Candidate, Duration, Input, Instant, Io, MemberId, Merit, Protocol, View};
use hustings_sim::{Detection, Scenario};
use rand_core::Rng;

use crate::support::family::Family;
use crate::support::wrapper::{Effect, Through, Wrapper, inward};

/// How a protocol is wrong.
pub(crate) trait Defect<P: Protocol>: Default + 'static {
    /// How all its members are wrongly told to behave.
    fn config(config: P::Config) -> P::Config {
        config
    }

    /// Whether it takes in an input, which it may alter.
    fn hears(&mut self, _input: &mut Input<P>, _me: Candidate, _now: Instant) -> bool {
        true
    }

    /// Whether it forgets all it knew when it takes in this input.
    fn forgets(&mut self, _input: &Input<P>, _me: Candidate) -> bool {
        false
    }

    /// Whether an effect comes to pass.
    fn does(&mut self, _effect: &Effect<P>, _me: Candidate) -> bool {
        true
    }

    /// What it sends to its successor besides, when it has taken in this input.
    fn adds(&mut self, _input: &Input<P>, _me: Candidate) -> Option<P::Message> {
        None
    }
}

/// A member that is honest but for one defect.
#[derive(Debug, Default)]
pub(crate) struct Defective<P, D> {
    honest: P,
    defect: D,
}

/// The honest protocol's configuration, as the defective one has it.
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
        honest.step(
            input,
            &mut Through::new(io, |effect: &Effect<P>| defect.does(effect, me)),
        );
        if let Some(message) = extra {
            let next = io.view().successor(me.id).id;
            io.unicast(next, message);
        }
    }
}

impl<P: Family<Config: Debug>, D: Defect<P>> Family for Defective<P, D> {
    const NAME: &'static str = P::NAME;
    const DETECTION: Detection = P::DETECTION;
    const LEADER_DEAD: bool = P::LEADER_DEAD;
    const ORDERED: bool = P::ORDERED;
    const LAPS: u64 = P::LAPS;

    fn slides() -> Self::Config {
        Misguided(D::config(P::slides()), PhantomData)
    }

    fn field(patience: Duration) -> Self::Config {
        Misguided(D::config(P::field(patience)), PhantomData)
    }

    fn settles_within(members: u32, patience: Duration) -> Duration {
        P::settles_within(members, patience)
    }

    fn messages(merits: &[Merit], initiator: u32) -> u64 {
        P::messages(merits, initiator)
    }

    fn most_messages(members: u32, initiators: u32) -> u64 {
        P::most_messages(members, initiators)
    }

    fn with_a_death(merits: &[Merit], rng: &mut impl Rng) -> Scenario {
        P::with_a_death(merits, rng)
    }

    fn garbage(rng: &mut impl Rng) -> (MemberId, Self::Message) {
        P::garbage(rng)
    }
}
