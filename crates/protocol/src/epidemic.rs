//! Epidemic multicast: each passes what it hears on to a few others, and those who missed it are told later.
//!
//! Source    Birman, Hayden, Ozkasap, Xiao, Budiu, Minsky, Bimodal multicast (ACM TOCS 1999), with a fan-out of unicasts
//!           as its first phase, for networks without IP multicast
//! Assumes   views that are random enough: everybody's, or those of [`shuffle`](crate::shuffle); messages that take less
//!           than [`Config::life`] in all; crash faults; a number of a life that a member never had before
//! Promises  of what a member says, all hear or almost none: those whom the first phase misses are a fraction u of
//!           about e^(-f(1-u)) for a fan-out of f that arrive, and fewer by a factor of about e in each period after
//!           that, until `life` is over. None but where its first words are lost and it crashes. Everybody hears
//!           everything at most once; nobody hears itself. Bounded memory: who has no room refuses what is new
//! Messages  rumour (to f members, from each that hears it first), digest (to one member, in each period while there
//!           is something to repair), solicitation and repair (between the two). None while nobody says anything
//!
//! What was heard is not an [`Outcome`](crate::Outcome): it is what another protocol said, and means nothing here. It
//! waits in [`Epidemic::take_delivered`] for whoever runs this member, and who has to take it after each step.

mod memory;
mod message;

pub use message::{Id, MOST_NAMED, Message};

use std::collections::VecDeque;

use rand_core::Rng;

use crate::config::{ConfigError, require_some_time};
use crate::few::Few;
use crate::scatter::fit;
use crate::{Duration, Input, Io, MemberId, Protocol, View};
use memory::Memory;

/// The greatest fan-out.
pub const MOST_TOLD: usize = 16;

/// How words are spread. The same for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// To how many members each passes on what it hears first, at most [`MOST_TOLD`]. With 6, one member in 400 is left
    /// to the repair.
    pub fan_out: u8,
    /// How often a word is passed on at most: more than the logarithm of the group to the base of the fan-out that
    /// arrives.
    pub hops: u8,
    /// How often a member tells another what it has.
    pub period: Duration,
    /// For how long. With a fraction q of messages that arrive, who was missed stays so with e^(-q^3) in each period;
    /// of more than [`MOST_NAMED`] words at once, each is in only some of the digests.
    pub life: Duration,
    /// How many words a member remembers. Each takes room for twice `life`.
    pub room: u16,
}

impl Config {
    /// For up to some millions of members, of whose messages up to a fifth are lost.
    pub fn field(period: Duration) -> Self {
        Self {
            fan_out: 6,
            hops: 16,
            period,
            life: period * 40,
            room: 1_000,
        }
    }

    /// Whether it can work.
    ///
    /// # Errors
    /// Names what cannot.
    pub fn check(&self) -> Result<(), ConfigError> {
        require_some_time("period", Some(self.period))?;
        if self.life < self.period {
            return Err(ConfigError::Below {
                field: "life",
                value: self.life,
                bound: "period",
                least: self.period,
            });
        }
        let (field, range) = match self {
            Self { fan_out, .. } if !(1..=MOST_TOLD).contains(&(*fan_out).into()) => {
                ("fan-out", "1 to 16")
            }
            Self { hops: 0, .. } => ("hops", "1 or more"),
            Self { room: 0, .. } => ("room", "1 or more"),
            Self { .. } => return Ok(()),
        };
        Err(ConfigError::OutOfRange { field, range })
    }
}

/// The one timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// It is time for another digest.
    Digest,
}

impl crate::Timer for Timer {
    const ALL: &'static [Self] = &[Self::Digest];

    #[inline]
    fn index(self) -> usize {
        self as usize
    }
}

/// What whoever runs a member may ask of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request<M> {
    /// Says this to every other member.
    Multicast(M),
}

/// What a member heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery<M> {
    /// Who said it.
    pub origin: MemberId,
    /// What it said.
    pub payload: M,
}

/// One member. What is said is an `M`, of which there are many copies: it should be cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Epidemic<M> {
    /// Which of its lives this is.
    life: u64,
    /// How much it has said in it.
    said: u32,
    memory: Memory<M>,
    delivered: VecDeque<Delivery<M>>,
}

impl<M: Clone> Epidemic<M> {
    /// A member in a life of this number, which it never had before.
    pub fn new(life: u64) -> Self {
        Self {
            life,
            said: 0,
            memory: Memory::new(),
            delivered: VecDeque::new(),
        }
    }

    /// What was heard and not taken yet, in the order of arrival.
    pub fn take_delivered(&mut self) -> impl Iterator<Item = Delivery<M>> {
        self.delivered.drain(..)
    }

    /// How many words it remembers.
    pub fn remembered(&self) -> usize {
        self.memory.len()
    }
}

