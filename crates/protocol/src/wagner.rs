//! Wagner's ring: a fair draw among members that do not trust each other.
//!
//! Source    N. R. Wagner, "Randomized Fault-Detecting Leader Election in a Bi-Directional Ring"
//! Assumes   all members see the same ring, the cyclic order of identities; links lose nothing and
//!           keep order; cheaters, whatever they do and tell each other, are neighbours, at most
//!           `n/2 - 1` of them, or one more on an odd ring with an agreed direction
//! Promises  every honest member is elected with probability `1/n`, whatever the others do, or all
//!           honest members learn that there is a fault. Faults are wrong flips, silence if
//!           [`Config::respond_within`] is set, and [`Config::stall_limit`] equal stages in a row.
//!           The last one is not in the paper, in whose ring two cheaters can stall a draw for
//!           ever. It is a false alarm in an honest ring with a probability of about `0.7 x
//!           2^-limit`. Each member sends `2n` flips a Basic round and at most two fault messages.
//!           Between cheaters on both sides nothing is promised
//! Messages  a flip, a placeholder that withholds it, or a fault, to both neighbours
//!
//! The modules follow the paper: [`basic`] (B) makes members agree on all flips, [`flips`] (F)
//! combines them into one flip, [`subset`] (S) chooses a part of the active members, [`leader`] (L)
//! repeats that until one member is left. This file has the rest: neighbours, fault messages, time.
//!
//! A fault is a veto: a member that dislikes the course of a draw can end it. A repeated draw would
//! let a cheater choose, so a member takes part in a single draw. A member may learn of a fault
//! after it has named the elected member: another member may have seen a fault in the messages of
//! the last round.

pub mod basic;
pub mod fault;
pub mod flips;
pub mod leader;
pub mod subset;

use std::num::NonZeroU32;

use rand_core::Rng;
use serde::{Deserialize, Serialize};

use crate::config::{ConfigError, require_some_time};
use crate::{Candidate, Duration, Input, Io, MemberId, NoRequest, Protocol, View};
use basic::Basic;
use fault::{Fault, FaultCause, Side, Testimony};
use flips::Flip;
use leader::{Leader, Next};
use subset::{Compare, Selection};

/// The options of a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The way in which members commit to their flips.
    pub ring: Ring,
    /// The choice between two parts of the active members. Only [`Selection::Proportional`] is a
    /// fair draw.
    pub selection: Selection,
    /// The point at which a comparison of random bits with a fraction is decided.
    pub compare: Compare,
    /// The number of stages in a row, in which all active members flip alike, that is a fault.
    /// `None` as in the paper: two cheaters can then stall a draw for ever.
    pub stall_limit: Option<NonZeroU32>,
    /// The time without an answer that is a fault. It must be longer than a message and its answer
    /// take; otherwise honest members count as faulty. `None`: a silent member stalls the draw for
    /// ever.
    pub respond_within: Option<Duration>,
}

/// The way in which a member commits to its flip before it knows those of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ring {
    /// Solution (a): a member sends its flip both ways at once, and forwards flips when it has one
    /// from either side.
    BothWays,
    /// Solution (b): all members agree on the clockwise direction. A member sends its flip that
    /// way, and the other way once its neighbour's flip has arrived. The two directions take turns,
    /// so a round takes twice as long.
    Clockwise,
}

impl Ring {
    /// The least number of members that can be held to their flips.
    pub fn fewest(self) -> u32 {
        match self {
            Self::BothWays => 4,
            Self::Clockwise => 3,
        }
    }
}

impl Config {
    /// The limit on equal stages of [`Config::field`]: it ends one honest draw in 10^12.
    pub const USUAL_STALL_LIMIT: NonZeroU32 = NonZeroU32::new(40).expect("40 is not 0");

    /// The paper's algorithm, to the letter.
    pub const fn paper() -> Self {
        Self {
            ring: Ring::BothWays,
            selection: Selection::Proportional,
            compare: Compare::Strict,
            stall_limit: None,
            respond_within: None,
        }
    }

    /// For members that do not trust each other.
    pub const fn field(respond_within: Duration) -> Self {
        Self {
            compare: Compare::NonStrict,
            stall_limit: Some(Self::USUAL_STALL_LIMIT),
            respond_within: Some(respond_within),
            ..Self::paper()
        }
    }

    /// Checks that this configuration can work.
    pub fn check(&self) -> Result<(), ConfigError> {
        require_some_time("respond_within", self.respond_within)
    }
}

