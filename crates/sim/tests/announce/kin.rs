//! Members of the announce family, correct ones and ones with one rule broken.

use std::marker::PhantomData;

use hustings_protocol::announce::{Announce, Config, Message, Timer};
use hustings_protocol::{Candidate, ElectionOutcome, Input, Io, NoRequest, Protocol, Simulated};

use crate::support::wrapper::{Effect, Through, Wrapper, inward};

/// A member that the laws can be checked against.
pub(crate) trait Kin:
    Simulated<Message = Message, Timer = Timer, Durable = u32, Outcome = ElectionOutcome> + 'static
{
    fn make(saved: Option<u32>) -> Self;

    /// The wrapped correct member.
    fn honest(&self) -> &Announce;

    fn configure(config: Config) -> Self::Config;
}

impl Kin for Announce {
    fn make(saved: Option<u32>) -> Self {
        Self::new(saved)
    }

    fn honest(&self) -> &Announce {
        self
    }

    fn configure(config: Config) -> Config {
        config
    }
}

/// The defect of a member.
pub(crate) trait Defect: Default + 'static {
    /// The wrong configuration of all members.
    fn config(config: Config) -> Config {
        config
    }

    /// Returns true if the member handles an input, which the defect may alter.
    fn hears(&mut self, _input: &mut Input<Announce>, _me: Candidate) -> bool {
        true
    }

    /// Returns true if an effect is executed.
    fn does(&mut self, _effect: &Effect<Announce>) -> bool {
        true
    }

    /// An additional message after this input.
    fn adds(
        &mut self,
        _input: &Input<Announce>,
        _it: &Announce,
        _me: Candidate,
    ) -> Option<Message> {
        None
    }
}

/// A correct member with one defect.
pub(crate) struct Wrong<D> {
    honest: Announce,
    defect: D,
}

pub(crate) struct Misled<D>(Config, PhantomData<D>);

impl<D: Defect> Wrapper for Wrong<D> {
    type Inner = Announce;

    fn inner_config(config: &Misled<D>) -> &Config {
        &config.0
    }
}

impl<D: Defect> Protocol for Wrong<D> {
    type Config = Misled<D>;
    type Message = Message;
    type Timer = Timer;
    type Durable = u32;
    type Outcome = ElectionOutcome;
    type Request = NoRequest;

    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        let me = io.me();
        let Self { honest, defect } = self;
        let mut input = inward(input);
        if !defect.hears(&mut input, me) {
            return;
        }
        let extra = defect.adds(&input, honest, me);
        let lets = |effect: &Effect<Announce>| defect.does(effect);
        honest.step(input, &mut Through::new(io, lets));
        if let Some(message) = extra {
            io.multicast(message);
        }
    }
}

impl<D: Defect> Simulated for Wrong<D> {}

impl<D: Defect> Kin for Wrong<D> {
    fn make(saved: Option<u32>) -> Self {
        Self { honest: Announce::new(saved), defect: D::default() }
    }

    fn honest(&self) -> &Announce {
        &self.honest
    }

    fn configure(config: Config) -> Misled<D> {
        Misled(D::config(config), PhantomData)
    }
}
