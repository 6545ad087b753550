//! Probabilistic election: a few members, picked by a hash, agree among themselves and inform all
//! others.
//!
//! Source    Gupta, van Renesse, Birman, A probabilistically correct leader election protocol for
//!           large groups (Cornell, 2000); [`Config`] decides the cases that it leaves open
//! Assumes   a multicast and unicasts, both of which may be lost; views that may be partial; most
//!           messages take less than [`Config::hop`] and [`Config::spread`]; crash faults
//! Promises  with a probability that grows with K and does not depend on the size of the group
//!           (`hustings theory probabilistic`): all members that are up name one leader after a
//!           round. If a round fails, and a member notices, another round with greater K follows;
//!           after the last one members name no leader
//!           Two members may name different leaders for ever if no member learns of both. So this
//!           protocol only nominates; [`tenure`](crate::tenure) decides which member may act
//! Messages  initiation (to all: a round begins), preference (between relaying members), decision
//!           (to all, from each relaying member); about K^2 preferences and K decisions a round, in
//!           a group of any size. A member that starts asks a few others (question, answer)
//!
//! A round has the paper's three phases: *filter*, *relay*, *detection*. A member waits for one
//! thing at a time. In the field a leader asks one member now and then whether it names the same
//! leader (check). Its followers, all together as often, ask it. This finds groups that a partition
//! separated, and members that missed an election.

mod config;
mod filter;
mod message;
mod phase;
mod reconcile;
mod relay;
mod strategy;

pub use config::{Config, GroupSize, Introduction, Recall, ReplyRule, StartAction};
pub use message::{Message, RoundId};
pub use strategy::{LastRound, Strategy};

use rand_core::Rng;

use crate::mix64::unit;
use crate::{
    Candidate, Duration, ElectionOutcome, Input, Io, MemberId, Protocol, Simulated, View,
    ViewChange,
};
use filter::{DrawPurpose, Filter};
use phase::{Decisions, Departed, Phase};
use relay::Relay;

/// The timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// The time for the present phase is over.
    Phase,
    /// A leader asks one member whether it names it too.
    Check,
}

crate::timers!(Phase, Check);

/// Requests that the driver may submit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// The approximate number of members of the group, this member included.
    GroupSize(u64),
    /// The number of members that are to relay in the first round of an election that this member
    /// calls.
    FirstK(u32),
}

/// One member.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Probabilistic {
    /// The latest known round, and its K. Stored without [`RoundId`], whose padding would cost six
    /// megabytes in a million members.
    sequence: u64,
    number: u16,
    k: u32,
    phase: Phase,
    /// The decisions of that round that this member has received.
    heard: Decisions,
    leader: Option<Candidate>,
    /// Members known to be gone: others may not know, and still prefer them.
    departed: Departed,
    submitted: Submitted,
}

/// The values that the driver submitted; 0 for none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Submitted {
    size: u32,
    first_k: u32,
}

impl Probabilistic {
    /// The latest round that this member knows.
    #[inline]
    pub fn round(&self) -> RoundId {
        RoundId { sequence: self.sequence, number: self.number }
    }

    /// K of the latest known round.
    pub fn k(&self) -> u32 {
        self.k
    }

    /// True if this member relays now.
    pub fn relays(&self) -> bool {
        matches!(self.phase, Phase::Relaying(_))
    }

    /// True if this member found that the last round failed, and calls another one, or would call
    /// one if there were any left.
    pub fn recalls(&self) -> bool {
        matches!(self.phase, Phase::Recalling { .. } | Phase::GivenUp { would_recall: true })
    }

    /// The leader that this member names.
    pub fn leader(&self) -> Option<Candidate> {
        self.leader
    }

    fn leads(&self, io: &impl Io<Self>) -> bool {
        self.leader.is_some_and(|leader| leader.id == io.me().id)
    }