/// The messages from a member to its neighbours: two bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Message {
    /// A flip, the sender's or a forwarded one.
    Flip(Flip),
    /// A placeholder for a flip that goes only the other way.
    Withheld,
    /// The sender knows of a fault.
    Fault,
}

/// A conclusion of a member of a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DrawOutcome {
    /// This member begins the draw.
    Standing {
        /// Always 1: a draw is not repeated.
        round: u32,
    },
    /// The member that the draw elected.
    Nominee(Candidate),
    /// There is no draw, because the ring is too small.
    Vacant,
    /// A member cheats or is broken: this draw has no result, and this member no longer names any
    /// leader.
    Fault(Fault),
}

impl crate::Message for Message {
    const KINDS: &'static [&'static str] = &["flip", "fault"];

    fn kind(&self) -> usize {
        match self {
            Self::Flip(_) | Self::Withheld => 0,
            Self::Fault => 1,
        }
    }
}

/// The one timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// A neighbour's message is overdue.
    ResponseDue,
}

crate::timers!(ResponseDue);

/// One member of the ring, for one draw.
#[derive(Debug, Clone, Default)]
pub struct Wagner {
    phase: Phase,
}

#[derive(Debug, Clone, Default)]
enum Phase {
    /// The draw has not begun.
    #[default]
    Idle,
    /// The draw is running.
    Drawing(Box<Draw>),
    /// This member has seen the result.
    Elected(Box<Draw>, MemberId),
    /// There is a fault.
    Failed(Box<Draw>, Fault),
}

/// A member's part in a draw.
#[derive(Debug, Clone)]
struct Draw {
    place: u32,
    left: Link,
    right: Link,
    leader: Leader,
    /// The number of the Basic round, from 1.
    round: u32,
    basic: Basic,
    /// The previous round: a fault in it may still be reported.
    before: Basic,
}

/// A link to a neighbour.
#[derive(Debug, Clone)]
struct Link {
    neighbour: MemberId,
    /// A message for the next round. A neighbour that waits for both of its own neighbours cannot
    /// send two.
    early: Option<Message>,
    /// True if a fault message was sent or received on this link: no further one is sent.
    fault_is_known: bool,
}

impl Protocol for Wagner {
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Durable = ();
    type Outcome = DrawOutcome;
    type Request = NoRequest;

    #[inline]
    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        match input {
            Input::Start => self.on_start(io),
            Input::Message { from, message: Message::Fault } => self.on_fault_message(from, io),
            Input::Message { from, message } => self.on_message(from, message, io),
            Input::Timer(Timer::ResponseDue) => self.on_silence(io),
            // The ring is fixed. A member that left is silent, and a new one waits for the next
            // draw.
            Input::ViewChanged(_) => {}
            Input::Leave => self.on_leave(io),
            Input::Request(none) => match none {},
        }
    }
}

// Handlers: one per input. They decide; the transitions below act.
impl Wagner {
    fn on_start(&mut self, io: &mut impl Io<Self>) {
        if matches!(self.phase, Phase::Idle) {
            self.begin(io);
        }
    }

    #[inline]
    fn on_message(&mut self, from: MemberId, message: Message, io: &mut impl Io<Self>) {
        if matches!(self.phase, Phase::Idle) {
            self.begin(io); // a neighbour has begun
        }
        let Phase::Drawing(draw) = &mut self.phase else {
            return; // the draw is over
        };
        let Some(side) = draw.side_of(from) else {
            return; // no neighbour
        };
        match draw.hear(side, message) {
            Ok(()) => self.proceed(io),
            Err(cause) => self.fail(cause, io),
        }
    }

    fn on_fault_message(&mut self, from: MemberId, io: &mut impl Io<Self>) {
        if matches!(self.phase, Phase::Idle) {
            self.begin(io); // the draw has begun elsewhere on the ring
        }
        let draw = match &mut self.phase {
            Phase::Idle => return, // the ring is too small
            Phase::Drawing(draw) | Phase::Elected(draw, _) | Phase::Failed(draw, _) => draw,
        };
        let Some(side) = draw.side_of(from) else {
            return; // no neighbour
        };
        draw.link_mut(side).fault_is_known = true;
        draw.send_fault(side.opposite(), io);
        if self.fault().is_none() {
            self.concede(FaultCause::Told { side }, io);
        }
    }

    fn on_silence(&mut self, io: &mut impl Io<Self>) {
        if let Phase::Drawing(draw) = &self.phase {
            let cause = FaultCause::Silence { side: draw.quieter_side() };
            self.fail(cause, io);
        }
    }

