//! Leader election protocols as pure state machines.
//!
//! A protocol here has no clock, no socket, no thread and no randomness of its own. It implements
//! [`Protocol`]: one function, [`Protocol::step`], takes one input to completion and acts only
//! through [`Io`]. Whoever implements `Io` is a *world*: the simulator (`hustings-sim`) and the
//! agent that runs on real hosts drive the very same code.
//!
//! # The nouns
//! - [`MemberId`], [`Merit`], [`Candidate`]: who could lead, and by what order. There is one
//!   ordering in the whole project: greater merit wins, ties go to the lower identity.
//! - [`View`]: what one member knows of its group. Views of different members may differ.
//! - [`Input`], [`Outcome`]: what a member is told, and what it tells.
//! - [`Instant`], [`Duration`]: nanoseconds on the world's clock, never the machine's.
//!
//! # The protocols
//! | module | nominates by | needs |
//! |---|---|---|
//! | [`chang_roberts`] | the best identity going once round a ring | a successor |
//! | [`modified_ring`] | a list of identities going twice round a ring | a successor, a view of who is gone |
//! | [`bully`] | asking everyone better whether they live | every member known, bounded delays |
//! | [`announce`] | announcing oneself until somebody better is heard of | a multicast |
//! | [`probabilistic`] | a few, picked by a hash, who agree and tell all | a multicast, a partial view |
//! | [`wagner`] | a draw by coins that go round a ring both ways, so that nobody can cheat | an agreed ring, ordered links |
//!
//! # Representatives
//! | module | elects | needs |
//! |---|---|---|
//! | [`council`] | from `L` to `U` hosts out of any number, and keeps as many seated | a centre that can multicast |
//!
//! # For groups that nobody knows whole
//! | module | gives a member | needs |
//! |---|---|---|
//! | [`census`] | how many there are | a view |
//! | [`epidemic`] | a multicast made of unicasts | a view |
//! | [`shuffle`] | a few others at random, as its view | one that it knows |
//!
//! A nominee is a claim, not a licence to act: two members may name different nominees for a
//! while. That is the nature of these protocols, and each header says when it happens. What makes a
//! claim a licence is [`tenure`]: one holder at a time, with a fence.

pub mod announce;
pub mod announce_listen;
pub mod bully;
pub mod candidate;
pub mod census;
pub mod chang_roberts;
pub mod config;
pub mod council;
pub mod epidemic;
pub mod exact;
pub mod few;
pub mod modified_ring;
pub mod probabilistic;
pub mod scatter;
pub mod shuffle;
pub mod suppression;
pub mod tenure;
pub mod time;
pub mod trace;
pub mod view;
pub mod wagner;

pub use candidate::{Candidate, MemberId, Merit};
pub use tenure::{Fence, Refused};
pub use time::{Duration, DurationError, Instant};
pub use view::{Roster, View, ViewChange};

use rand_core::Rng;

/// One member's side of a protocol.
///
/// A run is the list of inputs given to each member: the same inputs with the same [`Io`] answers
/// lead to the same effects. `step` is total: it returns nothing and never fails. Input that makes
/// no sense in the present phase is ignored by a named arm; a broken invariant of our own panics.
pub trait Protocol: Sized {
    /// What all members of a world are told alike: time-outs, options. It belongs to the world, so
    /// that a member is nothing but its state.
    type Config;
    /// What members say to each other.
    type Message: Message;
    /// The timers this protocol can have running: a small enum.
    type Timer: Timer;
    /// What must survive a restart, handed to [`Io::save`]. `()` where nothing must.
    type Durable: Clone;
    /// What whoever runs a member may ask of it while it runs; [`NoRequest`] where nothing.
    type Request;
    /// Whether members may be deaf to anything: see [`Protocol::deaf_up_to`].
    const SELECTIVE: bool = false;

    /// The greatest [`Message::weight`] that makes no difference to what this member does, now or
    /// later; none if everything may. A simulator need not hand it a multicast of that weight or
    /// less, so that a million members do not have to ignore each announcement one by one.
    ///
    /// As long as nobody goes away or comes back it must never fall, but by [`Input::Start`], and
    /// must not grow but by a message, unless there was none.
    fn deaf_up_to(&self, me: Candidate, config: &Self::Config) -> Option<Candidate> {
        let _ = (me, config);
        None
    }

    /// Whether `message` makes no difference, now or later, to any member that was handed `earlier` before, whoever sent
    /// either of them and whatever happened to it in between, while it is up. A simulator need not hand it over, so that
    /// a million members do not have to hear dozens of times what they have heard.
    fn echoes(message: &Self::Message, earlier: &Self::Message, config: &Self::Config) -> bool {
        let _ = (message, earlier, config);
        false
    }

    /// Takes one input to completion, acting only through `io`.
    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>);
}

