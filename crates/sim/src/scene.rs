//! All of the world but the members' own state: what a member's step may touch, and the [`Port`]
//! through which it does.

use std::collections::BTreeMap;
use std::hint::cold_path;

use hustings_protocol::{
    Candidate, Duration, Instant, Io, MAX_KINDS, MemberId, Message, Outcome, Protocol, Timer, View,
};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::attention::Attention;
use crate::echoes::Echoes;
use crate::network::Wire;
use crate::population::{Condition, Population};
use crate::post::{EVERYONE, Flight, Post};
use crate::timers::{Timers, Which};
use crate::{Detection, Event, LossModel, Network, Seeds, Stream, Tally, Trace, Verb};

/// All of the world but the members' own state: what a member's step may touch.
pub(crate) struct Scene<P: Protocol, T> {
    pub(crate) now: Instant,
    /// Nothing but messages is due up to this time. A timer that is armed brings it nearer.
    pub(crate) horizon: Instant,
    pub(crate) post: Post<P::Message>,
    pub(crate) timers: Timers,
    /// What is to come from outside, by time and order of entry.
    pub(crate) agenda: BTreeMap<(Instant, u64), Agendum>,
    pub(crate) agenda_due: Instant,
    pub(crate) entered: u64,
    pub(crate) people: Population,
    pub(crate) config: P::Config,
    pub(crate) detection: Detection,
    pub(crate) network: Network,
    /// Every unicast gets to its receiver, once.
    pub(crate) reliable: bool,
    /// The delay of every unicast, if so, and if all take the same time; else for ever.
    pub(crate) express_delay: Duration,
    /// When every unicast sent now arrives: so much later; or [`NEVER`].
    pub(crate) express_at: Instant,
    /// The delay of every message, if it is the same for all.
    pub(crate) common_delay: Option<Duration>,
    pub(crate) wire: Wire,
    pub(crate) rng: Xoshiro256PlusPlus,
    /// Who listens to what, while nothing but starts has struck; looked up anew after each.
    pub(crate) attention: Option<Attention>,
    /// Who has heard what.
    pub(crate) echoes: Echoes<P::Message>,
    /// Whether members may be spared what they ignore.
    pub(crate) spares_the_deaf: bool,
    /// What arrived for paused members.
    pub(crate) held: Vec<Flight<P::Message>>,
    /// Timers of paused members that ran out.
    pub(crate) overdue: Vec<Which>,
    /// Who changed in the view of a paused member, which has not been told: member and subject.
    pub(crate) untold: Vec<(u32, u32)>,
    pub(crate) clocks: Vec<Clock>,
    pub(crate) saved: Vec<Option<P::Durable>>,
    /// One more than the index of the member that each member names; 0: it names nobody.
    pub(crate) nominees: Vec<u32>,
    /// Since when each member names whom it names.
    pub(crate) named_at: Vec<Instant>,
    pub(crate) tally: Tally,
    pub(crate) trace: T,
}

pub(crate) enum Agendum {
    Strike(Verb),
    Notice,
}

pub(crate) const NEVER: Instant = Instant(u64::MAX);
const FOR_EVER: Duration = Duration(u64::MAX);

/// A clock that runs at its own rate since `since`, when it showed `shown`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    rate: f64,
    since: Instant,
    shown: Instant,
}

/// The larger pieces of memory of a scene, empty.
#[derive(Debug)]
pub(crate) struct Buffers<M> {
    post: Post<M>,
    nominees: Vec<u32>,
    named_at: Vec<Instant>,
}

impl<M> Default for Buffers<M> {
    fn default() -> Self {
        Self {
            post: Post::new(),
            nominees: Vec::new(),
            named_at: Vec::new(),
        }
    }
}

impl<P: Protocol, T: Trace<P>> Scene<P, T> {
    /// Ends the scene; returns its record and its memory.
    pub(crate) fn retire(mut self) -> (T, Buffers<P::Message>) {
        self.post.clear();
        self.nominees.clear();
        self.named_at.clear();
        let buffers = Buffers {
            post: self.post,
            nominees: self.nominees,
            named_at: self.named_at,
        };
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
        let Buffers {
            post,
            mut nominees,
            mut named_at,
        } = buffers;
        nominees.resize(count, 0);
        named_at.resize(count, Instant::START);
        let mut scene = Self {
            now: Instant::START,
            horizon: Instant::START,
            post,
            timers: Timers::new(count, P::Timer::ALL.len()),
            agenda: BTreeMap::new(),
            agenda_due: NEVER,
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
            attention: None,
            echoes: Echoes::new(),
            spares_the_deaf: P::SELECTIVE,
            held: Vec::new(),
            overdue: Vec::new(),
            untold: Vec::new(),
            clocks: Vec::new(),
            saved: Vec::new(),
            nominees,
            named_at,
            tally: Tally::default(),
            trace,
        };
        scene.reroute();
        scene
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
        self.record(|| Event::Lost {
            from,
            to: to.map(u64::from),
        });
    }

