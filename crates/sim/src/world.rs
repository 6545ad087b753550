//! One run: members, messages in flight, timers, and the clock that drives them.
//!
//! At equal times the scenario comes first, then messages in the order of sending, then timers.
//! This order and [`Seeds`] determine a run completely.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hustings_protocol::{
    Candidate, Input, Instant, MAX_KINDS, MemberId, Message, Priority, Simulated, Timer,
};

use crate::in_flight::{EVERYONE, Flight};
use crate::population::{Condition, Population};
use crate::timers::Which;
use crate::wheel::Due;
use crate::world_state::{Buffers, NEVER, Port, ScriptEntry, State};
use crate::{Detection, Event, Network, Scenario, Seeds, Silent, Stream, Trace, Verb};

/// The properties of a world before the first event.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The members' priorities; member `i` is `MemberId(i)`.
    pub priorities: Vec<Priority>,
    /// The network's effect on messages.
    pub network: Network,
    /// The failure detector.
    pub detection: Detection,
    /// The probability that a member's view contains another given member.
    pub view: f64,
}

/// The input for creating a member when it comes up.
#[derive(Debug)]
pub struct Boot<P: Simulated> {
    /// The member's identity and priority.
    pub me: Candidate,
    /// The last state that the member saved; `None` if it lost that state or never saved any.
    pub saved: Option<P::Durable>,
}

/// The reason why a run stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Halt {
    /// No message, timer or scenario line is left.
    Quiet,
    /// The time limit was reached.
    Limit,
}

/// The number of messages sent, by kind. Lost messages count; a multicast counts once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Unicasts by kind.
    pub unicasts: [u64; MAX_KINDS],
    /// Multicasts by kind.
    pub multicasts: [u64; MAX_KINDS],
    /// Messages that a receiver handled. The world may skip multicasts that a member ignores; those
    /// do not count.
    pub delivered: u64,
    /// The greatest round that any member reported.
    pub rounds: u32,
}

impl Tally {
    /// The number of all messages sent.
    pub fn sent(&self) -> u64 {
        self.unicasts.iter().chain(&self.multicasts).sum()
    }
}

/// The memory of a world that has ended. Allocating the memory of a million members and messages
/// anew in every run would take longer than the run.
pub struct Scratch<P: Simulated> {
    members: Vec<P>,
    buffers: Buffers<P::Message>,
}

impl<P: Simulated> Default for Scratch<P> {
    fn default() -> Self {
        Self { members: Vec::new(), buffers: Buffers::default() }
    }
}

/// The memory of runs that have ended: as many pieces as there were runs at one time.
pub struct Memory<P: Simulated>(Mutex<Vec<Scratch<P>>>);

impl<P: Simulated> Default for Memory<P> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<P: Simulated> Memory<P> {
    /// Takes a piece, or an empty one.
    pub fn take(&self) -> Scratch<P> {
        self.pieces().pop().unwrap_or_default()
    }

    /// Gives a piece back for later runs.
    pub fn give_back(&self, scratch: Scratch<P>) {
        self.pieces().push(scratch);
    }

    fn pieces(&self) -> MutexGuard<'_, Vec<Scratch<P>>> {
        // Emptied memory is good memory, whatever happened to the run that left it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One run.
pub struct World<P: Simulated, T: Trace<P> = Silent> {
    pub(crate) members: Vec<P>,
    pub(crate) state: State<P, T>,
    pub(crate) make: Box<dyn FnMut(Boot<P>) -> P>,
}

impl<P: Simulated> World<P> {
    /// Creates a world before its first event, without a trace.
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

impl<P: Simulated, T: Trace<P>> World<P, T> {
    /// Creates a world before its first event, recorded by `trace`.
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

    /// As [`World::traced`], in the memory that another world left.
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
        let count = setup.priorities.len();
        assert!((1..EVERYONE as usize).contains(&count), "a group has 1 to 2^32 - 2 members");
        assert_eq!(setup.network.check(), Ok(()), "the network must be possible");
        assert!(P::Message::KINDS.len() <= MAX_KINDS, "too many kinds of message to count");
        let people = Population::new(setup.priorities, setup.view, seeds.number(Stream::Views));
        let boot = |member| Boot { me: people.candidate(member), saved: None };
        let Scratch { mut members, buffers } = scratch;
        members.extend((0..count as u32).map(|member| make(boot(member))));
        let Setup { network, detection, .. } = setup;
        let state = State::new(people, config, network, detection, seeds, buffers, trace);
        Self { members, state, make: Box::new(make) }
    }

