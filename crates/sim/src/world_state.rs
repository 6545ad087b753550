//! The state of the world except the members' own state, and the [`Port`] through which a member's
//! step reads and changes it.

use std::collections::BTreeMap;
use std::hint::cold_path;

use hustings_protocol::simulated::Nominating as _;
use hustings_protocol::{
    Candidate, Duration, Instant, Io, MAX_KINDS, MemberId, Message, Simulated, Timer, View,
};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::in_flight::{EVERYONE, Flight, InFlight};
use crate::interest::Interest;
use crate::network::Wire;
use crate::population::{Condition, Population};
use crate::seen::Seen;
use crate::timers::{Timers, Which};
use crate::{Detection, Event, LossModel, Network, Seeds, Stream, Tally, Trace, Verb};

/// The state of the world except the members' own state. A member's step may read and change it.
pub(crate) struct State<P: Simulated, T> {
    pub(crate) now: Instant,
    /// Only messages are due up to this time. Arming a timer brings it nearer.
    pub(crate) horizon: Instant,
    pub(crate) in_flight: InFlight<P::Message>,
    pub(crate) timers: Timers,
    /// Events from outside (verbs and detector notices), by time and order of entry.
    pub(crate) script: BTreeMap<(Instant, u64), ScriptEntry>,
    pub(crate) script_due: Instant,
    pub(crate) entered: u64,
    pub(crate) people: Population,
    pub(crate) config: P::Config,
    pub(crate) detection: Detection,
    pub(crate) network: Network,
    /// True if every unicast reaches its receiver exactly once.
    pub(crate) reliable: bool,
    /// The delay of every unicast if `reliable` holds and all delays are equal; else [`FOR_EVER`].
    pub(crate) express_delay: Duration,
    /// The arrival time of a unicast that is sent now: `now + express_delay`, or [`NEVER`].
    pub(crate) express_at: Instant,
    /// The delay of every message, if all delays are equal.
    pub(crate) common_delay: Option<Duration>,
    pub(crate) wire: Wire,
    pub(crate) rng: Xoshiro256PlusPlus,
    /// The members' interest in multicasts. Valid only until the next verb; rebuilt after each.
    pub(crate) interest: Option<Interest>,
    /// The multicasts that each member has seen.
    pub(crate) seen: Seen<P::Message>,
    /// True if the world may skip the delivery of messages that their receivers ignore.
    pub(crate) skips_ignored_messages: bool,
    /// Messages that arrived for paused members.
    pub(crate) held: Vec<Flight<P::Message>>,
    /// Expired timers of paused members.
    pub(crate) overdue: Vec<Which>,
    /// View changes that a paused member has not seen yet: member and subject.
    pub(crate) deferred_view_changes: Vec<(u32, u32)>,
    pub(crate) clocks: Vec<Clock>,
    pub(crate) saved: Vec<Option<P::Durable>>,
    /// For each member, 1 + the index of its nominee; 0 if it has none.
    pub(crate) nominees: Vec<u32>,
    /// The time since which each member has had its present nominee.
    pub(crate) named_at: Vec<Instant>,
    pub(crate) tally: Tally,
    pub(crate) trace: T,
}

pub(crate) enum ScriptEntry {
    Verb(Verb),
    Notice,
}

pub(crate) const NEVER: Instant = Instant(u64::MAX);
const FOR_EVER: Duration = Duration(u64::MAX);

/// A clock that has run at `rate` since `since`, when it showed `shown`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    rate: f64,
    since: Instant,
    shown: Instant,
}

/// The larger buffers of a world's state, empty, kept for their memory.
#[derive(Debug)]
pub(crate) struct Buffers<M> {
    in_flight: InFlight<M>,
    nominees: Vec<u32>,
    named_at: Vec<Instant>,
}

impl<M> Default for Buffers<M> {
    fn default() -> Self {
        Self { in_flight: InFlight::new(), nominees: Vec::new(), named_at: Vec::new() }
    }
}

impl<P: Simulated, T: Trace<P>> State<P, T> {
    /// Ends the run and returns its trace and its buffers.
    pub(crate) fn retire(mut self) -> (T, Buffers<P::Message>) {
        self.in_flight.clear();
        self.nominees.clear();
        self.named_at.clear();
        let buffers =
            Buffers { in_flight: self.in_flight, nominees: self.nominees, named_at: self.named_at };
        (self.trace, buffers)
    }

    pub(crate) fn new(
        people: Population,
        config: P::Config,
        network: Network,
        detection: Detection,
        seeds: Seeds,
        buffers: Buffers<P::Message>,
        trace: T,
    ) -> Self {
        let count = people.len();
        let Buffers { in_flight, mut nominees, mut named_at } = buffers;
        nominees.resize(count, 0);
        named_at.resize(count, Instant::START);
        let mut state = Self {
            now: Instant::START,
            horizon: Instant::START,
            in_flight,
            timers: Timers::new(count, P::Timer::ALL.len()),
            script: BTreeMap::new(),
            script_due: NEVER,
            entered: 0,
            people,
            config,
            detection,
            network,
            reliable: false,
            express_delay: FOR_EVER,
            express_at: NEVER,
            common_delay: network.common_delay(),
            wire: Wire::new(&network, seeds.rng(Stream::Network)),
            rng: seeds.rng(Stream::Members),
            interest: None,
            seen: Seen::new(),
            skips_ignored_messages: P::SELECTIVE,
            held: Vec::new(),
            overdue: Vec::new(),
            deferred_view_changes: Vec::new(),
            clocks: Vec::new(),
            saved: Vec::new(),
            nominees,
            named_at,
            tally: Tally::default(),
            trace,
        };
        state.reroute();
        state
    }