    pub(crate) fn enter(&mut self, at: Instant, agendum: Agendum) {
        let at = at.max(self.now);
        self.agenda.insert((at, self.entered), agendum);
        self.entered += 1;
        self.agenda_due = self.agenda_due.min(at);
    }

    /// Decides again how messages travel, after somebody's condition or the cuts changed.
    pub(crate) fn reroute(&mut self) {
        self.reliable = self.network.only_delays() && self.people.is_untroubled();
        self.express_delay = match self.common_delay {
            Some(delay) if self.reliable => delay,
            Some(_) | None => FOR_EVER,
        };
        self.advance(self.now);
    }

    /// Lets time pass.
    #[inline(always)]
    pub(crate) fn advance(&mut self, now: Instant) {
        self.now = now;
        self.express_at = now + self.express_delay;
    }

    /// Lets the detector do its work after a change.
    pub(crate) fn expect_notice(&mut self) {
        match self.detection {
            Detection::Oracle => self.people.see(),
            Detection::Never => {}
            Detection::After(delay) => self.enter(self.now + delay, Agendum::Notice),
        }
    }

    pub(crate) fn kill(&mut self, member: u32) {
        self.echoes.forget_one(member);
        self.people.set_condition(member, Condition::Down);
        self.held.retain(|flight| flight.to != member);
        self.overdue.retain(|which| which.member != member);
        self.untold.retain(|(observer, _)| *observer != member);
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

    /// Keeps a change of a paused member's view until it resumes; one back and forth is none.
    pub(crate) fn tell_later(&mut self, member: u32, subject: u32) {
        let before = self.untold.len();
        self.untold.retain(|pair| *pair != (member, subject));
        if self.untold.len() == before {
            self.untold.push((member, subject));
        }
    }

    pub(crate) fn drift(&mut self, member: u32, rate: f64) {
        let shown = self.local(member);
        if self.clocks.is_empty() {
            let exact = Clock {
                rate: 1.0,
                since: Instant::START,
                shown: Instant::START,
            };
            self.clocks = vec![exact; self.people.len()];
        }
        let old = self.clocks[member as usize].rate;
        self.clocks[member as usize] = Clock {
            rate,
            since: self.now,
            shown,
        };
        // Running timers count on the same clock: what is left of them passes at the new rate.
        for which in Self::timers_of(member) {
            if let Some(deadline) = self.timers.deadline(which) {
                let left = (deadline - self.now).mul_f64(old / rate);
                self.timers.arm(which, self.now, self.now + left);
            }
        }
    }

    /// All timers that `member` may have running.
    fn timers_of(member: u32) -> impl Iterator<Item = Which> {
        (0..P::Timer::ALL.len()).map(move |kind| Which { member, kind })
    }

    /// What `member`'s clock shows.
    #[inline]
    pub(crate) fn local(&self, member: u32) -> Instant {
        match self.clocks.get(member as usize) {
            None => self.now,
            Some(clock) => clock.shown + (self.now - clock.since).mul_f64(clock.rate),
        }
    }

    /// How long `member` waits in truth when its clock counts `span`.
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

    /// Sends a unicast that may take its own time, or may not arrive.
    #[inline(never)]
    pub(crate) fn send(&mut self, flight: Flight<P::Message>) {
        if self.reliable {
            let at = self.now + self.wire.plain_delay();
            self.post.push(self.now, at, flight);
            return;
        }
        if self.wire.loses_unicast() || !self.people.connected(flight.from, flight.to) {
            self.record_lost(flight.from, Some(flight.to));
            return;
        }
        self.dispatch(flight);
    }

    /// Queues a message that will arrive, and perhaps a second copy of it.
    pub(crate) fn dispatch(&mut self, flight: Flight<P::Message>) {
        if let Some(delay) = self.common_delay {
            self.post.push_in_order(self.now + delay, flight);
            return;
        }
        if self.wire.doubles() {
            let at = self.now + self.wire.delay();
            self.post.push(self.now, at, flight.clone());
        }
        let at = self.now + self.wire.delay();
        self.post.push(self.now, at, flight);
    }

    pub(crate) fn send_to_all(&mut self, from: u32, message: P::Message) {
        let network = self.network;
        if network.loss_model == LossModel::Correlated && self.wire.loses_multicast() {
            self.record_lost(from, None);
            return;
        }
        if self.common_delay.is_some() && self.people.is_whole() {
            // One entry for all, fanned out on arrival; copies lost one by one are lost there.
            let to = EVERYONE;
            self.post.multicasts += 1;
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
pub(crate) struct Port<'a, P: Protocol, T> {
    pub(crate) scene: &'a mut Scene<P, T>,
    pub(crate) member: u32,
}

impl<P: Protocol, T> Port<'_, P, T> {
    #[inline]
    fn own(&self, timer: P::Timer) -> Which {
        Which {
            member: self.member,
            kind: timer.index(),
        }
    }
}

impl<P: Protocol, T: Trace<P>> Io<P> for Port<'_, P, T> {
    #[inline(always)]
    fn me(&self) -> Candidate {
        self.scene.people.candidate(self.member)
    }

    #[inline(always)]
    fn config(&self) -> &P::Config {
        &self.scene.config
    }

    #[inline(always)]
    fn now(&self) -> Instant {
        self.scene.local(self.member)
    }

    #[inline(always)]
    fn rng(&mut self) -> &mut impl Rng {
        &mut self.scene.rng
    }

    #[inline(always)]
    fn view(&self) -> impl View {
        self.scene.people.view(self.member)
    }

    #[inline(always)]
    fn unicast(&mut self, to: MemberId, message: P::Message) {
        let scene = &mut *self.scene;
        let from = self.member;
        scene.tally.unicasts[message.kind() % MAX_KINDS] += 1;
        scene.record(|| Event::Sent {
            from,
            to: to.0,
            message: &message,
        });
        if to.0 >= scene.people.len() as u64 {
            cold_path();
            // Nobody has this address.
            scene.record(|| Event::Lost {
                from,
                to: Some(to.0),
            });
            return;
        }
        let to = to.0 as u32;
        let flight = Flight { to, from, message };
        if scene.express_at == NEVER {
            scene.send(flight);
        } else {
            scene.post.push_in_order(scene.express_at, flight);
        }
    }

    #[inline(always)]
    fn multicast(&mut self, message: P::Message) {
        let from = self.member;
        self.scene.tally.multicasts[message.kind() % MAX_KINDS] += 1;
        self.scene.record(|| Event::Multicast {
            from,
            message: &message,
        });
        self.scene.send_to_all(from, message);
    }

    #[inline(always)]
    fn arm(&mut self, timer: P::Timer, after: Duration) {
        let at = self.scene.now + self.scene.true_span(self.member, after);
        self.scene.timers.arm(self.own(timer), self.scene.now, at);
        self.scene.horizon = self.scene.horizon.min(at);
    }

    #[inline(always)]
    fn disarm(&mut self, timer: P::Timer) {
        self.scene.timers.disarm(self.own(timer));
    }

    fn save(&mut self, state: P::Durable) {
        self.scene.save(self.member, Some(state));
    }

    fn meet(&mut self, candidate: Candidate) {
        let members = self.scene.people.len() as u64;
        if candidate.id.0 < members {
            self.scene.people.meet(self.member, candidate.id.0 as u32);
        }
    }

    #[inline(always)]
    fn report(&mut self, outcome: Outcome) {
        let member = self.member;
        self.scene.record(|| Event::Reported { member, outcome });
        let nominee = match outcome {
            Outcome::Standing { round } => {
                self.scene.tally.rounds = self.scene.tally.rounds.max(round);
                return;
            }
            Outcome::Nominee(candidate) => (candidate.id.0 as u32).wrapping_add(1),
            Outcome::Vacant | Outcome::DuplicateIdentity | Outcome::Fault(_) => 0,
            // Who holds tenure is one thing, whom a member names another.
            Outcome::TenureGained { .. }
            | Outcome::TenureLost { .. }
            | Outcome::TenureRefused(_)
            | Outcome::Council(_) => return,
        };
        if self.scene.nominees[member as usize] != nominee {
            self.scene.nominees[member as usize] = nominee;
            self.scene.named_at[member as usize] = self.scene.now;
        }
    }
}