    /// Starts `member` now, if it is up.
    pub fn start(&mut self, member: u32) {
        if P::SELECTIVE {
            self.state.interest = None;
        }
        if self.state.people.condition(member) == Condition::Up {
            self.state.record(|| Event::Started { member });
            self.step(member, Input::Start);
        }
    }

    /// Submits `request` to `member` now, if it is up.
    pub fn request(&mut self, member: u32, request: P::Request) {
        if self.state.people.condition(member) == Condition::Up {
            self.step(member, Input::Request(request));
        }
    }

    /// Delivers a message to `member` now, if it is up, as if it came from `from`. For old or
    /// forged messages.
    pub fn hand(&mut self, from: u32, member: u32, message: P::Message) {
        if self.state.people.condition(member) == Condition::Up {
            let to = member;
            self.hand_over(Flight { to, from, message });
        }
    }

    /// Adds a scenario's lines to the script.
    ///
    /// # Panics
    /// If a line names a member that does not exist; see [`Scenario::check`].
    pub fn follow(&mut self, scenario: &Scenario) {
        for (at, verb) in scenario.lines() {
            self.schedule(*at, verb.clone());
        }
    }

    /// Adds one verb to the script. A time in the past means now.
    pub fn schedule(&mut self, at: Instant, verb: Verb) {
        self.state.enter(at, ScriptEntry::Verb(verb));
    }

    /// Runs until no event is left or `limit` has passed.
    pub fn run_until(&mut self, limit: Instant) -> Halt {
        loop {
            let lane = self.state.in_flight.lane_due().unwrap_or(NEVER);
            let spread = bound(self.state.in_flight.spread_due());
            let timers = bound(self.state.timers.due());
            let script = self.state.script_due;
            let next = lane.min(spread).min(timers).min(script);
            if next == NEVER {
                return Halt::Quiet;
            }
            if next > limit {
                self.state.advance(limit);
                return Halt::Limit;
            }
            // Scenario lines precede the messages of their time, messages precede timers.
            if script == next {
                self.state.advance(next);
                self.run_script();
                continue;
            }
            let before_script = just_before(script).min(limit);
            self.state.horizon = timers.min(before_script);
            if lane == next {
                self.serve_lane();
            } else if spread == next {
                self.serve_spread();
            } else {
                let before_messages = just_before(lane.min(spread));
                self.serve_timers(before_script.min(before_messages));
            }
        }
    }

    /// Delivers the messages of the lane that arrive up to the horizon, the time of the next other
    /// event.
    #[inline]
    fn serve_lane(&mut self) {
        while let Some(at) = self.state.in_flight.lane_due() {
            if at > self.state.horizon {
                return;
            }
            self.state.advance(at);
            // Messages that these ones cause come after them, so neither condition changes
            // meanwhile.
            if self.state.people.is_fault_free() && self.state.in_flight.multicasts == 0 {
                self.serve_common_case();
            } else {
                self.serve_any_case();
            }
        }
    }

    /// Delivers the messages of the lane that arrive now. All of them are unicasts to members that
    /// are up and reachable. Separate from the other case, so that the loop state stays in
    /// registers.
    #[inline(always)]
    fn serve_common_case(&mut self) {
        if let Some(flight) = self.state.in_flight.pop_lone() {
            self.state.tally.delivered += 1;
            self.hand_over(flight);
            return;
        }
        self.serve_batch();
    }

    /// Separate from the lone message's path, so that each loop has the registers to itself.
    #[inline(never)]
    fn serve_batch(&mut self) {
        let mut flights = self.state.in_flight.pop_lane();
        self.state.tally.delivered += flights.len() as u64;
        for flight in flights.drain(..) {
            self.hand_over(flight);
        }
        self.state.in_flight.reuse(flights);
    }

    #[inline(never)]
    fn serve_any_case(&mut self) {
        if let Some(flight) = self.state.in_flight.pop_lone() {
            self.arrive(flight);
            return;
        }
        let mut flights = self.state.in_flight.pop_lane();
        for flight in flights.drain(..) {
            self.arrive(flight);
        }
        self.state.in_flight.reuse(flights);
    }

    /// Updates the views to show which members are up and connected, without emitting
    /// `Input::ViewChanged`.
    pub fn see(&mut self) {
        self.state.people.see();
    }

    /// The members' states, by index.
    pub fn members(&self) -> &[P] {
        &self.members
    }

