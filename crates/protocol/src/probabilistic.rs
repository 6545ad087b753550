//! Probabilistic election: a few members, picked by a hash, agree among themselves and tell all.
//!
//! Source    Gupta, van Renesse, Birman, A probabilistically correct leader election protocol for large groups
//!           (Cornell, 2000); what it leaves open is decided in [`Config`]
//! Assumes   a multicast and unicasts, both of which may be lost; views that may be partial; most messages take less
//!           than [`Config::hop`] and [`Config::spread`]; crash faults
//! Promises  with a probability that grows with K and does not depend on the size of the group (`hustings theory
//!           probabilistic`): all that are up name one leader after a round. If a round fails, and somebody notices,
//!           there is another with greater K; after the last one members name nobody
//!           Two members may name different leaders for ever if nobody hears of both. So this nominates; who may act
//!           is decided by [`tenure`](crate::tenure)
//! Messages  initiation (to everyone: a round begins), preference (between those who relay), decision (to everyone,
//!           from each that relays); about K^2 preferences and K decisions a round, however large the group. Whoever
//!           comes up asks a few (question, answer)
//!
//! A round has the document's three phases: *filter*, *relay*, *detection*. A member waits for one thing at a time. In
//! the field a leader asks one member now and then whether it is of the same mind (check), and its followers, all
//! together as often, ask it: groups that were cut off from each other, and members that missed an election, are found so.

mod accord;
mod config;
mod departed;
mod filter;
mod message;
mod phase;
mod relay;
mod strategy;

pub use config::{Config, GroupSize, Introduction, Joining, Recall, Reply};
pub use message::{Message, Round};
pub use strategy::{LastRound, Strategy};

use rand_core::Rng;

use crate::{Candidate, Duration, Input, Io, MemberId, Outcome, Protocol, View, ViewChange};
use departed::Departed;
use filter::{Draw, Filter};
use phase::{Heard, Phase};
use relay::Relay;

/// The timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// What this member waits for has had its time.
    Phase,
    /// It leads, and asks somebody whether it says so too.
    Check,
}

impl crate::Timer for Timer {
    const ALL: &'static [Self] = &[Self::Phase, Self::Check];

    #[inline]
    fn index(self) -> usize {
        self as usize
    }
}

/// What whoever runs a member tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// The group has about so many members, itself included.
    GroupSize(u64),
    /// So many are to relay in the first round of an election that this member calls.
    FirstK(u32),
}

/// One member.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Probabilistic {
    /// The latest round that it has heard of, and its K. Not as a [`Round`], which has a gap: that is six megabytes of a
    /// million members.
    sequence: u64,
    number: u16,
    k: u32,
    phase: Phase,
    /// The decisions of that round that it has heard of.
    heard: Heard,
    leader: Option<Candidate>,
    /// Who is known to be gone: others may not know, and still prefer it.
    departed: Departed,
    told: Told,
}

/// What a member was told by whoever runs it; 0: nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Told {
    size: u32,
    first_k: u32,
}

impl Probabilistic {
    /// A member that has heard nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The latest round that it has heard of.
    #[inline]
    pub fn round(&self) -> Round {
        Round {
            sequence: self.sequence,
            number: self.number,
        }
    }

    /// K of that round.
    pub fn k(&self) -> u32 {
        self.k
    }

    /// Whether it relays now.
    pub fn relays(&self) -> bool {
        matches!(self.phase, Phase::Relaying(_))
    }

    /// Whether it has found that the last round failed, and calls another one, or would if there were one.
    pub fn recalls(&self) -> bool {
        matches!(
            self.phase,
            Phase::Recalling { .. } | Phase::GivenUp { would_recall: true }
        )
    }

    /// Whom it names.
    pub fn leader(&self) -> Option<Candidate> {
        self.leader
    }

    fn leads(&self, io: &impl Io<Self>) -> bool {
        self.leader.is_some_and(|leader| leader.id == io.me().id)
    }

    /// N_i.
    #[inline]
    fn size(&self, io: &impl Io<Self>) -> u64 {
        self.told_size(io).unwrap_or_else(|| io.view().len() as u64)
    }

    /// N_i, unless it is told by the view, or nobody has told it yet.
    #[inline]
    fn told_size(&self, io: &impl Io<Self>) -> Option<u64> {
        match io.config().size {
            GroupSize::Known(size) => Some(size),
            GroupSize::Estimate if self.told.size > 0 => Some(u64::from(self.told.size)),
            GroupSize::Estimate | GroupSize::View => None,
        }
    }

    /// K of a later round. Who calls it may have heard nobody, as it is deaf, and have many relay: who has heard some in
    /// this election knows better.
    fn believed_k(&self, round: Round, k: u32, io: &impl Io<Self>) -> u32 {
        let strategy = io.config().strategy;
        let knows_better =
            round.sequence == self.sequence && strategy.is_steady(self.number, self.heard);
        match self.k {
            0 => k, // it was told who leads, and not of the round
            own if knows_better => k.min(own),
            _ => k,
        }
    }

