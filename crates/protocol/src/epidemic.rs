//! Epidemic multicast: each member passes a message on to a few others, and members that missed it
//! get it later by repair.
//!
//! Source    Birman, Hayden, Ozkasap, Xiao, Budiu, Minsky, Bimodal multicast (ACM TOCS 1999), with
//!           a fan-out of unicasts as its first phase, for networks without IP multicast
//! Assumes   views that are random enough: complete ones, or those of [`shuffle`](crate::shuffle);
//!           messages that take less than [`Config::repair_time`] in total; crash faults; an
//!           incarnation number that the member never had before
//! Promises  either all members get a multicast or almost none. The first phase misses a fraction u
//!           of about e^(-f(1-u)) for a fan-out of f that arrives. Each following period divides it
//!           by about e, until `repair_time` is over. A multicast reaches no member at all only if
//!           its first messages are lost and its sender crashes. Every member gets a multicast at
//!           most once, and never its own. Memory is bounded: a member without room refuses new
//!           multicasts
//! Messages  rumour (to f members, from each that gets it first), digest (to one member, in each
//!           period while there is something to repair), solicitation and repair (between the two).
//!           None while there are no multicasts
//!
//! A delivered multicast is not a [`Protocol::Outcome`]: it belongs to another protocol, and
//! has no meaning here. It waits in [`Epidemic::take_delivered`] for the driver, which has to take
//! it after each step.

mod memory;

use std::collections::VecDeque;

use rand_core::Rng;
use serde::{Deserialize, Serialize};
use tinyvec::ArrayVec;

use crate::config::{ConfigError, require, require_at_least, require_some_time};
use crate::mix64::fit;
use crate::{Duration, Input, Io, MemberId, NoOutcome, Protocol, View};
use memory::RumourBuffer;

/// The greatest fan-out.
pub const MOST_TOLD: usize = 16;

/// The parameters of a multicast. The same for all members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The number of members to which each passes on a multicast that it gets first, at most
    /// [`MOST_TOLD`]. With 6, one member in 400 is left to the repair.
    pub fan_out: u8,
    /// The greatest number of hops of a rumour: more than the logarithm of the group to the base of
    /// the fan-out that arrives.
    pub hops: u8,
    /// The interval between two digests of a member.
    pub period: Duration,
    /// The time for which a multicast is repaired. With a fraction q of messages that arrive, a
    /// member without it stays without it with probability e^(-q^3) in each period. If there are
    /// more than [`MOST_NAMED`] multicasts at once, each is in only some of the digests.
    pub repair_time: Duration,
    /// The number of multicasts that a member remembers. Each takes room for twice `repair_time`.
    pub room: u16,
}

impl Config {
    /// For up to some millions of members, at a loss of up to a fifth.
    pub fn field(period: Duration) -> Self {
        Self { fan_out: 6, hops: 16, period, repair_time: period * 40, room: 1_000 }
    }

    /// Checks that this configuration can work.
    ///
    /// # Errors
    /// Names the option that cannot work.
    pub fn check(&self) -> Result<(), ConfigError> {
        require_some_time("period", Some(self.period))?;
        require_at_least("repair_time", self.repair_time, ("period", self.period))?;
        require((1..=MOST_TOLD).contains(&self.fan_out.into()), "fan-out", "1 to 16")?;
        require(self.hops > 0, "hops", "1 or more")?;
        require(self.room > 0, "room", "1 or more")
    }
}

/// The greatest number of identifiers in a digest or solicitation, which fit into a datagram.
pub const MOST_NAMED: usize = 48;

/// The identifier of a multicast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Id {
    /// The member that sent it.
    pub origin: MemberId,
    /// The incarnation of that member.
    pub incarnation: u64,
    /// The sequence number in that incarnation.
    pub number: u32,
}

/// The messages of the epidemic multicast.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message<M> {
    /// A multicast to pass on.
    Rumour {
        /// The multicast.
        id: Id,
        /// The time since it was sent, without message delays.
        age: Duration,
        /// The number of hops left.
        hops: u8,
        /// The content.
        payload: M,
    },
    /// Lists multicasts that the sender has.
    Digest {
        /// The multicasts.
        ids: Vec<Id>,
    },
    /// Asks for multicasts that the sender misses.
    Solicitation {
        /// The multicasts.
        ids: Vec<Id>,
    },
    /// Answers a solicitation.
    Repair {
        /// The multicast.
        id: Id,
        /// The time since it was sent, without message delays.
        age: Duration,
        /// The content.
        payload: M,
    },
}

crate::kinds!(<M> Rumour "rumour", Digest "digest", Solicitation "solicitation", Repair "repair");

/// The one timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// The next digest is due.
    Digest,
}

crate::timers!(Digest);

/// Requests that the driver may submit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request<M> {
    /// Sends this to every other member.
    Multicast(M),
}

/// A multicast that has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery<M> {
    /// The member that sent it.
    pub origin: MemberId,
    /// Its content.
    pub payload: M,
}

/// One member. The content is an `M`, of which there are many copies: it should be cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Epidemic<M> {
    /// The number of its incarnation.
    incarnation: u64,
    /// The number of multicasts that it has sent in this incarnation.
    said: u32,
    memory: RumourBuffer<M>,
    delivered: VecDeque<Delivery<M>>,
}

impl<M: Clone> Epidemic<M> {
    /// A member in an incarnation of this number, which it never had before.
    pub fn new(incarnation: u64) -> Self {
        Self { incarnation, said: 0, memory: RumourBuffer::new(), delivered: VecDeque::new() }
    }

    /// The multicasts that arrived and were not taken yet, in the order of arrival.
    pub fn take_delivered(&mut self) -> impl Iterator<Item = Delivery<M>> {
        self.delivered.drain(..)
    }

