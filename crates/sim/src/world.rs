//! One run: members, messages in flight, timers, and the clock that drives them.
//!
//! At equal times the scenario comes first, then messages in the order of sending, then timers.
//! That order, and [`Seeds`], are all that decides a run.

use hustings_protocol::{
    Candidate, Input, Instant, MAX_KINDS, MemberId, Merit, Message, Protocol, Timer,
};

use crate::population::{Condition, Population};
use crate::post::{EVERYONE, Flight};
use crate::scene::{Agendum, Buffers, NEVER, Port, Scene};
use crate::timers::Which;
use crate::wheel::Due;
use crate::{Detection, Event, Network, Scenario, Seeds, Silent, Stream, Trace, Verb};

/// What a world is like before anything happens.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The members' merits; member `i` is `MemberId(i)`.
    pub merits: Vec<Merit>,
    /// What happens to messages.
    pub network: Network,
    /// How members learn that others come and go.
    pub detection: Detection,
    /// The probability with which a member knows another.
    pub view: f64,
}

/// What a member is made of when it comes up: who it is, and what it saved before it went down.
#[derive(Debug)]
pub struct Boot<P: Protocol> {
    /// Who it is.
    pub me: Candidate,
    /// The last state it saved, unless it lost that too, or never saved any.
    pub saved: Option<P::Durable>,
}

/// Why a run stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Halt {
    /// Nothing is left to happen: no message, no timer, no scenario line.
    Quiet,
    /// The time was up.
    Limit,
}

/// How many messages were sent, by kind. Lost ones count; a multicast counts once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Unicasts by kind.
    pub unicasts: [u64; MAX_KINDS],
    /// Multicasts by kind.
    pub multicasts: [u64; MAX_KINDS],
    /// Messages handled by a receiver. Multicasts that members ignore may be spared them, and are
    /// not counted then.
    pub delivered: u64,
    /// The greatest round that any member reported.
    pub rounds: u32,
}

/// The memory of a world that has ended. Asking the system for the memory of a million members and
/// messages anew in every run would take longer than the run.
pub struct Scratch<P: Protocol> {
    members: Vec<P>,
    buffers: Buffers<P::Message>,
}

impl<P: Protocol> Default for Scratch<P> {
    fn default() -> Self {
        Self {
            members: Vec::new(),
            buffers: Buffers::default(),
        }
    }
}

/// One run.
pub struct World<P: Protocol, T: Trace<P> = Silent> {
    pub(crate) members: Vec<P>,
    pub(crate) scene: Scene<P, T>,
    pub(crate) make: Box<dyn FnMut(Boot<P>) -> P>,
}

impl<P: Protocol> World<P> {
    /// A world in which nothing has happened, unrecorded.
    ///
    /// # Panics
    /// If `setup` has no members, too many, or a network that does not pass [`Network::check`].
    pub fn new(
        setup: Setup,
        config: P::Config,
        seeds: Seeds,
        make: impl FnMut(Boot<P>) -> P + 'static,
    ) -> Self {
        Self::traced(setup, config, seeds, Silent, make)
    }
}

impl<P: Protocol, T: Trace<P>> World<P, T> {
    /// A world in which nothing has happened, recorded by `trace`.
    ///
    /// # Panics
    /// If `setup` has no members, too many, or a network that does not pass [`Network::check`].
    pub fn traced(
        setup: Setup,
        config: P::Config,
        seeds: Seeds,
        trace: T,
        make: impl FnMut(Boot<P>) -> P + 'static,
    ) -> Self {
        Self::within(Scratch::default(), setup, config, seeds, trace, make)
    }

    /// The same, in the memory that another world left.
    ///
    /// # Panics
    /// As [`World::traced`].
    pub fn within(
        scratch: Scratch<P>,
        setup: Setup,
        config: P::Config,
        seeds: Seeds,
        trace: T,
        mut make: impl FnMut(Boot<P>) -> P + 'static,
    ) -> Self {
        let count = setup.merits.len();
        assert!(
            (1..EVERYONE as usize).contains(&count),
            "a group has 1 to 2^32 - 2 members"
        );
        assert_eq!(
            setup.network.check(),
            Ok(()),
            "the network must be possible"
        );
        assert!(
            P::Message::KINDS.len() <= MAX_KINDS,
            "too many kinds of message to count"
        );
        let people = Population::new(setup.merits, setup.view, seeds.number(Stream::Views));
        let boot = |member| Boot {
            me: people.candidate(member),
            saved: None,
        };
        let Scratch {
            mut members,
            buffers,
        } = scratch;
        members.extend((0..count as u32).map(|member| make(boot(member))));
        let Setup {
            network, detection, ..
        } = setup;
        let scene = Scene::new(people, config, network, detection, seeds, buffers, trace);
        Self {
            members,
            scene,
            make: Box::new(make),
        }
    }