    /// Whether it is among those that H picks.
    #[inline]
    fn is_drawn(&self, draw: Draw, io: &impl Io<Self>) -> bool {
        let (me, filter) = (io.me().id, self.filter(draw, io));
        match self.told_size(io) {
            Some(size) => filter.admits(me, size, self.k),
            None if io.config().size == GroupSize::Estimate => false,
            // Most are not, and need not count the whole of their view to know.
            None => io.view().has_fewer_than(filter.least_without(me, self.k)),
        }
    }

    #[inline]
    fn filter(&self, draw: Draw, io: &impl Io<Self>) -> Filter {
        Filter::new(io.config().key, self.sequence, self.number, draw)
    }
}

impl Protocol for Probabilistic {
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Durable = ();
    type Request = Request;

    /// The same round once more, or the same decision. Where there are checks a leader answers each that is late; and who
    /// rests though it has heard of two, as it missed the call, notices by the next word that the round has failed.
    #[inline]
    fn echoes(message: &Message, earlier: &Message, config: &Config) -> bool {
        use Message::{Decision, Initiation};
        config.check.is_none()
            && config.uninformed_detect
            && match (message, earlier) {
                (Initiation { round, .. }, Initiation { round: called, .. }) => round == called,
                (Decision { .. }, Decision { .. }) => message == earlier,
                _ => false,
            }
    }

    #[inline]
    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        match input {
            Input::Start => self.on_start(io),
            Input::Message { from, message } => self.on_message(from, message, io),
            Input::Timer(Timer::Phase) => self.on_time(io),
            Input::Timer(Timer::Check) => self.on_check_due(io),
            Input::ViewChanged(ViewChange::Left(id)) => self.on_left(id, io),
            Input::ViewChanged(ViewChange::Joined(it)) => self.on_joined(it.id, io),
            Input::Request(Request::GroupSize(size)) => {
                self.told.size = u32::try_from(size).unwrap_or(u32::MAX);
            }
            Input::Request(Request::FirstK(k)) => self.told.first_k = k,
            Input::Leave => {} // the others see it leave
        }
    }
}

// Handlers: one per input. They decide; the transitions below act.
impl Probabilistic {
    fn on_start(&mut self, io: &mut impl Io<Self>) {
        match io.config().joining {
            _ if self.phase != Phase::Resting => {} // an election is under way
            Joining::Call => self.call(io),
            Joining::Ask if self.leader.is_some() => {} // it was told before it could ask
            Joining::Ask => {
                self.ask(io);
                self.call_soon(io.config().hop * 2, io); // those who were asked have their say
            }
        }
    }

    #[inline]
    fn on_message(&mut self, from: MemberId, message: Message, io: &mut impl Io<Self>) {
        match message {
            Message::Initiation { round, k, after } if round > self.round() => {
                let k = self.believed_k(round, k, io);
                self.supersede(io);
                self.begin(round, k, io);
                match after.min(io.config().hesitation) {
                    Duration::ZERO => self.enter(io),
                    after => self.enter_after(after, io),
                }
            }
            Message::Initiation { .. } => self.on_past(from, io),
            Message::Preference {
                round,
                choice,
                merit,
            } => {
                if round == self.round() && self.phase == Phase::Called {
                    self.enter(io); // the others have begun
                }
                match self.relays() {
                    true if round == self.round() => {
                        self.on_preference(Candidate { merit, id: from }, choice, io);
                    }
                    _ if round <= self.round() => self.on_past(from, io),
                    _ => {} // it missed the initiation
                }
            }
            Message::Decision { round, .. } if round < self.round() => self.on_past(from, io),
            Message::Decision { round, k, choice } => self.on_decision(round, k, choice, io),
            Message::Question => self.on_question(from, io),
            Message::Check { round, merit } => {
                self.on_check(Candidate { merit, id: from }, round, io);
            }
            Message::Answer { round, leader } => self.on_answer(from, round, leader, io),
        }
    }

    fn on_preference(&mut self, sender: Candidate, choice: Candidate, io: &mut impl Io<Self>) {
        let Phase::Relaying(relay) = &mut self.phase else {
            return;
        };
        if relay.include(sender.id) {
            io.meet(sender);
        }
        if choice > relay.choice && !self.departed.has(choice.id) {
            relay.choice = choice;
            self.tell_set(io);
        } else if relay.answers(sender.id, choice, io.config().reply)
            && let Some(preference) = self.preference(io)
        {
            io.unicast(sender.id, preference);
        }
    }

