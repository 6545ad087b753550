//! Shuffling: each member knows a few others, and keeps exchanging some of them. Its partial view
//! stays a random sample of the live members, in a group of any size.
//!
//! Source    Voulgaris, Gavidia, van Steen, CYCLON: inexpensive membership management for
//!           unstructured P2P overlays (2005), the enhanced shuffle
//! Assumes   a joining member knows one live member, or is known to one; an answer comes within
//!           [`Config::period`], or counts as missing; crash faults. Groups that are partitioned
//!           for twice `room` periods forget each other, and need outside help to merge again
//! Promises  a member never knows more than [`Config::room`] others. About as many members know it
//!           as know any other: the spread is narrower than in a random graph, and twice as wide at
//!           a loss of a fifth. Dead members are forgotten within twice `room` periods, plus the
//!           time that their entries are in flight (within three times, if messages take up to a
//!           tenth of a period). New members are as well known as others after twice `room`
//!           periods. In a group of fewer than `room` members all know all. Priorities are at most
//!           as old as entries
//! Messages  offer (to the member with the oldest entry), answer (to the member that offered): two
//!           per period and member
//!
//! The exchange preserves the number of members that know a member. The offering member sends
//! itself and drops the receiver from its list, so that a link from it to the receiver becomes a
//! link back. It needs no list of all members.

mod known;

pub use known::{Acquaintance, Acquaintances};

use rand_core::Rng;
use serde::{Deserialize, Serialize};
use tinyvec::ArrayVec;

use crate::config::{ConfigError, require, require_some_time};
use crate::mix64::fit;
use crate::{
    Candidate, Duration, Input, Instant, Io, MemberId, NoOutcome, Priority, Protocol, ViewChange,
};
use known::Known;

/// The parameters of the shuffle. The same for all members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The interval between two offers of a member.
    pub period: Duration,
    /// The greatest number of others that a member knows.
    ///
    /// A graph in which every member has d random neighbours falls apart with a probability of
    /// about N e^-d. 100 neighbours leave 33 when two thirds have just died: a probability of 10^-8
    /// for a group of a million. More neighbours would be forgotten later.
    pub room: u16,
    /// The greatest number of entries in an offer or an answer, at most [`MOST_EXCHANGED`], besides
    /// the offering member.
    pub exchanged: u8,
}

impl Config {
    /// For groups of up to some millions.
    pub fn field(period: Duration) -> Self {
        Self { period, room: 100, exchanged: MOST_EXCHANGED as u8 }
    }

    /// Checks that this configuration can work.
    ///
    /// # Errors
    /// Names the option that cannot work.
    pub fn check(&self) -> Result<(), ConfigError> {
        require_some_time("period", Some(self.period))?;
        require(self.room > 2, "room", "3 or more")?;
        require((1..=MOST_EXCHANGED).contains(&self.exchanged.into()), "exchanged", "1 to 8")
    }

    /// The age at which an entry counts as that of a dead member. Every live member makes a new
    /// entry in every period, and one of `room` entries is dropped. Hardly any entry reaches one
    /// and a half times `room` periods, even at a loss of a fifth.
    fn limit(&self) -> Duration {
        self.period * u64::from(self.room) * 2
    }
}

/// The greatest number of entries in a message.
pub const MOST_EXCHANGED: usize = 8;

/// An entry about a member.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The member, with its priority.
    pub candidate: Candidate,
    /// The time since the member itself reported this.
    pub age: Duration,
}

/// The entries in a message.
pub type Entries = ArrayVec<[Entry; MOST_EXCHANGED]>;

/// The messages of the shuffle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// Offers the sender and some entries, and asks for as many.
    Offer {
        /// The number of the offer at its sender.
        number: u32,
        /// The sender's priority.
        #[serde(alias = "merit")]
        priority: Priority,
        /// Some of the members that the sender knows.
        entries: Entries,
    },
    /// Answers an offer.
    Answer {
        /// The number of the offer.
        number: u32,
        /// Some of the members that the sender knows.
        entries: Entries,
    },
}

crate::kinds!(Offer "offer", Answer "answer");

/// The one timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// The next offer is due, and the time for an answer to the last one is over.
    Period,
}

crate::timers!(Period);

/// Requests that the driver may submit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Reports a live member that another source has found: [`Io::meet`] of another protocol, or a
    /// message of that member.
    Meet(Candidate),
}

/// One member.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shuffle {
    known: Known,
    /// The last offer, until it is answered.
    offered: Option<Offered>,
    /// The number of offers made.
    offers: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Offered {
    to: MemberId,
    number: u32,
    sent: ArrayVec<[MemberId; MOST_EXCHANGED]>,
}

impl Shuffle {
    /// A member that knows these contacts at `now`, or some of them if they are too many. One is
    /// enough.
    pub fn knowing(contacts: impl IntoIterator<Item = Candidate>, now: Instant) -> Self {
        let mut known = Known::default();
        for contact in contacts {
            known.add(Entry::fresh(contact), now);
        }
        Self { known, ..Self::default() }
    }

