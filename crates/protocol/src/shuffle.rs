//! Shuffling: each member knows a few others, and keeps exchanging some of them, so that whom it knows stays a random
//! choice of those who are up, however large the group. The name is the source's for that exchange.
//!
//! Source    Voulgaris, Gavidia, van Steen, CYCLON: inexpensive membership management for unstructured P2P overlays
//!           (2005), the enhanced shuffle
//! Assumes   whoever joins knows one member that is up, or is known to one; an answer comes within [`Config::period`],
//!           or else is taken for none; crash faults. Groups that are cut apart for twice `room` periods forget each
//!           other, and must be brought together again by somebody else
//! Promises  a member never knows more than [`Config::room`] others. As many know it as know any other, about: the
//!           spread is narrower than in a random graph, and twice as wide where a fifth of all messages is lost. Who is
//!           gone is forgotten within twice `room` periods, not counting what its entries spend under way (within three
//!           times, where messages take up to a tenth of a period). Who is new is as known as anyone after twice `room`
//!           periods. In a group of fewer than `room` all know all. Merits are as old as entries may be, at most
//! Messages  offer (to the one that it has not heard of for longest), answer (to who offered): two a period and member
//!
//! The exchange keeps the number of those who know a member: who offers sends itself and takes the other off its list,
//! so that one that knew the other is known to it instead. It draws no list of all members, and needs none.

mod known;
mod message;

pub use known::{Acquaintance, Acquaintances};
pub use message::{Entry, MOST_EXCHANGED, Message};

use rand_core::Rng;

use crate::config::{ConfigError, require_some_time};
use crate::few::Few;
use crate::scatter::fit;
use crate::{Candidate, Duration, Input, Instant, Io, MemberId, Protocol, ViewChange};
use known::Known;

/// How members shuffle. The same for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Every member offers an exchange so often.
    pub period: Duration,
    /// How many others a member knows at most.
    ///
    /// A graph in which everybody has d random acquaintances falls apart with a probability of about N e^-d. 100 of them
    /// leave 33 when two thirds have just died: one in 10^8 for a group of a million. More would be forgotten later.
    pub room: u16,
    /// How many entries an offer or an answer has, at most [`MOST_EXCHANGED`], besides who offers.
    pub exchanged: u8,
}

impl Config {
    /// For groups of up to some millions.
    pub fn field(period: Duration) -> Self {
        Self {
            period,
            room: 100,
            exchanged: MOST_EXCHANGED as u8,
        }
    }

    /// Whether it can work.
    ///
    /// # Errors
    /// Names what cannot.
    pub fn check(&self) -> Result<(), ConfigError> {
        require_some_time("period", Some(self.period))?;
        let (field, range) = match self {
            Self { room: 0..=2, .. } => ("room", "3 or more"),
            Self { exchanged, .. } if !(1..=MOST_EXCHANGED).contains(&(*exchanged).into()) => {
                ("exchanged", "1 to 8")
            }
            Self { .. } => return Ok(()),
        };
        Err(ConfigError::OutOfRange { field, range })
    }

    /// The age at which an entry is about somebody who is gone. Of those who are there each makes a new entry in every
    /// period, and one of `room` goes: hardly any lives for one and a half times as many, even at a fifth lost.
    fn limit(&self) -> Duration {
        self.period * u64::from(self.room) * 2
    }
}

/// The one timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// It is time for another offer, and the last one has had its time.
    Period,
}

impl crate::Timer for Timer {
    const ALL: &'static [Self] = &[Self::Period];

    #[inline]
    fn index(self) -> usize {
        self as usize
    }
}

/// What whoever runs a member tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// This one is there, as something else has found out: [`Io::meet`] of another protocol, or a word of it.
    Meet(Candidate),
}

/// One member.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shuffle {
    known: Known,
    /// The last offer, until it is answered.
    offered: Option<Offered>,
    /// How many offers it has made.
    offers: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Offered {
    to: MemberId,
    number: u32,
    sent: Few<MemberId, MOST_EXCHANGED>,
}

impl Shuffle {
    /// A member that knows these at time `now`, or some of them if they are too many. One is enough.
    pub fn knowing(contacts: impl IntoIterator<Item = Candidate>, now: Instant) -> Self {
        let mut known = Known::default();
        for contact in contacts {
            known.add(Entry::fresh(contact), now);
        }
        Self {
            known,
            ..Self::default()
        }
    }