    /// Of a round that is not past.
    #[inline]
    fn on_decision(&mut self, round: Round, k: u32, choice: Candidate, io: &mut impl Io<Self>) {
        if round > self.round() {
            self.supersede(io);
            self.begin(round, k, io);
            self.phase = Phase::Overhearing;
            io.arm(Timer::Phase, io.config().apart);
        }
        self.heard.hear(choice);
        match (&self.phase, self.heard) {
            // Late, and not what the others said.
            (Phase::Resting, Heard::Several) => self.fail(io),
            // Late, but nobody has called: the round did not fail, this member did not run or the network was slow.
            (Phase::Recalling { .. }, Heard::One(leader)) if !self.departed.has(leader.id) => {
                self.rest(io);
                self.name(Some(leader), io);
            }
            _ => {}
        }
    }

    /// What this member waited for has had its time.
    fn on_time(&mut self, io: &mut impl Io<Self>) {
        match self.phase {
            Phase::Called => self.enter(io),
            Phase::Relaying(_) => self.decide(io),
            Phase::Listening => self.conclude(io),
            Phase::Overhearing => self.conclude(io),
            Phase::Recalling { until } => self.recall(until - io.now(), io),
            Phase::Calling | Phase::GivenUp { .. } => self.call(io),
            Phase::Resting => {}
        }
    }

    fn on_left(&mut self, id: MemberId, io: &mut impl Io<Self>) {
        if id == io.me().id {
            return; // whoever says so will hear from it
        }
        self.departed.enter(id);
        if self.leader.is_some_and(|leader| leader.id == id) {
            self.name(None, io);
            if self.phase == Phase::Resting {
                self.call_soon(Duration::ZERO, io);
            }
        }
    }
}

// Transitions.
impl Probabilistic {
    /// Filter phase: does this member relay?
    fn enter(&mut self, io: &mut impl Io<Self>) {
        if self.is_drawn(Draw::Relay, io) {
            self.start_relay(io);
        } else {
            self.phase = Phase::Listening;
            io.arm(Timer::Phase, io.config().round_time(self.k));
        }
    }

    /// Forgets the round before, but not whom it elected.
    #[inline]
    fn begin(&mut self, round: Round, k: u32, io: &mut impl Io<Self>) {
        if let Some(leader) = self.leader {
            io.meet(leader);
        }
        self.sequence = round.sequence;
        self.number = round.number;
        self.k = k;
        self.heard = Heard::Nothing;
    }

    /// Relay phase: tells the others that it knows to relay whom it prefers.
    fn start_relay(&mut self, io: &mut impl Io<Self>) {
        self.phase = Phase::Relaying(Box::new(self.relay(io)));
        match io.config().introduction {
            Introduction::View => self.tell_set(io),
            Introduction::Multicast => {
                if let Some(preference) = self.preference(io) {
                    io.multicast(preference);
                }
            }
        }
        io.arm(Timer::Phase, io.config().relay_time(self.k));
    }

    /// What it knows by itself of those who relay, and of whom to choose.
    fn relay(&self, io: &impl Io<Self>) -> Relay {
        let (me, view) = (io.me(), io.view());
        let relays = self.filter(Draw::Relay, io).among(self.size(io), self.k);
        let others = view.picked(|id| id != me.id && relays(id));
        Relay::new(view.best().max(me), others.map(|it| it.id).collect())
    }

    fn tell_set(&mut self, io: &mut impl Io<Self>) {
        let Some(preference) = self.preference(io) else {
            return;
        };
        if let Phase::Relaying(relay) = &mut self.phase {
            for &id in relay.set() {
                io.unicast(id, preference);
            }
        }
    }

    /// What it says while it relays.
    fn preference(&self, io: &impl Io<Self>) -> Option<Message> {
        let Phase::Relaying(relay) = &self.phase else {
            return None;
        };
        Some(Message::Preference {
            round: self.round(),
            choice: relay.choice,
            merit: io.me().merit,
        })
    }

    /// The relay phase is over: tells everyone.
    fn decide(&mut self, io: &mut impl Io<Self>) {
        if let Phase::Relaying(relay) = std::mem::replace(&mut self.phase, Phase::Listening) {
            let (round, k, choice) = (self.round(), self.k, relay.choice);
            self.heard.hear(choice);
            io.multicast(Message::Decision { round, k, choice });
        }
        io.arm(Timer::Phase, io.config().wait);
    }

    /// Detection phase: the round is over.
    fn conclude(&mut self, io: &mut impl Io<Self>) {
        let was_informed = self.phase == Phase::Listening;
        match self.heard {
            Heard::One(leader) if !self.departed.has(leader.id) => {
                self.phase = Phase::Resting;
                self.name(Some(leader), io);
            }
            Heard::Several if !was_informed && !io.config().uninformed_detect => {
                self.phase = Phase::Resting;
            }
            Heard::Nothing | Heard::One(_) | Heard::Several => self.fail(io),
        }
    }

