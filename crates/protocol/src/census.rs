//! A census: estimates the number of members if no member knows them all.
//!
//! Source    Kempe, Dobra, Gehrke, Gossip-based computation of aggregate information (FOCS 2003):
//!           push-sum
//! Assumes   views that are random enough: complete ones, or those of [`shuffle`](crate::shuffle);
//!           messages that mostly arrive within [`Config::election_timeout`]; crash faults
//! Promises  after a count of [`Config::turns`] turns each member that took part has the size of
//!           the group to within about two parts in a hundred. The size is that at the beginning of
//!           the count, less the members that crashed before they learnt of it. The number of turns
//!           needed grows with the logarithm of the group. For the effect of loss see
//!           [`Config::tries`]. The size is never 0
//! Messages  parcel (to one member, from each in each turn of a count), receipt (to its sender);
//!           none between counts
//!
//! Each member begins a count with the value 1. Only its caller has a weight, which is 1. In each
//! turn a member keeps half of its share and sends the other half on. Soon all members have the
//! same quotient of the two: the group's size.

mod message;
mod results;
mod shares;

pub use message::{Count, Message, Share};
pub use results::MOST_KEPT;

use rand_core::Rng;

use crate::announce::Wake;
use crate::config::{ConfigError, require, require_at_least, require_some_time};
use crate::{Duration, Input, Instant, Io, MemberId, NoOutcome, Protocol, View};
use results::Results;
use shares::{MOST_OUT, OutParcels, Received, Sent};

/// The parameters of a count. The same for all members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The length of a turn.
    pub period: Duration,
    /// The number of turns of a count. It takes log2 N + ln N turns until all members have learnt
    /// of the count; a member that learns of it in the second half is not counted. 30 turns are
    /// enough for a hundred members, and ten more for each factor of ten. More are needed at a loss
    /// so high that parcels are often tried for longer than a turn.
    pub turns: u16,
    /// The least time between two counts. A random time of up to the same length is added, so that
    /// few members call at once.
    pub pause: Duration,
    /// The number of times that a parcel is sent before it is taken back, unless a receipt arrives.
    /// With 1 it is sent once, without receipts.
    ///
    /// A lost parcel takes its part of value and weight with it. Once all members have learnt of
    /// the count this changes little. Before, weight is lost, but not the value of the members that
    /// have not learnt of it. With a lost fraction p, sizes come out too large by a factor of about
    /// (1 - p/2)^(-log N), to the base 2 - p: 1.4 for 10,000 members at p = 0.05, 5 at 0.2. They
    /// also vary from count to count by a large part of this factor. So a mean of many counts does
    /// not help, but tries do.
    ///
    /// A parcel that arrived, and is taken back for lack of a receipt, counts twice, and sizes come
    /// out too small. So a parcel is tried for several turns, while those of later turns are out
    /// too. All receipts of 24 tries are lost once in 50,000 times at p = 0.4, once in 1,000 at
    /// 0.5, and once in 65 at 0.6. Parcels to dead members are not lost either.
    pub tries: u8,
    /// Time to wait for a receipt. All tries together must take no longer than four turns.
    pub election_timeout: Duration,
    /// The number of counts of which the size is the mean, at most [`MOST_KEPT`]: a single count
    /// may go wrong, for example if its caller crashes.
    pub kept: u8,
}

impl Config {
    /// For 100,000 members, and nearly for a million, if most answers arrive within a sixth of
    /// `period`.
    pub fn field(period: Duration) -> Self {
        Self {
            period,
            turns: 60,
            pause: period * 200,
            tries: 24,
            election_timeout: Duration(period.0 / 6),
            kept: 3,
        }
    }

    /// Checks that this configuration can work.
    ///
    /// # Errors
    /// Names the option that cannot work.
    pub fn check(&self) -> Result<(), ConfigError> {
        require_some_time("period", Some(self.period))?;
        require_some_time("pause", Some(self.pause))?;
        require_some_time("patience", Some(self.election_timeout))?;
        let tried = Duration((self.election_timeout * u64::from(self.tries)).0 / MOST_OUT as u64);
        require_at_least("period", self.period, ("tries x patience / 4", tried))?;
        // A share is halved in each turn: it must not vanish.
        require((1..=500).contains(&self.turns), "turns", "1 to 500")?;
        require(self.tries > 0, "tries", "1 or more")?;
        require((1..=MOST_KEPT).contains(&self.kept.into()), "kept", "1 to 8")
    }

    /// The length of a count.
    fn length(&self) -> Duration {
        self.period * u64::from(self.turns)
    }

    /// True if a member that learns of a count at this age is not counted: it is probably new, and
    /// would falsify the shares of its neighbours.
    fn is_late(&self, age: Duration) -> bool {
        age > Duration(self.length().0 / 2)
    }
}

/// The timers of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// The next turn is due.
    Turn,
    /// A receipt is overdue.
    Receipt,
    /// No other member has called a count.
    Call,
}

crate::timers!(Turn, Receipt, Call);

/// Requests that the driver may submit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Calls a count now.
    Count,
}

