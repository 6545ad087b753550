//! A member that follows the protocol until it sees another member elected, and is silent from then
//! on.
//!
//! It has shown all its flips by then, so that the others have seen the same result. But a draw
//! counts only when all members have signed the same leader, and this member signs only its own
//! election.

use hustings_protocol::wagner::{Config, DrawOutcome, Message, Timer, Wagner};
use hustings_protocol::{
    Candidate, Duration, Input, Instant, Io, MemberId, NoRequest, Protocol, View,
};
use rand_core::Rng;

/// A member that aborts each draw that it loses.
#[derive(Default)]
pub(crate) struct Aborter {
    honest: Wagner,
}

impl Protocol for Aborter {
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Durable = ();
    type Outcome = DrawOutcome;
    type Request = NoRequest;

    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        let has_lost = self.honest.elected().is_some_and(|it| it != io.me().id);
        if has_lost {
            return;
        }
        let input = match input {
            Input::Start => Input::Start,
            Input::Message { from, message } => Input::Message { from, message },
            Input::Timer(timer) => Input::Timer(timer),
            Input::ViewChanged(change) => Input::ViewChanged(change),
            Input::Leave => Input::Leave,
            Input::Request(none) => match none {},
        };
        self.honest.step(input, &mut Unsigned(io));
    }
}

/// The honest protocol's environment, except that it drops the election of another member.
struct Unsigned<'a, I>(&'a mut I);

impl<I: Io<Aborter>> Io<Wagner> for Unsigned<'_, I> {
    fn me(&self) -> Candidate {
        self.0.me()
    }

    fn config(&self) -> &Config {
        self.0.config()
    }

    fn now(&self) -> Instant {
        self.0.now()
    }

    fn rng(&mut self) -> &mut impl Rng {
        self.0.rng()
    }

    fn view(&self) -> impl View {
        self.0.view()
    }

    fn unicast(&mut self, to: MemberId, message: Message) {
        self.0.unicast(to, message);
    }

    fn multicast(&mut self, message: Message) {
        self.0.multicast(message);
    }

    fn arm(&mut self, timer: Timer, after: Duration) {
        self.0.arm(timer, after);
    }

    fn disarm(&mut self, timer: Timer) {
        self.0.disarm(timer);
    }

    fn save(&mut self, (): ()) {}

    fn report(&mut self, outcome: DrawOutcome) {
        match outcome {
            DrawOutcome::Nominee(leader) if leader.id != self.me().id => {} // it loses
            _ => self.0.report(outcome),
        }
    }
}