    #[inline]
    pub(crate) fn record<'a>(&mut self, event: impl FnOnce() -> Event<'a, P>)
    where
        P: 'a,
    {
        if T::ON {
            self.trace.record(self.now, event());
        }
    }

    #[inline]
    pub(crate) fn record_lost(&mut self, from: u32, to: Option<u32>) {
        self.record(|| Event::Lost { from, to: to.map(u64::from) });
    }

    pub(crate) fn enter(&mut self, at: Instant, entry: ScriptEntry) {
        let at = at.max(self.now);
        self.script.insert((at, self.entered), entry);
        self.entered += 1;
        self.script_due = self.script_due.min(at);
    }

    /// Decides again how messages travel, after a member's condition or the partitions changed.
    pub(crate) fn reroute(&mut self) {
        self.reliable = self.network.only_delays() && self.people.is_fault_free();
        self.express_delay = match self.common_delay {
            Some(delay) if self.reliable => delay,
            Some(_) | None => FOR_EVER,
        };
        self.advance(self.now);
    }

    /// Sets the time.
    #[inline(always)]
    pub(crate) fn advance(&mut self, now: Instant) {
        self.now = now;
        self.express_at = now + self.express_delay;
    }

    /// Schedules the failure detector's reaction to a change.
    pub(crate) fn expect_notice(&mut self) {
        match self.detection {
            Detection::Oracle => self.people.see(),
            Detection::Never => {}
            Detection::After(delay) => self.enter(self.now + delay, ScriptEntry::Notice),
        }
    }

    pub(crate) fn kill(&mut self, member: u32) {
        self.seen.forget_one(member);
        self.people.set_condition(member, Condition::Down);
        self.held.retain(|flight| flight.to != member);
        self.overdue.retain(|which| which.member != member);
        self.deferred_view_changes.retain(|(observer, _)| *observer != member);
        for which in Self::timers_of(member) {
            self.timers.disarm(which);
        }
        self.nominees[member as usize] = 0;
    }

    pub(crate) fn pause(&mut self, member: u32) {
        if self.people.condition(member) == Condition::Up {
            self.people.set_condition(member, Condition::Paused);
        }
    }

    /// Keeps a change of a paused member's view until the member resumes. Two changes of the same
    /// subject cancel out.
    pub(crate) fn defer_view_change(&mut self, member: u32, subject: u32) {
        let before = self.deferred_view_changes.len();
        self.deferred_view_changes.retain(|pair| *pair != (member, subject));
        if self.deferred_view_changes.len() == before {
            self.deferred_view_changes.push((member, subject));
        }
    }

    pub(crate) fn drift(&mut self, member: u32, rate: f64) {
        let shown = self.local(member);
        if self.clocks.is_empty() {
            let exact = Clock { rate: 1.0, since: Instant::START, shown: Instant::START };
            self.clocks = vec![exact; self.people.len()];
        }
        let old = self.clocks[member as usize].rate;
        self.clocks[member as usize] = Clock { rate, since: self.now, shown };
        // Running timers count on the same clock: their remaining time passes at the new rate.
        for which in Self::timers_of(member) {
            if let Some(deadline) = self.timers.deadline(which) {
                let left = (deadline - self.now).mul_f64(old / rate);
                self.timers.arm(which, self.now, self.now + left);
            }
        }
    }

    /// Every timer that `member` can have running.
    fn timers_of(member: u32) -> impl Iterator<Item = Which> {
        (0..P::Timer::ALL.len()).map(move |kind| Which { member, kind })
    }

    /// The time that `member`'s clock shows.
    #[inline]
    pub(crate) fn local(&self, member: u32) -> Instant {
        match self.clocks.get(member as usize) {
            None => self.now,
            Some(clock) => clock.shown + (self.now - clock.since).mul_f64(clock.rate),
        }
    }

    /// The true duration of a wait in which `member`'s clock counts `span`.
    #[inline]
    pub(crate) fn true_span(&self, member: u32, span: Duration) -> Duration {
        match self.clocks.get(member as usize) {
            None => span,
            Some(clock) => span.mul_f64(1.0 / clock.rate),
        }
    }

    pub(crate) fn save(&mut self, member: u32, state: Option<P::Durable>) {
        if self.saved.is_empty() {
            self.saved = vec![None; self.people.len()];
        }
        self.saved[member as usize] = state;
    }

    /// Sends a unicast that has its own delay or may be lost.
    #[inline(never)]
    pub(crate) fn send(&mut self, flight: Flight<P::Message>) {
        if self.reliable {
            let at = self.now + self.wire.plain_delay();
            self.in_flight.push(self.now, at, flight);
            return;
        }
        if self.wire.loses_unicast() || !self.people.connected(flight.from, flight.to) {
            self.record_lost(flight.from, Some(flight.to));
            return;
        }
        self.dispatch(flight);
    }

    /// Queues a message that will arrive, and perhaps a duplicate of it.
    pub(crate) fn dispatch(&mut self, flight: Flight<P::Message>) {
        if let Some(delay) = self.common_delay {
            self.in_flight.push_in_order(self.now + delay, flight);
            return;
        }
        if self.wire.doubles() {
            let at = self.now + self.wire.delay();
            self.in_flight.push(self.now, at, flight.clone());
        }
        let at = self.now + self.wire.delay();
        self.in_flight.push(self.now, at, flight);
    }

    pub(crate) fn send_to_all(&mut self, from: u32, message: P::Message) {
        let network = self.network;
        if network.loss_model == LossModel::Correlated && self.wire.loses_multicast() {
            self.record_lost(from, None);
            return;
        }
        if self.common_delay.is_some() && self.people.is_whole() {
            // One entry serves all receivers and fans out on arrival, where individual copies may
            // be lost.
            let to = EVERYONE;
            self.in_flight.multicasts += 1;
            self.dispatch(Flight { to, from, message });
            return;
        }
        for to in 0..self.people.len() as u32 {
            let lost = network.loss_model == LossModel::Uncorrelated && self.wire.loses_multicast();
            if to == from {
                continue;
            }
            if lost || !self.people.connected(from, to) {
                self.record_lost(from, Some(to));
                continue;
            }
            let message = message.clone();
            self.dispatch(Flight { to, from, message });
        }
    }
}