/// One member.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Census {
    /// The latest count that this member knows.
    count: Option<Count>,
    /// The estimated time at which that count was called.
    called: Instant,
    /// This member's share of that count.
    share: Share,
    phase: Phase,
    /// The parcels without a receipt.
    out: OutParcels,
    received: Received,
    results: Results,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    /// No count is known, or the last one is over. The member calls another one, unless another
    /// member does so first.
    #[default]
    Resting,
    Counting,
}

impl Census {
    /// The number of members by the last counts; `None` before the first count has ended.
    pub fn size(&self) -> Option<u64> {
        self.results.size()
    }

    /// True while a count is running.
    pub fn counts(&self) -> bool {
        self.phase == Phase::Counting
    }

    /// True while a count is running that still counts a member which learns of it at `now`.
    pub fn takes_in(&self, now: Instant, config: &Config) -> bool {
        self.counts() && !config.is_late(now - self.called)
    }
}

impl Protocol for Census {
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Durable = ();
    type Outcome = NoOutcome;
    type Request = Request;

    #[inline]
    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        match input {
            Input::Start if self.phase == Phase::Resting => self.call_after(Duration::ZERO, io),
            Input::Start => {} // a count is running
            Input::Message { from, message } => self.on_message(from, message, io),
            Input::Timer(Timer::Turn) => self.on_turn(io),
            Input::Timer(Timer::Receipt) => self.on_patience(io),
            Input::Timer(Timer::Call) | Input::Request(Request::Count) => self.call(io),
            Input::Leave => self.send_whole_share(io),
            Input::ViewChanged(_) => {} // a parcel's receiver is drawn when it is sent
        }
    }
}

// Handlers: one per input. They decide; the transitions below act.
impl Census {
    #[inline]
    fn on_message(&mut self, from: MemberId, message: Message, io: &mut impl Io<Self>) {
        match message {
            Message::Parcel { share, .. } if !share.is_possible() => {} // damaged
            Message::Parcel { count, age, number, share } => {
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
            // A late member forwards the shares that it gets.
            let value = if io.config().is_late(age) { 0.0 } else { 1.0 };
            self.begin(count, Share { value, weight: 0.0 }, io);
        }
        if Some(count) == self.count {
            self.share.add(share);
            self.called = self.called.min(called);
        } // else the count is over
    }

    fn on_turn(&mut self, io: &mut impl Io<Self>) {
        if self.phase == Phase::Resting {
            return;
        }
        if io.now() - self.called >= io.config().length() {
            self.conclude(io);
        } else {
            self.send_half(io);
            io.arm(Timer::Turn, io.config().period);
        }
    }

    /// Sends parcels without a receipt again, or takes them back.
    fn on_patience(&mut self, io: &mut impl Io<Self>) {
        while let Some(sent) = self.out.overdue(io.now()) {
            match sent.tries {
                0 => self.share.add(sent.share), // its receiver seems dead
                _ => self.send(sent, io),
            }
        }
        self.await_receipts(io);
    }
}

// Transitions: the only code that writes `phase`. While counting, the turn timer runs, and the
// receipt timer while a parcel is out; while resting, the call timer.
impl Census {
    fn call_after(&mut self, pause: Duration, io: &mut impl Io<Self>) {
        // The length of a view may take time proportional to the group's size.
        let size = self.size().unwrap_or_else(|| io.view().len() as u64);
        let rate = 1.0 + (size as f64).ln();
        let (span, priority) = (io.config().pause, io.me().priority);
        let wait = Wake::Exponential { rate }.draw(span, priority, io.rng());
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
        let whole = Share { value: 1.0, weight: 1.0 };
        self.begin(count, whole, io);
        self.send_half(io);
    }

    fn begin(&mut self, count: Count, share: Share, io: &mut impl Io<Self>) {
        self.count = Some(count);
        self.called = io.now();
        self.share = share;
        self.phase = Phase::Counting;
        self.out = OutParcels::default();
        io.disarm(Timer::Receipt);
        io.disarm(Timer::Call);
        io.arm(Timer::Turn, io.config().period);
    }

    /// Sends half of its share to another member.
    fn send_half(&mut self, io: &mut impl Io<Self>) {
        if self.out.has_room()
            && let Some(to) = Self::draw(io)
        {
            let share = self.share.split();
            self.send_share(share, to, io);
        } // else it is alone
    }

    fn draw(io: &mut impl Io<Self>) -> Option<MemberId> {
        let drawn = io.rng().next_u64();
        let me = io.me().id;
        io.view().other(me, drawn).map(|it| it.id)
    }

    fn send_share(&mut self, share: Share, to: MemberId, io: &mut impl Io<Self>) {
        let number = io.rng().next_u64() as u32;
        let sent = Sent { to, number, share, tries: io.config().tries, again_at: io.now() };
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
                again_at: io.now() + io.config().election_timeout,
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

    /// Sends its whole share to another member: it was up when the count began.
    fn send_whole_share(&mut self, io: &mut impl Io<Self>) {
        if self.phase == Phase::Counting
            && let Some(to) = Self::draw(io)
        {
            self.send_share(self.share, to, io);
        }
    }
}
