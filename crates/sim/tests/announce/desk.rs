//! One member at a desk: it is told what a test likes, and what it does is taken down.

use hustings_protocol::announce::{Claim, Message, Timer};
use hustings_protocol::{
    Candidate, Duration, Input, Instant, Io, MemberId, Outcome, Protocol, Roster, View,
};
use hustings_sim::{Seeds, Stream};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use hustings_protocol::announce::Config;

use crate::kin::Kin;

/// One member, its clock, and what it did.
pub(crate) struct Desk<P: Protocol> {
    pub(crate) member: P,
    pub(crate) papers: Papers<P>,
}

/// What the member's `Io` is made of.
pub(crate) struct Papers<P: Protocol> {
    me: Candidate,
    config: P::Config,
    now: Instant,
    rng: Xoshiro256PlusPlus,
    view: Roster,
    due: [Option<Instant>; <Timer as hustings_protocol::Timer>::ALL.len()],
    /// What it said.
    pub(crate) said: Vec<(Instant, Message)>,
    /// What it concluded.
    pub(crate) outcomes: Vec<Outcome>,
}

impl<P: Kin> Desk<P> {
    pub(crate) fn new(me: Candidate, config: Config, saved: Option<u32>, seed: u64) -> Self {
        Self {
            member: P::make(saved),
            papers: Papers {
                me,
                config: P::configure(config),
                now: Instant::START,
                rng: Seeds::new(seed, 0).rng(Stream::Members),
                view: Roster::alone(me),
                due: [None; <Timer as hustings_protocol::Timer>::ALL.len()],
                said: Vec::new(),
                outcomes: Vec::new(),
            },
        }
    }

    pub(crate) fn tell(&mut self, input: Input<P>) {
        self.member.step(input, &mut self.papers);
    }

    pub(crate) fn hear(&mut self, from: u64, message: Message) {
        let from = MemberId(from);
        self.tell(Input::Message { from, message });
    }

    /// Lets time pass, and timers run out.
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
            self.tell(Input::Timer(
                <Timer as hustings_protocol::Timer>::ALL[place],
            ));
        }
        self.papers.now = end;
    }

    /// Time passes, and nothing that is due happens until it is over.
    pub(crate) fn oversleep(&mut self, span: Duration) {
        self.papers.now = self.papers.now + span;
        let now = self.papers.now;
        for due in self.papers.due.iter_mut().flatten() {
            *due = (*due).max(now);
        }
        self.wait(Duration::ZERO);
    }

    /// Whom it names.
    pub(crate) fn names(&self) -> Option<MemberId> {
        let names = |outcome: &Outcome| match outcome {
            Outcome::Standing { .. } => None,
            Outcome::TenureGained { .. }
            | Outcome::TenureLost { .. }
            | Outcome::TenureRefused(_) => None,
            Outcome::Nominee(it) => Some(Some(it.id)),
            Outcome::Vacant | Outcome::DuplicateIdentity => Some(None),
        };
        self.papers.outcomes.iter().rev().find_map(names).flatten()
    }

    /// How many of its timers run.
    pub(crate) fn running(&self) -> usize {
        self.papers.due.iter().flatten().count()
    }
}

/// An announcement of `id`.
pub(crate) fn announcement(
    id: u64,
    merit: u64,
    incarnation: u32,
    beat: u32,
    established: bool,
) -> Message {
    let claim = Claim {
        candidate: Candidate::new(id, merit),
        incarnation,
        established,
        backing: 0,
    };
    Message::Announcement {
        claim,
        beat,
        byes: 3,
    }
}

impl<P: Kin> Io<P> for Papers<P> {
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

    fn unicast(&mut self, _: MemberId, _: Message) {
        panic!("everything is said to everyone");
    }

    fn multicast(&mut self, message: Message) {
        self.said.push((self.now, message));
    }

    fn arm(&mut self, timer: Timer, after: Duration) {
        self.due[hustings_protocol::Timer::index(timer)] = Some(self.now + after);
    }

    fn disarm(&mut self, timer: Timer) {
        self.due[hustings_protocol::Timer::index(timer)] = None;
    }

    fn save(&mut self, _: u32) {}

    fn report(&mut self, outcome: Outcome) {
        self.outcomes.push(outcome);
    }
}
