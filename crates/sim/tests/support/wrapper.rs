//! Protocols that wrap another one, and change some of its inputs and effects.

use std::marker::PhantomData;

use hustings_protocol::{Candidate, Duration, Input, Instant, Io, MemberId, Protocol, View};
use rand_core::Rng;

/// A protocol that wraps another one with the same messages.
pub(crate) trait Wrapper: Protocol {
    type Inner: Protocol<
            Message = Self::Message,
            Timer = Self::Timer,
            Durable = Self::Durable,
            Outcome = Self::Outcome,
            Request = Self::Request,
        >;

    /// The inner protocol's part of the configuration.
    fn inner_config(config: &Self::Config) -> &<Self::Inner as Protocol>::Config;
}

/// The input as the inner protocol knows it.
pub(crate) fn inward<W: Wrapper>(input: Input<W>) -> Input<W::Inner> {
    match input {
        Input::Start => Input::Start,
        Input::Message { from, message } => Input::Message { from, message },
        Input::Timer(timer) => Input::Timer(timer),
        Input::ViewChanged(change) => Input::ViewChanged(change),
        Input::Leave => Input::Leave,
        Input::Request(request) => Input::Request(request),
    }
}

/// An effect of the inner protocol that the wrapper may refuse.
pub(crate) enum Effect<P: Protocol> {
    Unicast { to: MemberId, message: P::Message },
    Arm { timer: P::Timer },
}

/// Refuses nothing.
pub(crate) fn all<P: Protocol>(_: &Effect<P>) -> bool {
    true
}

/// The `Io` of the inner protocol.
pub(crate) struct Through<'a, W, I, F> {
    io: &'a mut I,
    lets: F,
    wrapper: PhantomData<W>,
}

impl<'a, W, I, F> Through<'a, W, I, F> {
    /// `lets` returns true for the effects that are executed.
    pub(crate) fn new(io: &'a mut I, lets: F) -> Self {
        let wrapper = PhantomData;
        Self { io, lets, wrapper }
    }
}

impl<P, W, I, F> Io<P> for Through<'_, W, I, F>
where
    P: Protocol,
    W: Wrapper<
            Inner = P,
            Message = P::Message,
            Timer = P::Timer,
            Durable = P::Durable,
            Outcome = P::Outcome,
        >,
    I: Io<W>,
    F: FnMut(&Effect<P>) -> bool,
{
    fn me(&self) -> Candidate {
        self.io.me()
    }

    fn config(&self) -> &P::Config {
        W::inner_config(self.io.config())
    }

    fn now(&self) -> Instant {
        self.io.now()
    }

    fn rng(&mut self) -> &mut impl Rng {
        self.io.rng()
    }

    fn view(&self) -> impl View {
        self.io.view()
    }

    fn unicast(&mut self, to: MemberId, message: P::Message) {
        let effect = Effect::Unicast { to, message };
        if (self.lets)(&effect)
            && let Effect::Unicast { to, message } = effect
        {
            self.io.unicast(to, message);
        }
    }

    fn multicast(&mut self, message: P::Message) {
        self.io.multicast(message);
    }

    fn arm(&mut self, timer: P::Timer, after: Duration) {
        if (self.lets)(&Effect::Arm { timer }) {
            self.io.arm(timer, after);
        }
    }

    fn disarm(&mut self, timer: P::Timer) {
        self.io.disarm(timer);
    }

    fn save(&mut self, state: P::Durable) {
        self.io.save(state);
    }

    fn report(&mut self, outcome: P::Outcome) {
        self.io.report(outcome);
    }

    fn meet(&mut self, candidate: Candidate) {
        self.io.meet(candidate);
    }
}
