//! Leader election protocols as pure state machines.
//!
//! A protocol here has no clock, no socket, no thread and no randomness of its own. It implements
//! [`Protocol`]: one function, [`Protocol::step`], handles one input to completion and acts only
//! through [`Io`]. An implementation of `Io` is a *world*. The simulator (`hustings-sim`) and the
//! agent that runs on real hosts are two worlds that drive the same code.
//!
//! # The nouns
//!
//! - [`MemberId`], [`Priority`], [`Candidate`]: the members that could lead, and their order. There is
//!   one ordering in the whole project: greater priority wins, ties go to the lower identity.
//! - [`View`]: the members of the group known to one member. Views of different members may differ.
//! - [`Input`], [`Protocol::Outcome`]: the events that a member handles, and the conclusions that it
//!   reports.
//! - [`Instant`], [`Duration`]: nanoseconds on the world's clock, never the machine's.
//!
//! # The protocols
//!
//! | module | nominates by | needs |
//! |---|---|---|
//! | [`chang_roberts`] | the best identity going once round a ring | a successor |
//! | [`modified_ring`] | a list of identities going twice round a ring | a successor, live views |
//! | [`bully`] | asking every better member if it is alive | every member known, bounded delays |
//! | [`announce`] | announcing oneself until a better member is known | a multicast |
//! | [`probabilistic`] | agreement of a few that a hash picks | a multicast, a partial view |
//! | [`wagner`] | a draw that no member can influence | an agreed ring, ordered links |
//!
//! # Representatives
//!
//! | module | elects | needs |
//! |---|---|---|
//! | [`council`] | between `L` and `U` hosts out of any number | a centre that can multicast |
//!
//! # For groups that no member knows completely
//!
//! | module | gives a member | needs |
//! |---|---|---|
//! | [`census`] | the number of members | a view |
//! | [`epidemic`] | a multicast made of unicasts | a view |
//! | [`shuffle`] | a few random other members, as its view | one known member |
//!
//! A nominee is a claim, not a licence to act: two members may name different nominees for a while.
//! This lies in the nature of the protocols, and each header says when it happens. A claim becomes
//! a licence through [`tenure`]: one holder at a time, with a fence.

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
pub mod leadership;
pub mod mix64;
pub mod modified_ring;
pub mod names;
pub mod probabilistic;
pub mod shuffle;
pub mod simulated;
pub mod suppression;
pub mod tenure;
pub mod time;
pub mod trace;
pub mod view;
pub mod wagner;

pub use candidate::{Candidate, MemberId, Priority};
pub use simulated::Simulated;
pub use tenure::{Fence, Refused};
pub use time::{Duration, DurationError, Instant};
pub use view::{Roster, View, ViewChange};

use std::fmt;

use rand_core::Rng;
use serde::{Deserialize, Serialize};

/// One member's side of a protocol.
///
/// A run is the list of inputs given to each member: the same inputs with the same [`Io`] answers
/// lead to the same effects. `step` is total: it returns nothing and never fails. A named arm
/// ignores input that makes no sense in the present phase; a broken invariant of our own panics.
pub trait Protocol: Sized {
    /// Time-outs and options, the same for all members of a world. The configuration belongs to the
    /// world, so that a member consists of its state only.
    type Config;
    /// The messages that members exchange.
    type Message: Message;
    /// The timers that this protocol can have running: a small enum.
    type Timer: Timer;
    /// The state that must survive a restart, passed to [`Io::save`]; `()` if there is none.
    type Durable: Clone;
    /// The conclusions that a member reports ([`NoOutcome`] if there are none).
    type Outcome: Copy + fmt::Debug + PartialEq + Serialize;
    /// Requests that the driver may submit at run time ([`NoRequest`] if there are none).
    type Request;

    /// Handles one input to completion, acting only through `io`.
    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>);
}

/// An event that a member handles.
// With a tag of its own (instead of one folded into the message's) the compiler sees through an
// input made on the spot: the simulator's step has no dispatch left.
#[repr(u8)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input<P: Protocol> {
    /// The member starts, or has reason to call an election.
    Start,
    /// A message arrived.
    Message {
        /// The sender.
        from: MemberId,
        /// The content.
        message: P::Message,
    },
    /// A timer expired that was neither re-armed nor disarmed in the meantime.
    Timer(P::Timer),
    /// The group as this member knows it changed. [`Io::view`] already shows the change.
    ViewChanged(ViewChange),
    /// The driver is about to stop this member in good order. The member may say goodbye now; it
    /// gets no further input.
    Leave,
    /// The driver submits a request.
    Request(P::Request),
}

