//! Wagner's ring: a fair draw among members who do not trust each other.
//!
//! Source    N. R. Wagner, "Randomized Fault-Detecting Leader Election in a Bi-Directional Ring"
//! Assumes   all members see the same ring, the cyclic order of identities; links lose nothing and keep order; and those
//!           who cheat, whatever they do and whatever they tell each other, are neighbours, at most `n/2 - 1` of them, or
//!           one more on an odd ring with an agreed direction
//! Promises  every honest member is elected with probability `1/n`, whatever the others do, or all honest members learn
//!           that there is a fault: wrong flips, silence where [`Config::respond_within`] is set, and, beyond the paper, as
//!           two cheaters can hold up its ring for ever, [`Config::stall_limit`] equal stages in a row. That last is a false
//!           alarm in an honest ring with a probability of about `0.7 x 2^-limit`. Each member sends `2n` flips a Basic
//!           round and at most two fault messages. Among cheaters on both sides nothing is promised
//! Messages  a flip, one that withholds it, or a fault, to both neighbours
//!
//! It reads as the paper does: [`basic`] (B) makes members agree on everybody's flip, [`coin`] (F) makes one flip of these,
//! [`subset`] (S) chooses a part of the active members, [`leader`] (L) repeats that until one is left. This file is what goes
//! on around: neighbours, fault messages, time.
//!
//! A fault is a veto: whoever does not like how a draw goes can end it. To draw again would let a cheater choose, so a member
//! takes part in one draw and no other. And it may be told of a fault after it has named whom it saw elected: of the last
//! round's messages, too, somebody else may have seen others.

pub mod basic;
pub mod coin;
pub mod fault;
pub mod flips;
pub mod leader;
pub mod subset;

use std::num::NonZeroU32;

use rand_core::Rng;
use serde::{Deserialize, Serialize};

use crate::config::{ConfigError, require_some_time};
use crate::{Candidate, Duration, Input, Io, MemberId, NoRequest, Outcome, Protocol, View};
use basic::Basic;
use fault::{Cause, Fault, Side, Testimony};
use flips::Flip;
use leader::{Leader, Next};
use subset::{Compare, Selection};

/// How a draw is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// How members are made to commit to their flips.
    pub ring: Ring,
    /// Which of two parts of the active members stays. Anything but [`Selection::Proportional`] is no fair draw.
    pub selection: Selection,
    /// When a comparison of random bits with a fraction is decided.
    pub compare: Compare,
    /// So many stages in a row in which all active members flip alike are a fault. None, as in the paper: then two cheaters
    /// can hold up a draw for ever.
    pub stall_limit: Option<NonZeroU32>,
    /// No answer for so long is a fault. It must outlast what a message and its answer take, or honest members are taken for
    /// broken. None: whoever is silent holds up the draw for ever.
    pub respond_within: Option<Duration>,
}

/// How a member is made to commit to its flip before it knows those of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ring {
    /// Solution (a): it sends it both ways at once, and passes flips on when it has one from either side.
    BothWays,
    /// Solution (b): all agree which way is clockwise. It sends its flip that way, and the other way when its neighbour's has
    /// come. The two directions take turns, so a round takes twice as long.
    Clockwise,
}

impl Ring {
    /// The fewest members that can be held to their flips.
    pub fn fewest(self) -> u32 {
        match self {
            Self::BothWays => 4,
            Self::Clockwise => 3,
        }
    }
}

impl Config {
    /// The limit on equal stages of [`Config::field`]: one honest draw in 10^12 ends by it.
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
            ring: Ring::BothWays,
            selection: Selection::Proportional,
            compare: Compare::NonStrict,
            stall_limit: Some(Self::USUAL_STALL_LIMIT),
            respond_within: Some(respond_within),
        }
    }

    /// Whether it can work.
    pub fn check(&self) -> Result<(), ConfigError> {
        require_some_time("respond_within", self.respond_within)
    }
}

/// What goes from a member to its neighbours: two bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Message {
    /// A flip, the sender's or one that it passes on.
    Flip(Flip),
    /// In place of a flip that goes the other way only.
    Withheld,
    /// There is a fault.
    Fault,
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

impl crate::Timer for Timer {
    const ALL: &'static [Self] = &[Self::ResponseDue];

    fn index(self) -> usize {
        match self {
            Self::ResponseDue => 0,
        }
    }
}

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
    /// It is under way.
    Drawing(Box<Draw>),
    /// This member has seen who is elected.
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
    /// Which Basic round it is, from 1 on.
    round: u32,
    basic: Basic,
    /// The round before, as a fault in it may yet be reported.
    before: Basic,
}

