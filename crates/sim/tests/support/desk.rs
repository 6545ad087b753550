//! A test desk for one member: the test provides its inputs, and its effects are recorded.

use hustings_protocol::simulated::Nominating;
use hustings_protocol::{
    Candidate, Duration, Input, Instant, Io, MemberId, Protocol, Roster, Simulated, Timer, View,
};
use hustings_sim::{Seeds, Stream};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// One member, its clock, and its effects.
pub(crate) struct Desk<P: Protocol> {
    pub(crate) member: P,
    pub(crate) papers: Papers<P>,
}

/// The state behind the member's `Io`.
pub(crate) struct Papers<P: Protocol> {
    pub(crate) me: Candidate,
    pub(crate) config: P::Config,
    pub(crate) now: Instant,
    pub(crate) view: Roster,
    rng: Xoshiro256PlusPlus,
    /// The expiry times of its timers.
    due: Vec<Option<Instant>>,
    /// The unicasts that it sent.
    pub(crate) told: Vec<(MemberId, P::Message)>,
    /// The multicasts that it sent.
    pub(crate) said: Vec<(Instant, P::Message)>,
    /// Its reports.
    pub(crate) outcomes: Vec<P::Outcome>,
    /// The candidates that it got to know.
    pub(crate) met: Vec<Candidate>,
}

impl<P: Simulated> Desk<P> {
    pub(crate) fn new(me: Candidate, member: P, config: P::Config, seed: u64) -> Self {
        let papers = Papers {
            me,
            config,
            now: Instant::START,
            view: Roster::alone(me),
            rng: Seeds::new(seed, 0).rng(Stream::Members),
            due: vec![None; P::Timer::ALL.len()],
            told: Vec::new(),
            said: Vec::new(),
            outcomes: Vec::new(),
            met: Vec::new(),
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

    /// Lets time pass, with timers expiring.
    pub(crate) fn wait(&mut self, span: Duration) {
        let end = self.papers.now + span;
        loop {
            let due = self.papers.due.iter().flatten().min().copied();
            let Some(next) = due.filter(|due| *due <= end) else {
                break;
            };
            self.papers.now = next;
            let place = self.papers.due.iter().position(|due| *due == Some(next));
            let place = place.expect("it is the least of them");
            self.papers.due[place] = None;
            self.tell(Input::Timer(P::Timer::ALL[place]));
        }
        self.papers.now = end;
    }

    /// Lets time pass while the member does not run: due timers expire afterwards.
    pub(crate) fn oversleep(&mut self, span: Duration) {
        self.papers.now = self.papers.now + span;
        let now = self.papers.now;
        for due in self.papers.due.iter_mut().flatten() {
            *due = (*due).max(now);
        }
        self.wait(Duration::ZERO);
    }

    /// The expiry time of a running timer.
    pub(crate) fn due(&self, timer: P::Timer) -> Option<Instant> {
        self.papers.due[timer.index()]
    }

    /// Lets time pass until a timer expires, which must be running.
    pub(crate) fn wait_for(&mut self, timer: P::Timer) {
        let due = self.due(timer).expect("it waits for something");
        self.wait(due - self.papers.now);
    }

    /// The number of running timers.
    pub(crate) fn running(&self) -> usize {
        self.papers.due.iter().flatten().count()
    }

    /// Its nominee.
    pub(crate) fn names(&self) -> Option<MemberId> {
        self.papers.outcomes.iter().rev().find_map(Nominating::nominee).flatten()
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
        assert_ne!(to, self.me.id, "it sends to itself");
        self.told.push((to, message));
    }

    fn multicast(&mut self, message: P::Message) {
        self.said.push((self.now, message));
    }

    fn arm(&mut self, timer: P::Timer, after: Duration) {
        self.due[timer.index()] = Some(self.now + after);
    }

    fn disarm(&mut self, timer: P::Timer) {
        self.due[timer.index()] = None;
    }

    fn save(&mut self, _: P::Durable) {}

    fn report(&mut self, outcome: P::Outcome) {
        self.outcomes.push(outcome);
    }

    fn meet(&mut self, candidate: Candidate) {
        self.met.push(candidate);
    }
}