    fn on_leave(&mut self, io: &mut impl Io<Self>) {
        if matches!(self.phase, Phase::Drawing(_)) {
            self.fail(FaultCause::Withdrawn, io);
        }
    }
}

// Transitions: the only code that writes `phase`. The timer, if configured, runs while messages are
// due.
impl Wagner {
    /// Joins the draw. On a ring that is too small to hold members to their flips there is no draw.
    fn begin(&mut self, io: &mut impl Io<Self>) {
        let &Config { ring, selection, .. } = io.config();
        let Some(mut draw) = Draw::of(io.me(), &io.view(), ring, selection) else {
            io.report(DrawOutcome::Vacant);
            return;
        };
        io.report(DrawOutcome::Standing { round: 1 });
        let begun = draw.begin_round(io);
        self.phase = Phase::Drawing(Box::new(draw));
        match begun {
            Ok(()) => io.arm_if_any(Timer::ResponseDue, io.config().respond_within),
            Err(cause) => self.fail(cause, io),
        }
    }

    /// Continues after a message: sends all messages that are due, and evaluates a round that is
    /// over.
    #[inline]
    fn proceed(&mut self, io: &mut impl Io<Self>) {
        let Phase::Drawing(draw) = &mut self.phase else {
            return;
        };
        draw.send_due(io);
        if !draw.basic.is_over() {
            io.arm_if_any(Timer::ResponseDue, io.config().respond_within);
            return;
        }
        let &Config { compare, stall_limit, .. } = io.config();
        match draw.conclude(compare, stall_limit) {
            Ok(Next::Round) => match draw.begin_round(io) {
                Ok(()) => io.arm_if_any(Timer::ResponseDue, io.config().respond_within),
                Err(cause) => self.fail(cause, io),
            },
            Ok(Next::Elected(place)) => self.settle(place, io),
            Ok(Next::Stalled) => {
                let stages = draw.leader.equal_stages();
                self.fail(FaultCause::Stalled { stages }, io);
            }
            Err(cause) => self.fail(cause, io),
        }
    }

    /// Names the elected member.
    fn settle(&mut self, place: u32, io: &mut impl Io<Self>) {
        let Phase::Drawing(draw) = std::mem::take(&mut self.phase) else {
            return;
        };
        let mut elected = io.me();
        let members = draw.leader.members();
        for _ in 0..(place + members - draw.place) % members {
            elected = io.view().successor(elected.id);
        }
        io.disarm(Timer::ResponseDue);
        self.phase = Phase::Elected(draw, elected.id);
        io.report(DrawOutcome::Nominee(elected));
    }

    /// Handles a fault that this member noticed: informs both neighbours.
    fn fail(&mut self, cause: FaultCause, io: &mut impl Io<Self>) {
        if let Phase::Drawing(draw) = &mut self.phase {
            draw.send_fault(Side::Left, io);
            draw.send_fault(Side::Right, io);
        }
        self.concede(cause, io);
    }

    /// Gives up the draw.
    fn concede(&mut self, cause: FaultCause, io: &mut impl Io<Self>) {
        let draw = match std::mem::take(&mut self.phase) {
            Phase::Drawing(draw) | Phase::Elected(draw, _) | Phase::Failed(draw, _) => draw,
            Phase::Idle => return,
        };
        let fault = Fault { place: draw.place, round: draw.round, cause };
        io.disarm(Timer::ResponseDue);
        self.phase = Phase::Failed(draw, fault);
        io.report(DrawOutcome::Fault(fault));
    }
}

/// Queries for the driver of a member.
impl Wagner {
    /// The progress of the draw, once it has begun.
    pub fn progress(&self) -> Option<&Leader> {
        self.draw().map(|draw| &draw.leader)
    }

    /// The member that this one has seen elected, unless it knows of a fault.
    pub fn elected(&self) -> Option<MemberId> {
        match &self.phase {
            Phase::Elected(_, leader) => Some(*leader),
            Phase::Idle | Phase::Drawing(_) | Phase::Failed(..) => None,
        }
    }

    /// The fault that this member knows.
    pub fn fault(&self) -> Option<Fault> {
        match &self.phase {
            Phase::Failed(_, fault) => Some(*fault),
            Phase::Idle | Phase::Drawing(_) | Phase::Elected(..) => None,
        }
    }