    /// Its partial view of the group, itself included, for other protocols.
    pub fn view(&self, me: Candidate) -> Acquaintances<'_> {
        self.known.view(me)
    }

    /// The known members, by identity.
    pub fn acquaintances(&self) -> &[Acquaintance] {
        self.known.list()
    }
}

impl Protocol for Shuffle {
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Durable = ();
    type Outcome = NoOutcome;
    type Request = Request;

    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        match input {
            Input::Start => {
                let first = fit(io.rng().next_u64(), io.config().period.0);
                io.arm(Timer::Period, Duration(first)); // spreads the offers of different members
            }
            Input::Message { from, message } => self.on_message(from, message, io),
            Input::Timer(Timer::Period) => self.on_period(io),
            Input::ViewChanged(ViewChange::Joined(candidate))
            | Input::Request(Request::Meet(candidate)) => self.meet(candidate, io),
            Input::ViewChanged(ViewChange::Left(id)) => self.forget(id),
            Input::Leave => {} // its entries expire at the others
        }
    }
}

// Handlers: one per input. They decide; the transitions below act.
impl Shuffle {
    fn on_message(&mut self, from: MemberId, message: Message, io: &mut impl Io<Self>) {
        match message {
            Message::Offer { .. } | Message::Answer { .. } if from == io.me().id => {} // a duplicate identity
            Message::Offer { number, priority, entries } => {
                let sender = Entry::fresh(Candidate { priority, id: from });
                let answer = self.pick(from, io);
                io.unicast(from, Message::Answer { number, entries: answer });
                let spare = answer.iter().map(|entry| entry.candidate.id);
                self.take_in([sender].into_iter().chain(entries), spare, io);
            }
            Message::Answer { number, entries } => {
                if let Some(offered) = self.offered
                    && (offered.to, offered.number) == (from, number)
                {
                    self.offered = None;
                    self.known.freshen(from, io.now());
                    let spare = [from].into_iter().chain(offered.sent);
                    self.take_in(entries.into_iter(), spare, io);
                } // else late, or a duplicate
            }
        }
    }

    fn on_period(&mut self, io: &mut impl Io<Self>) {
        if let Some(silent) = self.offered.take() {
            self.forget(silent.to);
        }
        self.drop_outdated(io);
        self.offer(io);
        io.arm(Timer::Period, io.config().period);
    }
}

// Transitions: the only code that writes `known`.
impl Shuffle {
    /// Offers an exchange to the member with the oldest entry.
    fn offer(&mut self, io: &mut impl Io<Self>) {
        let Some(oldest) = self.known.oldest(io.rng().next_u64()) else {
            return; // it knows no other member
        };
        let to = oldest.candidate.id;
        let entries = self.pick(to, io);
        self.offers = self.offers.wrapping_add(1);
        let number = self.offers;
        let priority = io.me().priority;
        let sent = entries.iter().map(|entry| entry.candidate.id).collect();
        self.offered = Some(Offered { to, number, sent });
        io.unicast(to, Message::Offer { number, priority, entries });
    }

    /// A random sample of the known members for `receiver`.
    fn pick(&self, receiver: MemberId, io: &mut impl Io<Self>) -> Entries {
        let most = usize::from(io.config().exchanged);
        let now = io.now();
        self.known.sample(receiver, most, now, io.rng())
    }

    /// Enters received entries; without room they replace the entries that were sent.
    fn take_in(
        &mut self,
        entries: impl Iterator<Item = Entry>,
        mut spare: impl Iterator<Item = MemberId>,
        io: &impl Io<Self>,
    ) {
        let (me, room) = (io.me().id, usize::from(io.config().room));
        let (now, limit) = (io.now(), io.config().limit());
        for entry in entries.filter(|entry| entry.candidate.id != me && entry.age < limit) {
            if self.known.update(entry, now) {
                continue;
            }
            if self.known.len() >= room && !spare.any(|id| self.known.remove(id)) {
                return;
            }
            self.known.add(entry, now);
        }
    }

    /// Enters `candidate`; without room it replaces the oldest entry.
    fn meet(&mut self, candidate: Candidate, io: &mut impl Io<Self>) {
        let oldest = self.known.oldest(io.rng().next_u64());
        let spare = oldest.map(|entry| entry.candidate.id);
        self.take_in([Entry::fresh(candidate)].into_iter(), spare.into_iter(), io);
    }

    /// Drops entries that are too old, and the oldest of more than fit.
    fn drop_outdated(&mut self, io: &impl Io<Self>) {
        let (room, limit) = (usize::from(io.config().room), io.config().limit());
        while let Some(oldest) = self.known.oldest(0)
            && (self.known.len() > room || self.known.len() > 1 && io.now() - oldest.heard >= limit)
        {
            self.known.remove(oldest.candidate.id);
        }
    }

    /// Forgets `id`, unless it is the last known member, which is then asked again.
    fn forget(&mut self, id: MemberId) {
        if self.known.len() > 1 {
            self.known.remove(id);
        }
    }
}