    /// The number of multicasts that it remembers.
    pub fn remembered(&self) -> usize {
        self.memory.len()
    }
}

impl<M: Clone> Protocol for Epidemic<M> {
    type Config = Config;
    type Message = Message<M>;
    type Timer = Timer;
    type Durable = ();
    type Outcome = NoOutcome;
    type Request = Request<M>;

    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        match input {
            Input::Message { from, message } => self.on_message(from, message, io),
            Input::Timer(Timer::Digest) => self.on_period(io),
            Input::Request(Request::Multicast(payload)) => self.send_multicast(payload, io),
            // Without multicasts there is nothing to do, and nothing to take back.
            Input::Start | Input::Leave | Input::ViewChanged(_) => {}
        }
    }
}

// Handlers: one per input. They decide; the transitions below act.
impl<M: Clone> Epidemic<M> {
    fn on_message(&mut self, from: MemberId, message: Message<M>, io: &mut impl Io<Self>) {
        match message {
            Message::Rumour { id, age, hops, payload } => {
                if self.would_take(id, io) && age < io.config().repair_time {
                    self.deliver(id, age, payload.clone(), io);
                    self.pass_on(id, age, hops.min(io.config().hops), &payload, io);
                }
            }
            Message::Repair { id, age, payload } => {
                if self.would_take(id, io) && age < io.config().repair_time {
                    self.deliver(id, age, payload, io);
                }
            }
            Message::Digest { .. } | Message::Solicitation { .. } if from == io.me().id => {} // a duplicate identity
            Message::Digest { ids } => self.on_digest(from, ids, io),
            Message::Solicitation { ids } => self.repair(from, &ids, io),
        }
    }

    fn on_digest(&mut self, from: MemberId, mut ids: Vec<Id>, io: &mut impl Io<Self>) {
        ids.truncate(MOST_NAMED);
        ids.retain(|&id| self.would_take(id, io));
        if !ids.is_empty() {
            io.unicast(from, Message::Solicitation { ids });
        }
    }

    /// True if the member would take this multicast. Without room it would not: to miss it is
    /// better than to deliver it twice.
    fn would_take(&mut self, id: Id, io: &impl Io<Self>) -> bool {
        if id.origin == io.me().id || self.memory.knows(id) {
            return false;
        }
        let room = usize::from(io.config().room);
        if self.memory.len() >= room {
            self.memory.expire(io.config().repair_time, io.now());
        }
        self.memory.len() < room
    }

    fn on_period(&mut self, io: &mut impl Io<Self>) {
        self.memory.expire(io.config().repair_time, io.now());
        if self.memory.holds_any() {
            self.send_digest(io);
            io.arm(Timer::Digest, io.config().period);
        }
    }
}

// Transitions: the only code that writes the memory. The timer runs while the memory holds a
// payload.
impl<M: Clone> Epidemic<M> {
    fn send_multicast(&mut self, payload: M, io: &mut impl Io<Self>) {
        self.said = self.said.wrapping_add(1);
        let id = Id { origin: io.me().id, incarnation: self.incarnation, number: self.said };
        let (hops, age) = (io.config().hops, Duration::ZERO);
        self.pass_on(id, age, hops, &payload, io);
        let room = usize::from(io.config().room);
        self.memory.expire(io.config().repair_time, io.now());
        if self.memory.len() < room {
            self.keep(id, age, payload, io);
        } // else only members that got it can repair it
    }

    fn deliver(&mut self, id: Id, age: Duration, payload: M, io: &mut impl Io<Self>) {
        let delivery = Delivery { origin: id.origin, payload: payload.clone() };
        self.delivered.push_back(delivery);
        self.keep(id, age, payload, io);
    }

    fn keep(&mut self, id: Id, age: Duration, payload: M, io: &mut impl Io<Self>) {
        if !self.memory.holds_any() {
            let first = fit(io.rng().next_u64(), io.config().period.0);
            io.arm(Timer::Digest, Duration(first)); // spreads the digests of different members
        }
        self.memory.enter(id, age, payload, io.now());
    }

    /// Passes a multicast on to as many different members as the fan-out says.
    fn pass_on(&self, id: Id, age: Duration, hops: u8, payload: &M, io: &mut impl Io<Self>) {
        let Some(hops) = hops.checked_sub(1) else {
            return; // no hops left
        };
        let me = io.me().id;
        let fan_out = usize::from(io.config().fan_out);
        let mut told: ArrayVec<[MemberId; MOST_TOLD]> = ArrayVec::new();
        // A member drawn twice gets one copy; in a small group some members may be left out.
        for _ in 0..4 * fan_out {
            if told.len() == fan_out {
                return;
            }
            let drawn = io.rng().next_u64();
            let Some(to) = io.view().other(me, drawn).map(|it| it.id) else {
                return; // it is alone
            };
            if !told.contains(&to) && told.try_push(to).is_none() {
                let rumour = Message::Rumour { id, age, hops, payload: payload.clone() };
                io.unicast(to, rumour);
            }
        }
    }

    fn send_digest(&mut self, io: &mut impl Io<Self>) {
        let drawn = io.rng().next_u64();
        let me = io.me().id;
        let other = io.view().other(me, drawn);
        if let Some(to) = other.map(|it| it.id) {
            let ids = self.memory.digest(io.rng());
            io.unicast(to, Message::Digest { ids });
        } // else it is alone
    }

    fn repair(&self, to: MemberId, ids: &[Id], io: &mut impl Io<Self>) {
        for &id in ids.iter().take(MOST_NAMED) {
            if let Some((age, payload)) = self.memory.get(id, io.now()) {
                io.unicast(to, Message::Repair { id, age, payload });
            } // else it is too late
        }
    }
}
