//! A census: how many members there are, where nobody knows them all.
//!
//! Source    Kempe, Dobra, Gehrke, Gossip-based computation of aggregate information (FOCS 2003): push-sum
//! Assumes   views that are random enough: everybody's, or those of [`shuffle`](crate::shuffle); messages that mostly
//!           arrive within [`Config::patience`]; crash faults
//! Promises  after a count of [`Config::turns`] turns each member that took part has the size of the group, as it was
//!           when the count began, less those who crashed before they heard of it, to within two parts in a hundred or so; how many turns that takes grows with the
//!           logarithm of the group. What loss does to it: see [`Config::tries`]. Never a size of 0
//! Messages  parcel (to one member, from each in each turn of a count), receipt (to its sender); none between counts
//!
//! Each member begins a count with the value 1, and only its caller with a weight, 1. In each turn a member keeps half of
//! what it has and passes the other half on. Soon all have the same proportion of the two: the group's size.

mod message;
mod parcels;
mod results;

pub use message::{Count, Message, Share};
pub use results::MOST_KEPT;

use rand_core::Rng;

use crate::announce::Wake;
use crate::config::{ConfigError, require_some_time};
use crate::{Duration, Input, Instant, Io, MemberId, Protocol, View};
use parcels::{MOST_OUT, Out, Received, Sent};
use results::Results;

/// How members count. The same for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// How long a turn is.
    pub period: Duration,
    /// How many turns a count has. Until all have heard of it log2 N + ln N pass; whoever hears of it in the second half
    /// is not counted. 30 are enough for a hundred members, and ten more for each time that they are ten times as many;
    /// more where so much is lost that parcels are often tried for longer than a turn.
    pub turns: u16,
    /// How long after a count, at least, there is another one. Up to twice as long, by chance, so that few call one at
    /// once.
    pub pause: Duration,
    /// How often a parcel is sent before it is taken back, unless there is a receipt; 1: never again, and no receipts.
    ///
    /// A parcel that is lost takes its share of both parts with it. Once all have heard of the count that changes little,
    /// but before, the weight is lost and the value of those who have not heard is not: with a fraction p lost, sizes
    /// come out too large by a factor of about (1 - p/2)^(-log N), to the base 2 - p: 1.4 for 10,000 members at p = 0.05,
    /// 5 at 0.2, and differ from count to count by a good part of it. So no mean of many counts helps, but tries do.
    /// A parcel that has arrived, and is taken back as no receipt has, counts twice, and then sizes come out too small. So it is
    /// tried for several turns, while those of later turns are out too. Of 24 tries all receipts are lost once in 50,000 times
    /// at p = 0.4, once in 1,000 at 0.5, and once in 65 at 0.6. What is sent to the dead is not lost either.
    pub tries: u8,
    /// How long whoever sent a parcel waits for the receipt. All tries together must take no longer than four turns.
    pub patience: Duration,
    /// The size is the mean of so many counts, at most [`MOST_KEPT`]: one may go wrong, as when its caller crashes.
    pub kept: u8,
}

impl Config {
    /// For 100,000 members, and nearly for a million, whose messages mostly take less than a sixth of `period` to be answered.
    pub fn field(period: Duration) -> Self {
        Self {
            period,
            turns: 60,
            pause: period * 200,
            tries: 24,
            patience: Duration(period.0 / 6),
            kept: 3,
        }
    }

    /// Whether it can work.
    ///
    /// # Errors
    /// Names what cannot.
    pub fn check(&self) -> Result<(), ConfigError> {
        require_some_time("period", Some(self.period))?;
        require_some_time("pause", Some(self.pause))?;
        require_some_time("patience", Some(self.patience))?;
        let tried = Duration((self.patience * u64::from(self.tries)).0 / MOST_OUT as u64);
        if self.period < tried {
            return Err(ConfigError::Below {
                field: "period",
                value: self.period,
                bound: "tries x patience / 4",
                least: tried,
            });
        }
        // A share is halved in each turn: it must not vanish.
        let (field, range) = match self {
            Self { turns, .. } if !(1..=500).contains(turns) => ("turns", "1 to 500"),
            Self { tries: 0, .. } => ("tries", "1 or more"),
            Self { kept, .. } if !(1..=MOST_KEPT).contains(&(*kept).into()) => ("kept", "1 to 8"),
            Self { .. } => return Ok(()),
        };
        Err(ConfigError::OutOfRange { field, range })
    }