/// The effects that the world offers to a member.
///
/// Effects take place in the order of the calls.
pub trait Io<P: Protocol> {
    /// This member, with its current priority.
    fn me(&self) -> Candidate;

    /// The configuration of this protocol.
    fn config(&self) -> &P::Config;

    /// The time on this member's clock.
    fn now(&self) -> Instant;

    /// This run's source of randomness.
    fn rng(&mut self) -> &mut impl Rng;

    /// The members of the group that this member knows, itself included.
    fn view(&self) -> impl View;

    /// Sends `message` to one member. The message may be lost, late, duplicated or overtaken.
    fn unicast(&mut self, to: MemberId, message: P::Message);

    /// Sends `message` to every other member that the network reaches, known or not.
    fn multicast(&mut self, message: P::Message);

    /// Starts `timer`, or restarts it if it is running.
    fn arm(&mut self, timer: P::Timer, after: Duration);

    /// Stops `timer`: it does not expire any more.
    fn disarm(&mut self, timer: P::Timer);

    /// Makes `state` durable before any later effect leaves this member.
    fn save(&mut self, state: P::Durable);

    /// Reports a conclusion of this member to the world.
    fn report(&mut self, outcome: P::Outcome);

    /// True if the view holds this member only.
    #[inline]
    fn is_alone(&self) -> bool {
        let me = self.me().id;
        self.view().successor(me).id == me
    }

    /// Starts `timer` if there is a time after which it expires.
    #[inline]
    fn arm_if_any(&mut self, timer: P::Timer, after: Option<Duration>) {
        if let Some(after) = after {
            self.arm(timer, after);
        }
    }

    /// Notes that this member has received a message from or about `candidate`: the view may hold
    /// it from now on. Does nothing in worlds with complete views.
    fn meet(&mut self, candidate: Candidate) {
        let _ = candidate;
    }

    /// Sends `message` to each other member of the view that `pick` chooses, in the cyclic order of
    /// identities that begins after this member. Returns the number of messages sent.
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

/// A conclusion of a member of an election.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ElectionOutcome {
    /// This member calls an election. `round` is 1 for the first attempt, and grows by 1 with each
    /// repeated attempt.
    Standing {
        /// The number of this attempt.
        round: u32,
    },
    /// This member names a leader: a claim, not a licence to act.
    Nominee(Candidate),
    /// This member no longer names any leader.
    Vacant,
    /// Another process uses this member's identity. This member takes no further part: the operator
    /// must give one of the two another identity.
    DuplicateIdentity,
}

/// The outcome type of protocols that report nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum NoOutcome {}

/// A protocol's messages, sorted into kinds so that a world can count them.
pub trait Message: Clone {
    /// The names of the kinds, as in the protocol's source. At most [`MAX_KINDS`].
    const KINDS: &'static [&'static str];

    /// The index in [`Message::KINDS`] of this message's kind.
    fn kind(&self) -> usize;
}

/// The greatest number of message kinds in a protocol, so that a world can count in a fixed array.
pub const MAX_KINDS: usize = 16;

/// Implements [`Message`] for a protocol's `Message`: the kinds are its variants, by these names.
macro_rules! kinds {
    ($(<$payload:ident>)? $($kind:ident $name:literal),+ $(,)?) => {
        impl$(<$payload: Clone>)? crate::Message for Message$(<$payload>)? {
            const KINDS: &'static [&'static str] = &[$($name),+];

            #[inline]
            fn kind(&self) -> usize {
                enum Ordinal { $($kind),+ }
                match self { $(Self::$kind { .. } => Ordinal::$kind as usize),+ }
            }
        }
    };
}
pub(crate) use kinds;

/// The timers that a protocol can have running. They are named, so that arming one replaces it.
pub trait Timer: Copy + 'static {
    /// Every timer, each at its own [`Timer::index`].
    const ALL: &'static [Self];

    /// The place of this timer in [`Timer::ALL`].
    fn index(self) -> usize;
}

/// Implements [`Timer`] for a protocol's `Timer` with these variants, in their order.
macro_rules! timers {
    ($($timer:ident),+) => {
        impl crate::Timer for Timer {
            const ALL: &'static [Self] = &[$(Self::$timer),+];

            #[inline]
            fn index(self) -> usize {
                self as usize
            }
        }
    };
}
pub(crate) use timers;

/// The request type of protocols without requests. It has no values: a protocol's `match` over its
/// input needs no arm for it, and none is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoRequest {}