    /// Tells `member` to start, now.
    pub fn start(&mut self, member: u32) {
        if P::SELECTIVE {
            self.scene.attention = None;
        }
        if self.scene.people.condition(member) == Condition::Up {
            self.scene.record(|| Event::Started { member });
            self.step(member, Input::Start);
        }
    }

    /// Asks something of `member`, now, if it is up.
    pub fn request(&mut self, member: u32, request: P::Request) {
        if self.scene.people.condition(member) == Condition::Up {
            self.step(member, Input::Request(request));
        }
    }

    /// Hands `member` a message, now, if it is up: one that is old, or forged, as if it came from `from`.
    pub fn hand(&mut self, from: u32, member: u32, message: P::Message) {
        if self.scene.people.condition(member) == Condition::Up {
            let to = member;
            self.hand_over(Flight { to, from, message });
        }
    }

    /// Enters a scenario's lines into the agenda.
    ///
    /// # Panics
    /// If a line names a member that there is not; see [`Scenario::check`].
    pub fn follow(&mut self, scenario: &Scenario) {
        for (at, verb) in scenario.lines() {
            self.schedule(*at, verb.clone());
        }
    }

    /// Enters one verb into the agenda. A time that has passed means now.
    pub fn schedule(&mut self, at: Instant, verb: Verb) {
        self.scene.enter(at, Agendum::Strike(verb));
    }

    /// Runs until nothing is left to happen or `limit` has passed.
    pub fn run_until(&mut self, limit: Instant) -> Halt {
        loop {
            let lane = self.scene.post.lane_due().unwrap_or(NEVER);
            let spread = bound(self.scene.post.spread_due());
            let timers = bound(self.scene.timers.due());
            let agenda = self.scene.agenda_due;
            let next = lane.min(spread).min(timers).min(agenda);
            if next == NEVER {
                return Halt::Quiet;
            }
            if next > limit {
                self.scene.advance(limit);
                return Halt::Limit;
            }
            // Scenario lines precede the messages of their time, messages precede timers.
            if agenda == next {
                self.scene.advance(next);
                self.attend();
                continue;
            }
            let before_agenda = just_before(agenda).min(limit);
            self.scene.horizon = timers.min(before_agenda);
            if lane == next {
                self.serve_lane();
            } else if spread == next {
                self.serve_spread();
            } else {
                let before_messages = just_before(lane.min(spread));
                self.serve_timers(before_agenda.min(before_messages));
            }
        }
    }

    /// Delivers the messages of the lane that arrive up to the horizon, where something else waits.
    #[inline]
    fn serve_lane(&mut self) {
        while let Some(at) = self.scene.post.lane_due() {
            if at > self.scene.horizon {
                return;
            }
            self.scene.advance(at);
            // What these messages set off comes after them: neither condition changes meanwhile.
            if self.scene.people.is_untroubled() && self.scene.post.multicasts == 0 {
                self.serve_common_case();
            } else {
                self.serve_any_case();
            }
        }
    }

    /// Delivers the messages of the lane that arrive now, all of them unicasts to members that are
    /// up and in reach. Apart from the other case, so that they stay in registers.
    #[inline(always)]
    fn serve_common_case(&mut self) {
        if let Some(flight) = self.scene.post.pop_lone() {
            self.scene.tally.delivered += 1;
            self.hand_over(flight);
            return;
        }
        self.serve_batch();
    }

    /// Apart from the lone message's path, so that each loop has the registers to itself.
    #[inline(never)]
    fn serve_batch(&mut self) {
        let mut flights = self.scene.post.pop_lane();
        self.scene.tally.delivered += flights.len() as u64;
        for flight in flights.drain(..) {
            self.hand_over(flight);
        }
        self.scene.post.reuse(flights);
    }

    #[inline(never)]
    fn serve_any_case(&mut self) {
        if let Some(flight) = self.scene.post.pop_lone() {
            self.arrive(flight);
            return;
        }
        let mut flights = self.scene.post.pop_lane();
        for flight in flights.drain(..) {
            self.arrive(flight);
        }
        self.scene.post.reuse(flights);
    }

    /// Views show from now on who is up and who is cut off, and nobody is told.
    pub fn see(&mut self) {
        self.scene.people.see();
    }

    /// The members' states, by index.
    pub fn members(&self) -> &[P] {
        &self.members
    }

    /// The same, to take from them what they hold ready for whoever runs them.
    pub fn members_mut(&mut self) -> &mut [P] {
        &mut self.members
    }

    /// Whom `member` names, and since when.
    pub fn nominee(&self, member: u32) -> Option<(MemberId, Instant)> {
        let nominee = self.scene.nominees[member as usize].checked_sub(1)?;
        Some((
            MemberId(u64::from(nominee)),
            self.scene.named_at[member as usize],
        ))
    }