    /// The members' states, mutable, for example to take their pending output.
    pub fn members_mut(&mut self) -> &mut [P] {
        &mut self.members
    }

    /// The nominee of `member`, and the time since which it has been the nominee.
    pub fn nominee(&self, member: u32) -> Option<(MemberId, Instant)> {
        let nominee = self.state.nominees[member as usize].checked_sub(1)?;
        Some((MemberId(u64::from(nominee)), self.state.named_at[member as usize]))
    }

    /// True if `member` is not down. A paused member is up: it does not know that it is paused.
    pub fn is_up(&self, member: u32) -> bool {
        self.state.people.condition(member) != Condition::Down
    }

    /// The candidate at index `member`.
    pub fn candidate(&self, member: u32) -> Candidate {
        self.state.people.candidate(member)
    }

    /// The number of members, up or down.
    pub fn len(&self) -> u32 {
        self.members.len() as u32
    }

    /// Always false: a world has members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The time of the current event, or of the last one.
    pub fn now(&self) -> Instant {
        self.state.now
    }

    /// The message counts up to now.
    pub fn tally(&self) -> &Tally {
        &self.state.tally
    }

    /// The trace up to now.
    pub fn trace(&self) -> &T {
        &self.state.trace
    }

    /// The trace up to now, mutable.
    pub fn trace_mut(&mut self) -> &mut T {
        &mut self.state.trace
    }

    /// Ends the world and returns its trace.
    pub fn into_trace(self) -> T {
        self.retire().0
    }

    /// Ends the world; returns its trace, and its memory for the next world.
    pub fn retire(self) -> (T, Scratch<P>) {
        let mut members = self.members;
        members.clear();
        let (trace, buffers) = self.state.retire();
        (trace, Scratch { members, buffers })
    }

    #[inline(always)]
    pub(crate) fn step(&mut self, member: u32, input: Input<P>) {
        let mut port = Port { state: &mut self.state, member };
        self.members[member as usize].step(input, &mut port);
    }

    /// As `serve_lane`, for messages that have individual delays. The lane is empty in that case.
    #[inline]
    fn serve_spread(&mut self) {
        loop {
            match self.state.in_flight.spread_due() {
                Due::At(at) if at <= self.state.horizon => {
                    self.state.advance(at);
                    if let Some(flight) = self.state.in_flight.pop_spread() {
                        self.deliver(flight);
                    }
                }
                Due::NotBefore(at) if at <= self.state.horizon => self.state.in_flight.open(),
                Due::At(_) | Due::NotBefore(_) | Due::Never => return,
            }
        }
    }

    /// Advances towards the next timer, and expires it if its deadline is not after `horizon`.
    #[inline]
    fn serve_timers(&mut self, horizon: Instant) {
        match self.state.timers.due() {
            Due::At(_) => {
                if let Some((at, which)) = self.state.timers.expire(horizon) {
                    self.state.advance(at);
                    self.expire(which);
                }
            }
            Due::NotBefore(_) | Due::Never => self.state.timers.open(),
        }
    }

    fn expire(&mut self, which: Which) {
        let Which { member, kind } = which;
        let timer = P::Timer::ALL[kind];
        match self.state.people.condition(member) {
            Condition::Up => {
                self.state.record(|| Event::Expired { member, timer });
                self.step(member, Input::Timer(timer));
            }
            Condition::Paused => self.state.overdue.push(which),
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
        if self.state.people.is_fault_free() {
            self.state.tally.delivered += 1;
            self.hand_over(flight);
        } else {
            self.deliver_despite_faults(flight);
        }
    }

    #[inline(never)]
    fn deliver_despite_faults(&mut self, flight: Flight<P::Message>) {
        let people = &self.state.people;
        if !people.connected(flight.from, flight.to) {
            self.state.record_lost(flight.from, Some(flight.to));
            return;
        }
        match people.condition(flight.to) {
            Condition::Up => {
                self.state.tally.delivered += 1;
                self.hand_over(flight);
            }
            Condition::Paused => self.state.held.push(flight),
            Condition::Down => self.state.record_lost(flight.from, Some(flight.to)),
        }
    }

    /// Passes a message to its receiver. The caller has counted it.
    #[inline(always)]
    fn hand_over(&mut self, flight: Flight<P::Message>) {
        let Flight { to, from, message } = flight;
        self.state.record(|| Event::Delivered { from, to, message: &message });
        let from = MemberId(u64::from(from));
        self.step(to, Input::Message { from, message });
    }
}

/// The last instant before `at`, which must not be the first instant.
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