    /// What it knows of its group, itself included: for other protocols to go by.
    pub fn view(&self, me: Candidate) -> Acquaintances<'_> {
        self.known.view(me)
    }

    /// Whom it knows, by identity.
    pub fn acquaintances(&self) -> &[Acquaintance] {
        self.known.list()
    }
}

impl Protocol for Shuffle {
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Durable = ();
    type Request = Request;

    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        match input {
            Input::Start => {
                let first = fit(io.rng().next_u64(), io.config().period.0);
                io.arm(Timer::Period, Duration(first)); // members do not all speak at once
            }
            Input::Message { from, message } => self.on_message(from, message, io),
            Input::Timer(Timer::Period) => self.on_period(io),
            Input::ViewChanged(ViewChange::Joined(candidate))
            | Input::Request(Request::Meet(candidate)) => self.meet(candidate, io),
            Input::ViewChanged(ViewChange::Left(id)) => self.forget(id),
            Input::Leave => {} // who knows it is not known; they find out
        }
    }
}

// Handlers: one per input. They decide; the transitions below act.
impl Shuffle {
    fn on_message(&mut self, from: MemberId, message: Message, io: &mut impl Io<Self>) {
        match message {
            Message::Offer { .. } | Message::Answer { .. } if from == io.me().id => {} // a namesake
            Message::Offer {
                number,
                merit,
                entries,
            } => {
                let sender = Entry::fresh(Candidate { merit, id: from });
                let answer = self.pick(from, io);
                io.unicast(
                    from,
                    Message::Answer {
                        number,
                        entries: answer,
                    },
                );
                let spare = answer.iter().map(|entry| entry.candidate.id);
                self.take_in([sender].into_iter().chain(entries.iter()), spare, io);
            }
            Message::Answer { number, entries } => {
                if let Some(offered) = self.offered
                    && (offered.to, offered.number) == (from, number)
                {
                    self.offered = None;
                    self.known.freshen(from, io.now());
                    let spare = [from].into_iter().chain(offered.sent.iter());
                    self.take_in(entries.iter(), spare, io);
                } // else too late, or a second time
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
    /// Offers an exchange to the one that it has not heard of for longest.
    fn offer(&mut self, io: &mut impl Io<Self>) {
        let Some(oldest) = self.known.oldest(io.rng().next_u64()) else {
            return; // it knows nobody
        };
        let to = oldest.candidate.id;
        let entries = self.pick(to, io);
        self.offers = self.offers.wrapping_add(1);
        let number = self.offers;
        let merit = io.me().merit;
        let sent = entries.iter().map(|entry| entry.candidate.id).collect();
        self.offered = Some(Offered { to, number, sent });
        io.unicast(
            to,
            Message::Offer {
                number,
                merit,
                entries,
            },
        );
    }

    /// Some of whom it knows, by chance, for `receiver`.
    fn pick(&self, receiver: MemberId, io: &mut impl Io<Self>) -> Few<Entry, MOST_EXCHANGED> {
        let most = usize::from(io.config().exchanged);
        let now = io.now();
        self.known.sample(receiver, most, now, io.rng())
    }

    /// Takes in what the other has sent; where there is no room, instead of what it sent the other.
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

    /// Knows `candidate` from now on: instead of the oldest, if there is no room.
    fn meet(&mut self, candidate: Candidate, io: &mut impl Io<Self>) {
        let oldest = self.known.oldest(io.rng().next_u64());
        let spare = oldest.map(|entry| entry.candidate.id);
        self.take_in([Entry::fresh(candidate)].into_iter(), spare.into_iter(), io);
    }

    /// Forgets whoever has not been heard of for too long, and the oldest of more than fit.
    fn drop_outdated(&mut self, io: &impl Io<Self>) {
        let (room, limit) = (usize::from(io.config().room), io.config().limit());
        while let Some(oldest) = self.known.oldest(0)
            && (self.known.len() > room || self.known.len() > 1 && io.now() - oldest.heard >= limit)
        {
            self.known.remove(oldest.candidate.id);
        }
    }

    /// Forgets `id`, unless it knows nobody else: then it asks there again.
    fn forget(&mut self, id: MemberId) {
        if self.known.len() > 1 {
            self.known.remove(id);
        }
    }
}