    /// Whether `member` is not down. A paused member is up: it does not know that it pauses.
    pub fn is_up(&self, member: u32) -> bool {
        self.scene.people.condition(member) != Condition::Down
    }

    /// The candidate at index `member`.
    pub fn candidate(&self, member: u32) -> Candidate {
        self.scene.people.candidate(member)
    }

    /// How many members there are, up or down.
    pub fn len(&self) -> u32 {
        self.members.len() as u32
    }

    /// Never: a world has members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The time of the event in hand, or of the last.
    pub fn now(&self) -> Instant {
        self.scene.now
    }

    /// What was sent so far.
    pub fn tally(&self) -> &Tally {
        &self.scene.tally
    }

    /// The record so far.
    pub fn trace(&self) -> &T {
        &self.scene.trace
    }

    /// The record so far, to add to.
    pub fn trace_mut(&mut self) -> &mut T {
        &mut self.scene.trace
    }

    /// Ends the world and returns its record.
    pub fn into_trace(self) -> T {
        self.retire().0
    }

    /// Ends the world; returns its record, and its memory for another world to live in.
    pub fn retire(self) -> (T, Scratch<P>) {
        let mut members = self.members;
        members.clear();
        let (trace, buffers) = self.scene.retire();
        (trace, Scratch { members, buffers })
    }

    #[inline(always)]
    pub(crate) fn step(&mut self, member: u32, input: Input<P>) {
        let mut port = Port {
            scene: &mut self.scene,
            member,
        };
        self.members[member as usize].step(input, &mut port);
    }

    /// The same for messages that take each its own time. Then the lane is empty.
    #[inline]
    fn serve_spread(&mut self) {
        loop {
            match self.scene.post.spread_due() {
                Due::At(at) if at <= self.scene.horizon => {
                    self.scene.advance(at);
                    if let Some(flight) = self.scene.post.pop_spread() {
                        self.deliver(flight);
                    }
                }
                Due::NotBefore(at) if at <= self.scene.horizon => self.scene.post.open(),
                Due::At(_) | Due::NotBefore(_) | Due::Never => return,
            }
        }
    }

    /// Takes a step towards the next timer that runs out, if one does before `horizon` has passed.
    #[inline]
    fn serve_timers(&mut self, horizon: Instant) {
        match self.scene.timers.due() {
            Due::At(_) => {
                if let Some((at, which)) = self.scene.timers.expire(horizon) {
                    self.scene.advance(at);
                    self.expire(which);
                }
            }
            Due::NotBefore(_) | Due::Never => self.scene.timers.open(),
        }
    }

    fn expire(&mut self, which: Which) {
        let Which { member, kind } = which;
        let timer = P::Timer::ALL[kind];
        match self.scene.people.condition(member) {
            Condition::Up => {
                self.scene.record(|| Event::Expired { member, timer });
                self.step(member, Input::Timer(timer));
            }
            Condition::Paused => self.scene.overdue.push(which),
            Condition::Down => {}
        }
    }

    #[inline(never)]
    fn arrive(&mut self, flight: Flight<P::Message>) {
        if flight.to == EVERYONE {
            self.fan_out(flight);
        } else {
            self.deliver(flight);
        }
    }

    #[inline(always)]
    pub(crate) fn deliver(&mut self, flight: Flight<P::Message>) {
        if self.scene.people.is_untroubled() {
            self.scene.tally.delivered += 1;
            self.hand_over(flight);
        } else {
            self.deliver_in_trouble(flight);
        }
    }

    #[inline(never)]
    fn deliver_in_trouble(&mut self, flight: Flight<P::Message>) {
        let people = &self.scene.people;
        if !people.connected(flight.from, flight.to) {
            self.scene.record_lost(flight.from, Some(flight.to));
            return;
        }
        match people.condition(flight.to) {
            Condition::Up => {
                self.scene.tally.delivered += 1;
                self.hand_over(flight);
            }
            Condition::Paused => self.scene.held.push(flight),
            Condition::Down => self.scene.record_lost(flight.from, Some(flight.to)),
        }
    }

    /// Lets the receiver handle a message, which the caller has counted.
    #[inline(always)]
    fn hand_over(&mut self, flight: Flight<P::Message>) {
        let Flight { to, from, message } = flight;
        self.scene.record(|| Event::Delivered {
            from,
            to,
            message: &message,
        });
        let from = MemberId(u64::from(from));
        self.step(to, Input::Message { from, message });
    }
}

/// The last instant before `at`, which is not the first of all.
#[inline]
fn just_before(at: Instant) -> Instant {
    Instant(at.0 - 1)
}

#[inline]
fn bound(due: Due) -> Instant {
    match due {
        Due::At(at) | Due::NotBefore(at) => at,
        Due::Never => NEVER,
    }
}