/// A link to a neighbour.
#[derive(Debug, Clone)]
struct Link {
    neighbour: MemberId,
    /// A message for the next round. A neighbour that waits for both of its own cannot send two.
    early: Option<Message>,
    /// Whether a fault message went or came this way: then none goes any more.
    fault_is_known: bool,
}

impl Protocol for Wagner {
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Durable = ();
    type Request = NoRequest;

    #[inline]
    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        match input {
            Input::Start => self.on_start(io),
            Input::Message {
                from,
                message: Message::Fault,
            } => self.on_fault_message(from, io),
            Input::Message { from, message } => self.on_message(from, message, io),
            Input::Timer(Timer::ResponseDue) => self.on_silence(io),
            // The ring is agreed on. Whoever is gone is silent, and whoever comes waits for the next draw.
            Input::ViewChanged(_) => {}
            Input::Leave => self.on_leave(io),
            Input::Request(none) => match none {},
        }
    }
}

// Handlers: one per input. They decide; the transitions below act.
impl Wagner {
    fn on_start(&mut self, io: &mut impl Io<Self>) {
        match &self.phase {
            Phase::Idle => self.begin(io),
            // One draw each, whatever came of it.
            Phase::Drawing(_) | Phase::Elected(..) | Phase::Failed(..) => {}
        }
    }

    #[inline]
    fn on_message(&mut self, from: MemberId, message: Message, io: &mut impl Io<Self>) {
        if matches!(self.phase, Phase::Idle) {
            self.begin(io); // a neighbour has begun
        }
        let Phase::Drawing(draw) = &mut self.phase else {
            return; // no part of a draw that is over
        };
        let Some(side) = draw.side_of(from) else {
            return; // no neighbour
        };
        match draw.hear(side, message) {
            Ok(()) => self.go_on(io),
            Err(cause) => self.fail(cause, io),
        }
    }

    fn on_fault_message(&mut self, from: MemberId, io: &mut impl Io<Self>) {
        if matches!(self.phase, Phase::Idle) {
            self.begin(io); // a neighbour's neighbours have begun
        }
        let draw = match &mut self.phase {
            Phase::Idle => return, // the ring is too small
            Phase::Drawing(draw) | Phase::Elected(draw, _) | Phase::Failed(draw, _) => draw,
        };
        let Some(side) = draw.side_of(from) else {
            return; // no neighbour
        };
        draw.link_mut(side).fault_is_known = true;
        draw.warn(side.opposite(), io);
        if self.fault().is_none() {
            self.concede(Cause::Told { side }, io);
        }
    }

    fn on_silence(&mut self, io: &mut impl Io<Self>) {
        if let Phase::Drawing(draw) = &self.phase {
            let cause = Cause::Silence {
                side: draw.silent_side(),
            };
            self.fail(cause, io);
        }
    }

    fn on_leave(&mut self, io: &mut impl Io<Self>) {
        match self.phase {
            Phase::Drawing(_) => self.fail(Cause::Withdrawn, io),
            Phase::Idle | Phase::Elected(..) | Phase::Failed(..) => {}
        }
    }
}

// Transitions: the only code that writes `phase`. A timer runs while messages are due, if there is a limit.
impl Wagner {
    /// Joins the draw. On a ring where nobody can be held to a flip there is none.
    fn begin(&mut self, io: &mut impl Io<Self>) {
        let &Config {
            ring, selection, ..
        } = io.config();
        let Some(mut draw) = Draw::of(io.me(), io.view(), ring, selection) else {
            io.report(Outcome::Vacant);
            return;
        };
        io.report(Outcome::Standing { round: 1 });
        let begun = draw.begin_round(io);
        self.phase = Phase::Drawing(Box::new(draw));
        match begun {
            Ok(()) => self.await_answer(io),
            Err(cause) => self.fail(cause, io),
        }
    }

    /// Something was heard: says what is to be said now, and draws conclusions from a round that is over.
    #[inline]
    fn go_on(&mut self, io: &mut impl Io<Self>) {
        let Phase::Drawing(draw) = &mut self.phase else {
            return;
        };
        draw.speak(io);
        if !draw.basic.is_over() {
            self.await_answer(io);
            return;
        }
        let &Config {
            compare,
            stall_limit,
            ..
        } = io.config();
        match draw.conclude(compare, stall_limit) {
            Ok(Next::Round) => match draw.begin_round(io) {
                Ok(()) => self.await_answer(io),
                Err(cause) => self.fail(cause, io),
            },
            Ok(Next::Elected(place)) => self.settle(place, io),
            Ok(Next::Stalled) => {
                let stages = draw.leader.equal_stages();
                self.fail(Cause::Stalled { stages }, io);
            }
            Err(cause) => self.fail(cause, io),
        }
    }