    /// The round has failed, and this member knows.
    fn fail(&mut self, io: &mut impl Io<Self>) {
        self.name(None, io);
        let calls = match io.config().recall {
            Recall::Delay | Recall::All => true,
            Recall::Hash => self.is_drawn(Draw::Recall, io),
        };
        let is_last = io.config().strategy.is_last(self.number);
        match io.config().recall {
            _ if is_last => self.give_up(calls, io),
            Recall::Delay => {
                let until = io.now() + io.config().hesitation;
                self.phase = Phase::Recalling { until };
                self.hesitate(Duration::ZERO, io);
            }
            Recall::Hash | Recall::All if calls => self.recall(Duration::ZERO, io),
            Recall::Hash | Recall::All => self.rest(io),
        }
    }

    fn give_up(&mut self, would_recall: bool, io: &mut impl Io<Self>) {
        self.phase = Phase::GivenUp { would_recall };
        if let Some(again) = io.config().again {
            let pause = again + io.config().hesitation.mul_f64(uniform(io));
            io.arm(Timer::Phase, pause);
        }
    }

    /// Calls the next round, which begins `after`.
    fn recall(&mut self, after: Duration, io: &mut impl Io<Self>) {
        let size = self.size(io);
        let k = match self.k {
            0 => self.first_k(io), // it was told of the round by who did not say
            k => k,
        };
        let strategy = io.config().strategy;
        let next = strategy.next(self.number, k, self.heard, size);
        let round = Round {
            sequence: self.sequence,
            number: self.number.saturating_add(1),
        };
        match next {
            Some(k) => self.initiate(round, k, after, io),
            None => self.rest(io),
        }
    }

    /// Calls a new election.
    fn call(&mut self, io: &mut impl Io<Self>) {
        let round = Round {
            sequence: self.sequence.saturating_add(1),
            number: 1,
        };
        self.initiate(round, self.first_k(io), Duration::ZERO, io);
    }

    /// How many are to relay in the first round of an election that it calls.
    fn first_k(&self, io: &impl Io<Self>) -> u32 {
        match self.told.first_k {
            0 => io.config().strategy.first,
            k => k,
        }
    }

    fn initiate(&mut self, round: Round, k: u32, after: Duration, io: &mut impl Io<Self>) {
        io.report(Outcome::Standing {
            round: u32::from(round.number),
        });
        io.multicast(Message::Initiation { round, k, after });
        self.begin(round, k, io);
        self.enter_after(after + io.config().spread, io);
    }

    fn enter_after(&mut self, span: Duration, io: &mut impl Io<Self>) {
        self.phase = Phase::Called;
        io.arm(Timer::Phase, span);
    }

    /// Hears others out before it calls an election, `after` and a while more.
    fn call_soon(&mut self, after: Duration, io: &mut impl Io<Self>) {
        self.phase = Phase::Calling;
        self.hesitate(after, io);
    }

    /// Waits for a time that is long for most and short for few, so that few speak before they have heard the first:
    /// truncated exponential, as in [`Wake`](crate::announce::Wake).
    fn hesitate(&mut self, after: Duration, io: &mut impl Io<Self>) {
        let lambda = 1.0 + (self.size(io) as f64).ln();
        let part = (uniform(io) * lambda.exp_m1()).ln_1p() / lambda;
        let pause = io.config().hesitation.mul_f64(part);
        io.arm(Timer::Phase, after + pause);
    }

    /// A later round begins before this one was concluded: what was heard of it is all there is.
    fn supersede(&mut self, io: &mut impl Io<Self>) {
        match (&self.phase, self.heard) {
            (Phase::Listening | Phase::Overhearing, Heard::One(leader))
                if !self.departed.has(leader.id) =>
            {
                self.name(Some(leader), io);
            }
            (Phase::Listening | Phase::Relaying(_), _) => self.name(None, io),
            (Phase::Overhearing | Phase::Called, _) => {} // it never took part
            (Phase::Resting | Phase::Recalling { .. }, _) => {} // it has concluded
            (Phase::Calling | Phase::GivenUp { .. }, _) => {}
        }
    }

    fn rest(&mut self, io: &mut impl Io<Self>) {
        self.phase = Phase::Resting;
        io.disarm(Timer::Phase);
    }

    fn name(&mut self, leader: Option<Candidate>, io: &mut impl Io<Self>) {
        if self.leader == leader {
            return;
        }
        self.leader = leader;
        io.report(leader.map_or(Outcome::Vacant, Outcome::Nominee));
        if leader.is_some() {
            self.check_later(io);
        }
    }
}

/// A number from [0, 1).
fn uniform(io: &mut impl Io<Probabilistic>) -> f64 {
    (io.rng().next_u64() >> 11) as f64 * 2f64.powi(-53)
}