    /// This member's testimony about its last two Basic rounds, the last first.
    pub fn testimonies(&self) -> impl Iterator<Item = Testimony> {
        let of = |draw: &Draw| {
            let testify = |round, basic: &Basic| {
                Testimony::new(draw.place, round, self.fault(), basic.clone())
            };
            let last = testify(draw.round, &draw.basic);
            let before = (draw.round > 1).then(|| testify(draw.round - 1, &draw.before));
            std::iter::once(last).chain(before)
        };
        self.draw().into_iter().flat_map(of)
    }

    fn draw(&self) -> Option<&Draw> {
        match &self.phase {
            Phase::Idle => None,
            Phase::Drawing(draw) | Phase::Elected(draw, _) | Phase::Failed(draw, _) => Some(draw),
        }
    }
}

impl Draw {
    /// The part of `me` on the ring that `view` shows; `None` on a ring that is too small.
    fn of(me: Candidate, view: &impl View, ring: Ring, selection: Selection) -> Option<Self> {
        let members = u32::try_from(view.len()).unwrap_or(u32::MAX);
        if members < ring.fewest() {
            return None;
        }
        let (mut place, mut before, mut last) = (0, None, me.id);
        for other in view.candidates().map(|it| it.id) {
            if other < me.id {
                place += 1;
                before = before.max(Some(other));
            }
            last = last.max(other);
        }
        let basic = Basic::new(place, members, ring);
        Some(Self {
            place,
            left: Link::to(before.unwrap_or(last)),
            right: Link::to(view.successor(me.id).id),
            leader: Leader::selecting(members, selection),
            round: 0,
            before: basic.clone(),
            basic,
        })
    }

    /// Flips, sends the flip, and handles messages that have already arrived for this round.
    fn begin_round(&mut self, io: &mut impl Io<Wagner>) -> Result<(), FaultCause> {
        std::mem::swap(&mut self.basic, &mut self.before);
        self.round += 1;
        let flip = Flip::heads_if(io.rng().next_u64() >> 63 == 1);
        self.basic.begin(flip, self.leader.neighbours());
        self.send_due(io);
        for side in Side::BOTH {
            if let Some(message) = self.link_mut(side).early.take() {
                self.basic.hear(side, message)?;
                self.send_due(io);
            }
        }
        Ok(())
    }

    #[inline]
    fn hear(&mut self, side: Side, message: Message) -> Result<(), FaultCause> {
        if self.basic.heard_from(side) < self.leader.members() {
            return self.basic.hear(side, message);
        }
        match self.link_mut(side).early.replace(message) {
            None => Ok(()),
            Some(_) => Err(FaultCause::OutOfTurn { side }),
        }
    }

    /// Sends all messages that are due.
    #[inline]
    fn send_due(&mut self, io: &mut impl Io<Wagner>) {
        loop {
            let (left, right) = (self.basic.say(Side::Left), self.basic.say(Side::Right));
            if let Some(message) = left {
                io.unicast(self.left.neighbour, message);
            }
            if let Some(message) = right {
                io.unicast(self.right.neighbour, message);
            }
            if left.is_none() && right.is_none() {
                return;
            }
        }
    }

    /// Evaluates a round that is over.
    fn conclude(
        &mut self,
        compare: Compare,
        limit: Option<NonZeroU32>,
    ) -> Result<Next, FaultCause> {
        let heads = self.basic.agree()?;
        Ok(self.leader.take(heads, compare, limit))
    }

    /// Sends a fault message to one side, unless one was sent to it or came from it.
    fn send_fault(&mut self, side: Side, io: &mut impl Io<Wagner>) {
        let link = self.link_mut(side);
        if !std::mem::replace(&mut link.fault_is_known, true) {
            io.unicast(link.neighbour, Message::Fault);
        }
    }

    /// The side from which fewer messages came; `None` if both sent the same number.
    fn quieter_side(&self) -> Option<Side> {
        let (left, right) = (self.basic.heard_from(Side::Left), self.basic.heard_from(Side::Right));
        match left.cmp(&right) {
            std::cmp::Ordering::Less => Some(Side::Left),
            std::cmp::Ordering::Greater => Some(Side::Right),
            std::cmp::Ordering::Equal => None,
        }
    }

    #[inline]
    fn side_of(&self, member: MemberId) -> Option<Side> {
        if member == self.left.neighbour {
            Some(Side::Left)
        } else if member == self.right.neighbour {
            Some(Side::Right)
        } else {
            None
        }
    }

    fn link_mut(&mut self, side: Side) -> &mut Link {
        match side {
            Side::Left => &mut self.left,
            Side::Right => &mut self.right,
        }
    }
}

impl Link {
    fn to(neighbour: MemberId) -> Self {
        Self { neighbour, early: None, fault_is_known: false }
    }
}
