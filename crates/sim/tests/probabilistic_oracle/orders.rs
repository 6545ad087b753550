//! Other orders in which relays may handle messages, around the same state machine.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use hustings_protocol::probabilistic::{Config, Message, Probabilistic, Request, Timer};
use hustings_protocol::{
    Duration, ElectionOutcome, Input, Instant, Io, MemberId, Protocol, Simulated,
};
use hustings_sim::probabilistic::Elector;
use rand_core::Rng;

use crate::UNIT;
use crate::support::wrapper::{Effect, Through, Wrapper, all, inward};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// All messages of a unit together: the best of them counts, and each sender gets one answer.
    Batch,
    /// Each message takes up to a unit longer, at random.
    Any,
}

/// A member that holds back the preferences of others until their time has come.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    election: Probabilistic,
    order: Order,
    /// With the time at which each is handled.
    waiting: Vec<(Instant, MemberId, Message)>,
}

/// In the document members check nothing, so the timer for that is free.
const HANDLE: Timer = Timer::Check;

impl Held {
    pub(crate) fn new(order: Order) -> Self {
        Self { election: Probabilistic::default(), order, waiting: Vec::new() }
    }

    fn hold(&mut self, from: MemberId, message: Message, io: &mut impl Io<Self>) {
        let after = match self.order {
            Order::Batch => Duration::ZERO,
            Order::Any => Duration(io.rng().next_u64() % UNIT.0),
        };
        self.waiting.push((io.now() + after, from, message));
        self.arm(io);
    }

    fn arm(&self, io: &mut impl Io<Self>) {
        if let Some(next) = self.waiting.iter().map(|it| it.0).min() {
            io.arm(HANDLE, next - io.now());
        }
    }

    fn handle(&mut self, io: &mut impl Io<Self>) {
        let now = io.now();
        let mut due: Vec<_> = self.waiting.extract_if(.., |it| it.0 <= now).collect();
        // The best first: then the same is sent to all.
        due.sort_by_key(|(_, _, message)| match message {
            Message::Preference { choice, .. } => Reverse(Some(*choice)),
            _ => Reverse(None),
        });
        let mut told = BTreeSet::new();
        let mut once = |effect: &Effect<Probabilistic>| match effect {
            Effect::Unicast { to, .. } => told.insert(*to),
            Effect::Arm { .. } => true,
        };
        for (_, from, message) in due {
            let input = Input::Message { from, message };
            let mut io = Through::<Self, _, _>::new(io, &mut once);
            self.election.step(input, &mut io);
        }
        self.arm(io);
    }
}

impl Elector for Held {
    fn election(&self) -> &Probabilistic {
        &self.election
    }
}

impl Wrapper for Held {
    type Inner = Probabilistic;

    fn inner_config(config: &Config) -> &Config {
        config
    }
}

impl Protocol for Held {
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Durable = ();
    type Outcome = ElectionOutcome;
    type Request = Request;

    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        match input {
            Input::Message { from, message: message @ Message::Preference { .. } } => {
                self.hold(from, message, io);
            }
            Input::Timer(HANDLE) => self.handle(io),
            other => {
                let mut io = Through::<Self, _, _>::new(io, all);
                self.election.step(inward(other), &mut io);
            }
        }
    }
}

impl Simulated for Held {}