impl<M: Clone> Protocol for Epidemic<M> {
    type Config = Config;
    type Message = Message<M>;
    type Timer = Timer;
    type Durable = ();
    type Request = Request<M>;

    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        match input {
            Input::Message { from, message } => self.on_message(from, message, io),
            Input::Timer(Timer::Digest) => self.on_period(io),
            Input::Request(Request::Multicast(payload)) => self.say(payload, io),
            // There is nothing to do until somebody says something, nor to take back.
            Input::Start | Input::Leave | Input::ViewChanged(_) => {}
        }
    }
}

// Handlers: one per input. They decide; the transitions below act.
impl<M: Clone> Epidemic<M> {
    fn on_message(&mut self, from: MemberId, message: Message<M>, io: &mut impl Io<Self>) {
        match message {
            Message::Rumour {
                id,
                age,
                hops,
                payload,
            } => {
                if self.misses(id, io) && age < io.config().life {
                    self.hear(id, age, payload.clone(), io);
                    self.pass_on(id, age, hops.min(io.config().hops), &payload, io);
                }
            }
            Message::Repair { id, age, payload } => {
                if self.misses(id, io) && age < io.config().life {
                    self.hear(id, age, payload, io);
                }
            }
            Message::Digest { .. } | Message::Solicitation { .. } if from == io.me().id => {} // a namesake
            Message::Digest { ids } => self.on_digest(from, ids, io),
            Message::Solicitation { ids } => self.repair(from, &ids, io),
        }
    }

    fn on_digest(&mut self, from: MemberId, mut ids: Vec<Id>, io: &mut impl Io<Self>) {
        ids.truncate(MOST_NAMED);
        ids.retain(|&id| self.misses(id, io));
        if !ids.is_empty() {
            io.unicast(from, Message::Solicitation { ids });
        }
    }

    /// Whether it would take this if it came. Without room it would not: to hear it once is better than twice.
    fn misses(&mut self, id: Id, io: &impl Io<Self>) -> bool {
        if id.origin == io.me().id || self.memory.knows(id) {
            return false;
        }
        let room = usize::from(io.config().room);
        if self.memory.len() >= room {
            self.memory.expire(io.config().life, io.now());
        }
        self.memory.len() < room
    }

    fn on_period(&mut self, io: &mut impl Io<Self>) {
        self.memory.expire(io.config().life, io.now());
        if self.memory.holds_any() {
            self.tell_what_it_has(io);
            io.arm(Timer::Digest, io.config().period);
        }
    }
}

// Transitions: the only code that writes the memory. The timer runs while that holds anything.
impl<M: Clone> Epidemic<M> {
    fn say(&mut self, payload: M, io: &mut impl Io<Self>) {
        self.said = self.said.wrapping_add(1);
        let id = Id {
            origin: io.me().id,
            life: self.life,
            number: self.said,
        };
        let (hops, age) = (io.config().hops, Duration::ZERO);
        self.pass_on(id, age, hops, &payload, io);
        let room = usize::from(io.config().room);
        self.memory.expire(io.config().life, io.now());
        if self.memory.len() < room {
            self.keep(id, age, payload, io);
        } // else only those who have heard it can repair it
    }

    fn hear(&mut self, id: Id, age: Duration, payload: M, io: &mut impl Io<Self>) {
        let delivery = Delivery {
            origin: id.origin,
            payload: payload.clone(),
        };
        self.delivered.push_back(delivery);
        self.keep(id, age, payload, io);
    }

    fn keep(&mut self, id: Id, age: Duration, payload: M, io: &mut impl Io<Self>) {
        if !self.memory.holds_any() {
            let first = fit(io.rng().next_u64(), io.config().period.0);
            io.arm(Timer::Digest, Duration(first)); // members do not all speak at once
        }
        self.memory.enter(id, age, payload, io.now());
    }

    /// Passes a word on to as many as the fan-out says, each another.
    fn pass_on(&self, id: Id, age: Duration, hops: u8, payload: &M, io: &mut impl Io<Self>) {
        let Some(hops) = hops.checked_sub(1) else {
            return; // it has gone far enough
        };
        let me = io.me().id;
        let fan_out = usize::from(io.config().fan_out);
        let mut told: Few<MemberId, MOST_TOLD> = Few::NONE;
        // Those who are drawn again are not told again; of few others some may be left out.
        for _ in 0..4 * fan_out {
            if told.len() == fan_out {
                return;
            }
            let drawn = io.rng().next_u64();
            let Some(to) = io.view().other(me, drawn).map(|it| it.id) else {
                return; // it is alone
            };
            if !told.iter().any(|it| it == to) && told.push(to) {
                let rumour = Message::Rumour {
                    id,
                    age,
                    hops,
                    payload: payload.clone(),
                };
                io.unicast(to, rumour);
            }
        }
    }

    fn tell_what_it_has(&mut self, io: &mut impl Io<Self>) {
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