    /// How long a count lasts.
    fn length(&self) -> Duration {
        self.period * u64::from(self.turns)
    }

    /// Whether who hears of a count so long after it was called is not counted. It is a newcomer, and would spoil what its
    /// neighbours have by now.
    fn is_late(&self, age: Duration) -> bool {
        age > Duration(self.length().0 / 2)
    }
}

/// What a member may wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// Its next turn.
    Turn,
    /// A receipt.
    Receipt,
    /// Somebody else to call a count.
    Call,
}

impl crate::Timer for Timer {
    const ALL: &'static [Self] = &[Self::Turn, Self::Receipt, Self::Call];

    #[inline]
    fn index(self) -> usize {
        self as usize
    }
}

/// What whoever runs a member may ask of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Calls a count, now.
    Count,
}

/// One member.
#[derive(Debug, Clone, PartialEq)]
pub struct Census {
    /// The latest count that it has heard of.
    count: Option<Count>,
    /// When that was called, as far as it can tell.
    called: Instant,
    /// What it has of it.
    share: Share,
    phase: Phase,
    /// The parcels that it waits for receipts of.
    out: Out,
    received: Received,
    results: Results,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// No count has been heard of, or the last one is over: it calls another one, unless somebody else does before.
    Resting,
    Counting,
}

impl Default for Census {
    fn default() -> Self {
        Self::new()
    }
}

impl Census {
    /// A member that has heard of no count.
    pub fn new() -> Self {
        Self {
            count: None,
            called: Instant::START,
            share: Share::default(),
            phase: Phase::Resting,
            out: Out::default(),
            received: Received::default(),
            results: Results::NONE,
        }
    }

    /// How many members there are, as of the last counts; none before the first is over.
    pub fn size(&self) -> Option<u64> {
        self.results.size()
    }

    /// Whether a count is under way.
    pub fn counts(&self) -> bool {
        self.phase == Phase::Counting
    }

    /// Whether a count is under way in which whoever hears of it at `now` is counted.
    pub fn takes_in(&self, now: Instant, config: &Config) -> bool {
        self.counts() && !config.is_late(now - self.called)
    }
}

impl Protocol for Census {
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Durable = ();
    type Request = Request;

    #[inline]
    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        match input {
            Input::Start if self.phase == Phase::Resting => self.call_after(Duration::ZERO, io),
            Input::Start => {} // a count is under way
            Input::Message { from, message } => self.on_message(from, message, io),
            Input::Timer(Timer::Turn) => self.on_turn(io),
            Input::Timer(Timer::Receipt) => self.on_patience(io),
            Input::Timer(Timer::Call) | Input::Request(Request::Count) => self.call(io),
            Input::Leave => self.bequeath(io),
            Input::ViewChanged(_) => {} // parcels go to whoever is in view by then
        }
    }
}

// Handlers: one per input. They decide; the transitions below act.
impl Census {
    #[inline]
    fn on_message(&mut self, from: MemberId, message: Message, io: &mut impl Io<Self>) {
        match message {
            Message::Parcel { share, .. } if !share.is_possible() => {} // damaged
            Message::Parcel {
                count,
                age,
                number,
                share,
            } => {
                if io.config().tries > 1 {
                    io.unicast(from, Message::Receipt { number });
                }
                if self.received.enter(from, number) {
                    self.on_parcel(count, age, share, io);
                }
            }
            Message::Receipt { number } => {
                self.out.arrived(from, number);
                self.await_receipts(io);
            }
        }
    }

    fn on_parcel(&mut self, count: Count, age: Duration, share: Share, io: &mut impl Io<Self>) {
        let called = Instant(io.now().0.saturating_sub(age.0));
        if Some(count) > self.count {
            // Who is late passes on what it gets.
            let value = if io.config().is_late(age) { 0.0 } else { 1.0 };
            self.begin(count, Share { value, weight: 0.0 }, io);
        }
        if Some(count) == self.count {
            self.share.add(share);
            self.called = self.called.min(called);
        } // else of a count that is over
    }