    /// N_i.
    #[inline]
    fn size(&self, io: &impl Io<Self>) -> u64 {
        self.submitted_size(io).unwrap_or_else(|| io.view().len() as u64)
    }

    /// N_i from the configuration or the driver; `None` if it comes from the view, or if the driver
    /// has submitted none yet.
    #[inline]
    fn submitted_size(&self, io: &impl Io<Self>) -> Option<u64> {
        match io.config().size {
            GroupSize::Known(size) => Some(size),
            GroupSize::Estimate if self.submitted.size > 0 => Some(u64::from(self.submitted.size)),
            GroupSize::Estimate | GroupSize::View => None,
        }
    }

    /// K of a later round. Its caller may have received nothing, because its links are down, and
    /// let many members relay. A member that received a decision in this election keeps the smaller
    /// K.
    fn believed_k(&self, round: RoundId, k: u32, io: &impl Io<Self>) -> u32 {
        let strategy = io.config().strategy;
        let knows_better =
            round.sequence == self.sequence && strategy.is_steady(self.number, self.heard);
        match self.k {
            0 => k, // it knows the leader, but not the round
            own if knows_better => k.min(own),
            _ => k,
        }
    }

    /// True if H picks this member.
    #[inline]
    fn is_drawn(&self, draw: DrawPurpose, io: &impl Io<Self>) -> bool {
        let (me, filter) = (io.me().id, self.filter(draw, io));
        match self.submitted_size(io) {
            Some(size) => filter.admits(me, size, self.k),
            None if io.config().size == GroupSize::Estimate => false,
            // Most members are not picked, and need not count their whole view to find out.
            None => io.view().has_fewer_than(filter.least_without(me, self.k)),
        }
    }

    #[inline]
    fn filter(&self, draw: DrawPurpose, io: &impl Io<Self>) -> Filter {
        Filter::new(io.config().key, self.sequence, self.number, draw)
    }
}

impl Protocol for Probabilistic {
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Durable = ();
    type Outcome = ElectionOutcome;
    type Request = Request;

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
                self.submitted.size = u32::try_from(size).unwrap_or(u32::MAX);
            }
            Input::Request(Request::FirstK(k)) => self.submitted.first_k = k,
            Input::Leave => {} // the views of the others show it
        }
    }
}

impl Simulated for Probabilistic {
    /// True for the same round or the same decision once more. With checks, a leader answers every
    /// late message. A member that rests with two decisions, because it missed the call, notices
    /// the failed round by the next message.
    #[inline]
    fn is_duplicate_of(message: &Message, earlier: &Message, config: &Config) -> bool {
        use Message::{Decision, Initiation};
        config.check.is_none()
            && config.uninformed_detect
            && match (message, earlier) {
                (Initiation { round, .. }, Initiation { round: called, .. }) => round == called,
                (Decision { .. }, Decision { .. }) => message == earlier,
                _ => false,
            }
    }
}