/// What a member is told.
// With a tag of its own (instead of one folded into the message's) the compiler sees through an
// input made on the spot: the simulator's step has no dispatch left.
#[repr(u8)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input<P: Protocol> {
    /// This member comes up, or has reason to call an election.
    Start,
    /// A message arrived.
    Message {
        /// Who sent it.
        from: MemberId,
        /// What it says.
        message: P::Message,
    },
    /// A timer armed earlier, and neither re-armed nor disarmed since, ran out.
    Timer(P::Timer),
    /// The group, as this member knows it, changed. [`Io::view`] shows the change already.
    ViewChanged(ViewChange),
    /// This member is about to be stopped in good order. It may say goodbye now; there is no
    /// further input.
    Leave,
    /// Whoever runs this member asks something of it.
    Request(P::Request),
}

/// What the world lets a member do.
///
/// Effects take place in the order of the calls.
pub trait Io<P: Protocol> {
    /// This member, with its merit as it is now.
    fn me(&self) -> Candidate;

    /// How this protocol is to be run.
    fn config(&self) -> &P::Config;

    /// The time on this member's clock.
    fn now(&self) -> Instant;

    /// This run's source of chance.
    fn rng(&mut self) -> &mut impl Rng;

    /// What this member knows of its group, itself included.
    fn view(&self) -> impl View;

    /// Sends `message` to one member. It may be lost, late, doubled or overtaken.
    fn unicast(&mut self, to: MemberId, message: P::Message);

    /// Sends `message` to every other member that the network reaches, known or not.
    fn multicast(&mut self, message: P::Message);

    /// Starts `timer`, or starts it anew if it is running.
    fn arm(&mut self, timer: P::Timer, after: Duration);

    /// Stops `timer`: it does not arrive any more.
    fn disarm(&mut self, timer: P::Timer);

    /// Makes `state` durable before any later effect leaves this member.
    fn save(&mut self, state: P::Durable);

    /// Tells the world what this member concluded.
    fn report(&mut self, outcome: Outcome);

    /// Whoever this is, this member has heard from it or of it: its view may hold it from now on. Nothing where views
    /// are whole anyway.
    fn meet(&mut self, candidate: Candidate) {
        let _ = candidate;
    }

    /// Sends `message` to each other member of the view that `pick` chooses, in the cyclic order
    /// of identities that begins after this member. Returns how many there were.
    fn unicast_each(&mut self, message: &P::Message, pick: impl Fn(Candidate) -> bool) -> usize {
        let me = self.me().id;
        let mut sent = 0;
        let mut next = self.view().successor(me);
        while next.id != me {
            if pick(next) {
                self.unicast(next.id, message.clone());
                sent += 1;
            }
            next = self.view().successor(next.id);
        }
        sent
    }
}

/// What a member concluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Outcome {
    /// This member calls an election; `round` is 1 for a first attempt, and one more for each
    /// attempt that had to be made again.
    Standing {
        /// Which attempt this is.
        round: u32,
    },
    /// This member names a leader: a claim, not a licence to act.
    Nominee(Candidate),
    /// This member names nobody any more.
    Vacant,
    /// Somebody cheats, or is broken: this draw has no result, and this member names nobody any more.
    Fault(wagner::fault::Fault),
    /// Somebody else goes by this member's identity. It takes no further part: whoever runs it must
    /// give one of the two another identity.
    DuplicateIdentity,
    /// This member holds tenure from now on. For how long changes as it is renewed: ask
    /// [`tenure::Tenure::holds`] each time that it matters.
    TenureGained {
        /// The number that a resource checks.
        fence: Fence,
    },
    /// This member's tenure has ended, by its clock or by its release.
    TenureLost {
        /// Which one.
        fence: Fence,
    },
    /// Too many voters refused this member for its attempt to succeed; what one of them said. If some
    /// named a holder, that one.
    TenureRefused(Refused),
    /// A council has changed, or this host's part in it.
    Council(council::Change),
}

/// What members say to each other, sorted into kinds so that a world can count them.
pub trait Message: Clone {
    /// The names of the kinds, as the protocol's source has them. At most [`MAX_KINDS`].
    const KINDS: &'static [&'static str];

    /// The index in [`Message::KINDS`] of this message's kind.
    fn kind(&self) -> usize;

    /// What members may be deaf to, by the order of candidates; none if all must hear it.
    fn weight(&self) -> Option<Candidate> {
        None
    }

    /// Of the word of a leader that is established, how many members it knows to be behind it, itself
    /// included. Two such leaders meet only where a network that was cut has grown together again.
    fn backing(&self) -> Option<u16> {
        None
    }
}

/// The most kinds of message a protocol may have, so that a world can count in a fixed array.
pub const MAX_KINDS: usize = 16;

/// The timers a protocol can have running: named, so that arming one replaces it.
pub trait Timer: Copy + 'static {
    /// Every timer, each at its own [`Timer::index`].
    const ALL: &'static [Self];

    /// The place of this timer in [`Timer::ALL`].
    fn index(self) -> usize;
}

/// For protocols without timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoTimer {}

/// For protocols of which nothing can be asked. There is none of these: a protocol's `match` over its
/// input needs no arm for it, and none is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoRequest {}

impl Timer for NoTimer {
    const ALL: &'static [Self] = &[];

    fn index(self) -> usize {
        match self {}
    }
}
