//! One member at a desk: it is told what a test likes, and what it does is taken down.

use hustings_protocol::{
    Candidate, Duration, Input, Instant, Io, MemberId, Outcome, Protocol, Roster, View,
};
use hustings_sim::{Seeds, Stream};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

pub(crate) struct Desk<P: Protocol> {
    pub(crate) member: P,
    pub(crate) papers: Papers<P>,
}

/// What the member's `Io` is made of.
pub(crate) struct Papers<P: Protocol> {
    pub(crate) me: Candidate,
    pub(crate) config: P::Config,
    pub(crate) now: Instant,
    pub(crate) view: Roster,
    /// What it said, and to whom.
    pub(crate) said: Vec<(MemberId, P::Message)>,
    rng: Xoshiro256PlusPlus,
}

impl<P: Protocol> Desk<P> {
    pub(crate) fn new(me: Candidate, member: P, config: P::Config, seed: u64) -> Self {
        let papers = Papers {
            me,
            config,
            now: Instant::START,
            view: Roster::alone(me),
            said: Vec::new(),
            rng: Seeds::new(seed, 0).rng(Stream::Members),
        };
        Self { member, papers }
    }

    pub(crate) fn tell(&mut self, input: Input<P>) {
        self.member.step(input, &mut self.papers);
    }

    pub(crate) fn hear(&mut self, from: u64, message: P::Message) {
        let from = MemberId(from);
        self.tell(Input::Message { from, message });
    }
}

impl<P: Protocol> Io<P> for Papers<P> {
    fn me(&self) -> Candidate {
        self.me
    }

    fn config(&self) -> &P::Config {
        &self.config
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn rng(&mut self) -> &mut impl Rng {
        &mut self.rng
    }

    fn view(&self) -> impl View {
        &self.view
    }

    fn unicast(&mut self, to: MemberId, message: P::Message) {
        assert_ne!(to, self.me.id, "it writes to itself");
        self.said.push((to, message));
    }

    fn multicast(&mut self, _: P::Message) {
        panic!("none of these needs a multicast");
    }

    fn arm(&mut self, _: P::Timer, _: Duration) {}

    fn disarm(&mut self, _: P::Timer) {}

    fn save(&mut self, _: P::Durable) {}

    fn report(&mut self, outcome: Outcome) {
        panic!("none of these elects anybody: {outcome:?}");
    }
}