// Handlers: one per input. They decide; the transitions below act.
impl Probabilistic {
    fn on_start(&mut self, io: &mut impl Io<Self>) {
        match io.config().joining {
            _ if self.phase != Phase::Resting => {} // an election is running
            StartAction::Call => self.call(io),
            StartAction::Ask if self.leader.is_some() => {} // it learnt the leader before it could ask
            StartAction::Ask => {
                self.ask(io);
                self.call_soon(io.config().hop * 2, io); // time for the answers
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
            Message::Preference { round, choice, priority } => {
                if round == self.round() && self.phase == Phase::Called {
                    self.enter(io); // the others have begun
                }
                if self.relays() && round == self.round() {
                    self.on_preference(Candidate { priority, id: from }, choice, io);
                } else if round <= self.round() {
                    self.on_past(from, io);
                } // else this member missed the initiation
            }
            Message::Decision { round, .. } if round < self.round() => self.on_past(from, io),
            Message::Decision { round, k, choice } => self.on_decision(round, k, choice, io),
            Message::Question => self.on_question(from, io),
            Message::Check { round, priority } => {
                self.on_check(Candidate { priority, id: from }, round, io);
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
            self.send_preference(io);
        } else if relay.answers(sender.id, choice, io.config().reply)
            && let Some(preference) = self.preference(io)
        {
            io.unicast(sender.id, preference);
        }
    }

    /// Handles a decision of the present round or a later one.
    #[inline]
    fn on_decision(&mut self, round: RoundId, k: u32, choice: Candidate, io: &mut impl Io<Self>) {
        if round > self.round() {
            self.supersede(io);
            self.begin(round, k, io);
            self.phase = Phase::Overhearing;
            io.arm(Timer::Phase, io.config().apart);
        }
        self.heard.hear(choice);
        match (&self.phase, self.heard) {
            // Late, and different from the other decisions.
            (Phase::Resting, Decisions::Several) => self.fail(io),
            // Late, but no member has called: the round did not fail; this member did not run, or
            // the network was slow.
            (Phase::Recalling { .. }, Decisions::One(leader)) if !self.departed.has(leader.id) => {
                self.rest(io);
                self.name(Some(leader), io);
            }
            _ => {}
        }
    }

    /// Handles the end of the present phase's time.
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
            return; // a false report about this member itself
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
    /// Filter phase: decides if this member relays.
    fn enter(&mut self, io: &mut impl Io<Self>) {
        if self.is_drawn(DrawPurpose::Relay, io) {
            self.start_relay(io);
        } else {
            self.phase = Phase::Listening;
            io.arm(Timer::Phase, io.config().round_time(self.k));
        }
    }

    /// Forgets the previous round, but not its leader.
    #[inline]
    fn begin(&mut self, round: RoundId, k: u32, io: &mut impl Io<Self>) {
        if let Some(leader) = self.leader {
            io.meet(leader);
        }
        self.sequence = round.sequence;
        self.number = round.number;
        self.k = k;
        self.heard = Decisions::Nothing;
    }

    /// Relay phase: sends its preference to the other relaying members that it knows.
    fn start_relay(&mut self, io: &mut impl Io<Self>) {
        self.phase = Phase::Relaying(Box::new(self.relay(io)));
        match io.config().introduction {
            Introduction::View => self.send_preference(io),
            Introduction::Multicast => {
                if let Some(preference) = self.preference(io) {
                    io.multicast(preference);
                }
            }
        }
        io.arm(Timer::Phase, io.config().relay_time(self.k));
    }

    /// The relaying members and the best candidate, as far as this member knows them by itself.
    fn relay(&self, io: &impl Io<Self>) -> Relay {
        let (me, view) = (io.me(), io.view());
        let relays = self.filter(DrawPurpose::Relay, io).among(self.size(io), self.k);
        let others = view.picked(|id| id != me.id && relays(id));
        Relay::new(view.best().max(me), others.map(|it| it.id).collect())
    }

    fn send_preference(&mut self, io: &mut impl Io<Self>) {
        let Some(preference) = self.preference(io) else {
            return;
        };
        if let Phase::Relaying(relay) = &mut self.phase {
            for &id in relay.set() {
                io.unicast(id, preference);
            }
        }
    }

    /// Its preference message while it relays.
    fn preference(&self, io: &impl Io<Self>) -> Option<Message> {
        let Phase::Relaying(relay) = &self.phase else {
            return None;
        };
        Some(Message::Preference {
            round: self.round(),
            choice: relay.choice,
            priority: io.me().priority,
        })
    }

    /// Ends the relay phase: sends the decision to all.
    fn decide(&mut self, io: &mut impl Io<Self>) {
        if let Phase::Relaying(relay) = std::mem::replace(&mut self.phase, Phase::Listening) {
            let (round, k, choice) = (self.round(), self.k, relay.choice);
            self.heard.hear(choice);
            io.multicast(Message::Decision { round, k, choice });
        }
        io.arm(Timer::Phase, io.config().wait);
    }

    /// Detection phase: ends the round.
    fn conclude(&mut self, io: &mut impl Io<Self>) {
        let was_informed = self.phase == Phase::Listening;
        match self.heard {
            Decisions::One(leader) if !self.departed.has(leader.id) => {
                self.phase = Phase::Resting;
                self.name(Some(leader), io);
            }
            Decisions::Several if !was_informed && !io.config().uninformed_detect => {
                self.phase = Phase::Resting;
            }
            Decisions::Nothing | Decisions::One(_) | Decisions::Several => self.fail(io),
        }
    }

    /// Handles a round that this member knows to have failed.
    fn fail(&mut self, io: &mut impl Io<Self>) {
        self.name(None, io);
        let calls = match io.config().recall {
            Recall::Delay | Recall::All => true,
            Recall::Hash => self.is_drawn(DrawPurpose::Recall, io),
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
            let pause = again + io.config().hesitation.mul_f64(unit(io.rng().next_u64()));
            io.arm(Timer::Phase, pause);
        }
    }

    /// Calls the next round, which begins after `after`.
    fn recall(&mut self, after: Duration, io: &mut impl Io<Self>) {
        let size = self.size(io);
        let k = match self.k {
            0 => self.first_k(io), // it learnt of the round without its K
            k => k,
        };
        let strategy = io.config().strategy;
        let next = strategy.next(self.number, k, self.heard, size);
        let round = RoundId { sequence: self.sequence, number: self.number.saturating_add(1) };
        match next {
            Some(k) => self.initiate(round, k, after, io),
            None => self.rest(io),
        }
    }

    /// Calls a new election.
    fn call(&mut self, io: &mut impl Io<Self>) {
        let round = RoundId { sequence: self.sequence.saturating_add(1), number: 1 };
        self.initiate(round, self.first_k(io), Duration::ZERO, io);
    }

    /// The number of members that are to relay in the first round of an election that it calls.
    fn first_k(&self, io: &impl Io<Self>) -> u32 {
        match self.submitted.first_k {
            0 => io.config().strategy.first,
            k => k,
        }
    }

    fn initiate(&mut self, round: RoundId, k: u32, after: Duration, io: &mut impl Io<Self>) {
        io.report(ElectionOutcome::Standing { round: u32::from(round.number) });
        io.multicast(Message::Initiation { round, k, after });
        self.begin(round, k, io);
        self.enter_after(after + io.config().spread, io);
    }

    fn enter_after(&mut self, span: Duration, io: &mut impl Io<Self>) {
        self.phase = Phase::Called;
        io.arm(Timer::Phase, span);
    }

    /// Waits for `after` and a random time, during which another member may call, before it calls
    /// an election.
    fn call_soon(&mut self, after: Duration, io: &mut impl Io<Self>) {
        self.phase = Phase::Calling;
        self.hesitate(after, io);
    }

    /// Waits for a time that is long for most members and short for few, so that few act before the
    /// first message arrives: truncated exponential, as in [`Wake`](crate::announce::Wake).
    fn hesitate(&mut self, after: Duration, io: &mut impl Io<Self>) {
        let lambda = 1.0 + (self.size(io) as f64).ln();
        let part = (unit(io.rng().next_u64()) * lambda.exp_m1()).ln_1p() / lambda;
        let pause = io.config().hesitation.mul_f64(part);
        io.arm(Timer::Phase, after + pause);
    }

    /// Ends the present round early, because a later one begins: only the decisions received up to
    /// now count.
    fn supersede(&mut self, io: &mut impl Io<Self>) {
        match (&self.phase, self.heard) {
            (Phase::Listening | Phase::Overhearing, Decisions::One(leader))
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
        io.report(leader.map_or(ElectionOutcome::Vacant, ElectionOutcome::Nominee));
        if leader.is_some() {
            self.check_later(io);
        }
    }
}