    fn on_turn(&mut self, io: &mut impl Io<Self>) {
        if self.phase == Phase::Resting {
            return;
        }
        if io.now() - self.called >= io.config().length() {
            self.conclude(io);
        } else {
            self.pass_on(io);
            io.arm(Timer::Turn, io.config().period);
        }
    }

    /// There is no receipt yet of some.
    fn on_patience(&mut self, io: &mut impl Io<Self>) {
        while let Some(sent) = self.out.overdue(io.now()) {
            match sent.tries {
                0 => self.share.add(sent.share), // its receiver is gone, or so it seems
                _ => self.send(sent, io),
            }
        }
        self.await_receipts(io);
    }
}

// Transitions: the only code that writes `phase`. While counting, the turn timer runs, and the receipt timer while a
// parcel is out; while resting, the call timer.
impl Census {
    fn call_after(&mut self, pause: Duration, io: &mut impl Io<Self>) {
        // A view may take as long to count as the group is large.
        let size = self.size().unwrap_or_else(|| io.view().len() as u64);
        let rate = 1.0 + (size as f64).ln();
        let (span, merit) = (io.config().pause, io.me().merit);
        let wait = Wake::Exponential { rate }.draw(span, merit, io.rng());
        io.arm(Timer::Call, pause + wait);
    }

    fn call(&mut self, io: &mut impl Io<Self>) {
        let caller = io.me().id;
        let number = self.count.map_or(0, |count| count.number);
        let number = number.saturating_add(1);
        let count = Count { number, caller };
        if Some(count) <= self.count {
            return; // there is no later number
        }
        let whole = Share {
            value: 1.0,
            weight: 1.0,
        };
        self.begin(count, whole, io);
        self.pass_on(io);
    }

    fn begin(&mut self, count: Count, share: Share, io: &mut impl Io<Self>) {
        self.count = Some(count);
        self.called = io.now();
        self.share = share;
        self.phase = Phase::Counting;
        self.out = Out::default();
        io.disarm(Timer::Receipt);
        io.disarm(Timer::Call);
        io.arm(Timer::Turn, io.config().period);
    }

    /// Passes half of what it has on.
    fn pass_on(&mut self, io: &mut impl Io<Self>) {
        if self.out.has_room()
            && let Some(to) = Self::draw(io)
        {
            let share = self.share.split();
            self.hand(share, to, io);
        } // else it is alone
    }

    fn draw(io: &mut impl Io<Self>) -> Option<MemberId> {
        let drawn = io.rng().next_u64();
        let me = io.me().id;
        io.view().other(me, drawn).map(|it| it.id)
    }

    fn hand(&mut self, share: Share, to: MemberId, io: &mut impl Io<Self>) {
        let number = io.rng().next_u64() as u32;
        let sent = Sent {
            to,
            number,
            share,
            tries: io.config().tries,
            again_at: io.now(),
        };
        self.send(sent, io);
        self.await_receipts(io);
    }

    fn send(&mut self, sent: Sent, io: &mut impl Io<Self>) {
        let Some(count) = self.count else {
            return;
        };
        if io.config().tries > 1 {
            self.out.enter(Sent {
                tries: sent.tries.saturating_sub(1),
                again_at: io.now() + io.config().patience,
                ..sent
            });
        }
        let parcel = Message::Parcel {
            count,
            age: io.now() - self.called,
            number: sent.number,
            share: sent.share,
        };
        io.unicast(sent.to, parcel);
    }

    fn await_receipts(&self, io: &mut impl Io<Self>) {
        match self.out.due() {
            Some(at) => io.arm(Timer::Receipt, at - io.now()),
            None => io.disarm(Timer::Receipt),
        }
    }

    fn conclude(&mut self, io: &mut impl Io<Self>) {
        self.phase = Phase::Resting;
        while let Some(sent) = self.out.any() {
            self.share.add(sent.share);
        }
        io.disarm(Timer::Receipt);
        self.results.enter(self.share, io.config().kept.into());
        self.call_after(io.config().pause, io);
    }

    /// Leaves all that it has to another: it was there when the count began.
    fn bequeath(&mut self, io: &mut impl Io<Self>) {
        if self.phase == Phase::Counting
            && let Some(to) = Self::draw(io)
        {
            self.hand(self.share, to, io);
        }
    }
}