    /// Names who is elected.
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
        io.report(Outcome::Nominee(elected));
    }

    /// Notices a fault: tells both neighbours.
    fn fail(&mut self, cause: Cause, io: &mut impl Io<Self>) {
        if let Phase::Drawing(draw) = &mut self.phase {
            draw.warn(Side::Left, io);
            draw.warn(Side::Right, io);
        }
        self.concede(cause, io);
    }

    /// Gives up the draw.
    fn concede(&mut self, cause: Cause, io: &mut impl Io<Self>) {
        let draw = match std::mem::take(&mut self.phase) {
            Phase::Drawing(draw) | Phase::Elected(draw, _) | Phase::Failed(draw, _) => draw,
            Phase::Idle => return,
        };
        let fault = Fault {
            place: draw.place,
            round: draw.round,
            cause,
        };
        io.disarm(Timer::ResponseDue);
        self.phase = Phase::Failed(draw, fault);
        io.report(Outcome::Fault(fault));
    }

    #[inline]
    fn await_answer(&mut self, io: &mut impl Io<Self>) {
        if let Some(limit) = io.config().respond_within {
            io.arm(Timer::ResponseDue, limit);
        }
    }
}

/// What whoever runs a member may want to know of it.
impl Wagner {
    /// A member that has not begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// How far the draw has got, once it has begun.
    pub fn progress(&self) -> Option<&Leader> {
        self.draw().map(|draw| &draw.leader)
    }

    /// Whom this member has seen elected, unless it knows of a fault.
    pub fn elected(&self) -> Option<MemberId> {
        match &self.phase {
            Phase::Elected(_, leader) => Some(*leader),
            Phase::Idle | Phase::Drawing(_) | Phase::Failed(..) => None,
        }
    }

    /// The fault that this member knows of.
    pub fn fault(&self) -> Option<Fault> {
        match &self.phase {
            Phase::Failed(_, fault) => Some(*fault),
            Phase::Idle | Phase::Drawing(_) | Phase::Elected(..) => None,
        }
    }

    /// What this member can say of its last two Basic rounds, the last first.
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
    /// The part of `me` on the ring that `view` shows; none on a ring that is too small.
    fn of(me: Candidate, view: impl View, ring: Ring, selection: Selection) -> Option<Self> {
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

    /// Flips, sends that, and takes in what has come for this round already.
    fn begin_round(&mut self, io: &mut impl Io<Wagner>) -> Result<(), Cause> {
        std::mem::swap(&mut self.basic, &mut self.before);
        self.round += 1;
        let flip = Flip::heads_if(io.rng().next_u64() >> 63 == 1);
        self.basic.begin(flip, self.leader.neighbours());
        self.speak(io);
        for side in Side::BOTH {
            if let Some(message) = self.link_mut(side).early.take() {
                self.basic.hear(side, message)?;
                self.speak(io);
            }
        }
        Ok(())
    }

    #[inline]
    fn hear(&mut self, side: Side, message: Message) -> Result<(), Cause> {
        if self.basic.heard_from(side) < self.leader.members() {
            return self.basic.hear(side, message);
        }
        match self.link_mut(side).early.replace(message) {
            None => Ok(()),
            Some(_) => Err(Cause::OutOfTurn { side }),
        }
    }

    /// Sends what may be sent now.
    #[inline]
    fn speak(&mut self, io: &mut impl Io<Wagner>) {
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

    /// What follows from a round that is over.
    fn conclude(&mut self, compare: Compare, limit: Option<NonZeroU32>) -> Result<Next, Cause> {
        let heads = self.basic.agree()?;
        Ok(self.leader.take(heads, compare, limit))
    }

    /// Sends a fault message to one side, unless one went there or came from there.
    fn warn(&mut self, side: Side, io: &mut impl Io<Wagner>) {
        let link = self.link_mut(side);
        if !std::mem::replace(&mut link.fault_is_known, true) {
            io.unicast(link.neighbour, Message::Fault);
        }
    }

    /// The side from which fewer messages came; none if neither did better.
    fn silent_side(&self) -> Option<Side> {
        let (left, right) = (
            self.basic.heard_from(Side::Left),
            self.basic.heard_from(Side::Right),
        );
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
        Self {
            neighbour,
            early: None,
            fault_is_known: false,
        }
    }
}