/// A member's access to the world during one step.
pub(crate) struct Port<'a, P: Simulated, T> {
    pub(crate) state: &'a mut State<P, T>,
    pub(crate) member: u32,
}

impl<P: Simulated, T> Port<'_, P, T> {
    #[inline]
    fn own(&self, timer: P::Timer) -> Which {
        Which { member: self.member, kind: timer.index() }
    }
}

impl<P: Simulated, T: Trace<P>> Io<P> for Port<'_, P, T> {
    #[inline(always)]
    fn me(&self) -> Candidate {
        self.state.people.candidate(self.member)
    }

    #[inline(always)]
    fn config(&self) -> &P::Config {
        &self.state.config
    }

    #[inline(always)]
    fn now(&self) -> Instant {
        self.state.local(self.member)
    }

    #[inline(always)]
    fn rng(&mut self) -> &mut impl Rng {
        &mut self.state.rng
    }

    #[inline(always)]
    fn view(&self) -> impl View {
        self.state.people.view(self.member)
    }

    #[inline(always)]
    fn unicast(&mut self, to: MemberId, message: P::Message) {
        let state = &mut *self.state;
        let from = self.member;
        state.tally.unicasts[message.kind() % MAX_KINDS] += 1;
        state.record(|| Event::Sent { from, to: to.0, message: &message });
        if to.0 >= state.people.len() as u64 {
            cold_path();
            // No member has this address.
            state.record(|| Event::Lost { from, to: Some(to.0) });
            return;
        }
        let to = to.0 as u32;
        let flight = Flight { to, from, message };
        if state.express_at == NEVER {
            state.send(flight);
        } else {
            state.in_flight.push_in_order(state.express_at, flight);
        }
    }

    #[inline(always)]
    fn multicast(&mut self, message: P::Message) {
        let from = self.member;
        self.state.tally.multicasts[message.kind() % MAX_KINDS] += 1;
        self.state.record(|| Event::Multicast { from, message: &message });
        self.state.send_to_all(from, message);
    }

    #[inline(always)]
    fn arm(&mut self, timer: P::Timer, after: Duration) {
        let at = self.state.now + self.state.true_span(self.member, after);
        self.state.timers.arm(self.own(timer), self.state.now, at);
        self.state.horizon = self.state.horizon.min(at);
    }

    #[inline(always)]
    fn disarm(&mut self, timer: P::Timer) {
        self.state.timers.disarm(self.own(timer));
    }

    fn save(&mut self, state: P::Durable) {
        self.state.save(self.member, Some(state));
    }

    fn meet(&mut self, candidate: Candidate) {
        let members = self.state.people.len() as u64;
        if candidate.id.0 < members {
            self.state.people.meet(self.member, candidate.id.0 as u32);
        }
    }

    #[inline(always)]
    fn report(&mut self, outcome: P::Outcome) {
        let member = self.member;
        self.state.record(|| Event::Reported { member, outcome });
        if let Some(round) = outcome.round() {
            self.state.tally.rounds = self.state.tally.rounds.max(round);
        }
        let Some(nominee) = outcome.nominee() else {
            return;
        };
        let nominee = nominee.map_or(0, |id| (id.0 as u32).wrapping_add(1));
        if self.state.nominees[member as usize] != nominee {
            self.state.nominees[member as usize] = nominee;
            self.state.named_at[member as usize] = self.state.now;
        }
    }
}
