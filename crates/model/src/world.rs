//! The world of given bounds: its states, the actions in each, and the properties of all.

mod history;
mod messages;

use std::fmt::{self, Debug};
use std::sync::atomic::{AtomicU16, Ordering};

use hustings_protocol::MemberId;
use hustings_protocol::tenure::counter::era_of;
use hustings_protocol::tenure::{Ballot, Message, Request, Timer};
use stateright::{Model, Property};

use crate::bounds::Scope;
use crate::interner::{Cache, Interner};
use crate::member::{Member, Sent};
use crate::network::{Addressed, MessageSet, VoterTraffic};
use crate::{Answer, Bounds, Clocks, Coverage, Faults, Sut};

use history::{BegunTenure, Fences};
use messages::{Heard, Voted};

/// The voter that had lost its disk before the run began, if there is one.
const FIRST: MemberId = MemberId(0);

/// All members of a group at one instant, each by its number in the interner.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// All members; voters come first.
    members: Vec<u32>,
    /// The messages that each voter ever received and sent.
    traffic: Vec<VoterTraffic>,
    /// All handovers ever sent.
    handovers: MessageSet,
    tick: u8,
    /// The faults that may still happen.
    left: Faults,
    /// The tenure that began last.
    last: Option<BegunTenure>,
    /// The fences with which tenures began, one bit each.
    begun: u64,
    /// The number of present holders.
    holders: u8,
    fences: Fences,
}

/// An action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Time passes.
    Tick,
    /// A question arrives at a voter, perhaps not for the first time.
    Ask {
        /// The voter's index.
        voter: usize,
        /// The message's number.
        number: u32,
    },
    /// An answer of a voter arrives, perhaps not for the first time.
    Answer {
        /// The voter's index.
        voter: usize,
        /// The message's number.
        number: u32,
    },
    /// The same answer arrives from a majority of voters.
    Carry {
        /// The voters, one bit each.
        voters: u64,
        /// The message's number.
        number: u32,
    },
    /// A handover arrives.
    HandOver(u32),
    /// A timer expires.
    Ring(MemberId, Timer),
    /// A member restarts.
    Restart(MemberId),
    /// A voter loses its disk, is initialised on purpose, and restarts.
    LoseDisk(MemberId),
    /// A nominee is asked to acquire.
    Acquire(MemberId),
    /// A holder releases.
    Release(MemberId),
    /// A holder hands over.
    Transfer(MemberId, MemberId),
    /// A nominee asks for the shorter ttl from now on.
    AskForLess(MemberId),
    /// A voter gets a forged request to promise a counter of another era.
    Forge(MemberId),
}

/// The world of one search.
pub struct World<S> {
    scope: Scope,
    members: Interner<Member<S>>,
    messages: Interner<Addressed>,
    voted: Cache<Heard, Voted>,
    seen: AtomicU16,
}

impl<S: Sut> World<S> {
    /// A world before the first step.
    pub fn new(bounds: Bounds) -> Self {
        Self {
            scope: Scope::new(bounds),
            members: Interner::new(),
            messages: Interner::new(),
            voted: Cache::new(),
            seen: AtomicU16::new(0),
        }
    }

    /// True if this was seen in at least one run.
    pub fn covers(&self, event: Coverage) -> bool {
        self.seen.load(Ordering::Relaxed) & event.bit() != 0
    }

    fn member(&self, state: &State, id: MemberId) -> Member<S> {
        self.members.get(state.members[place(id)])
    }

    /// Lets one member act; `None` if that exceeds the bounds.
    fn act(
        &self,
        state: &mut State,
        id: MemberId,
        act: impl FnOnce(&mut Member<S>) -> Sent,
    ) -> Option<()> {
        let mut member = self.member(state, id);
        for (to, message) in act(&mut member) {
            if !self.is_within_bounds(&message) {
                return None;
            }
            self.post(state, id, to, message);
        }
        let is_within = member.is_within_bounds(&self.scope.bounds);
        state.members[place(id)] = self.members.number(member);
        is_within.then_some(())
    }

    fn is_within_bounds(&self, message: &Message) -> bool {
        let Bounds { counters, proposals, .. } = self.scope.bounds;
        // A voter that lost its disk begins far above: only the low bits count.
        let is_low = |ballot: &Ballot| ballot.counter & u64::from(u32::MAX) <= counters;
        match message {
            Message::Ask { ballot } | Message::Prepare { ballot } => is_low(ballot),
            Message::Propose { number, .. } => *number <= proposals,
            Message::Would { .. } | Message::Promise { .. } | Message::Grant { .. } => true,
            Message::Refusal { .. } | Message::Release { .. } | Message::Handover { .. } => true,
        }
    }

    /// The highest counter that a majority of the voters reports while the disk of `lost` is lost:
    /// of the majority that knows least. Recorded answers arrive before that.
    fn reported_without(&self, state: &State, lost: MemberId) -> Option<u64> {
        let bounds = &self.scope.bounds;
        let number = self.member(state, lost).query_number();
        let voters = bounds.members().filter(|id| bounds.votes(*id));
        let others = voters.clone().filter(|id| *id != lost);
        let told = others.clone().filter_map(|voter| {
            Some(Answer {
                voter,
                asker: lost,
                number,
                promised: self.member(state, voter).promised()?,
            })
        });
        let mut told: Vec<Answer> = told.collect();
        told.sort_unstable_by_key(|answer| answer.promised);
        let recorded = bounds.recorded.filter(|_| lost == FIRST).into_iter();
        let recorded = recorded.flat_map(|promised| {
            others.clone().map(move |voter| Answer { voter, asker: lost, number: 0, promised })
        });
        S::told(lost, voters.collect(), number, recorded.chain(told))
    }

    /// True if every voter is still in the first era.
    fn is_in_its_era(&self, state: &State) -> bool {
        let bounds = &self.scope.bounds;
        let mut voters = bounds.members().filter(|id| bounds.votes(*id));
        voters.all(|id| {
            let promised = self.member(state, id).promised();
            promised.is_none_or(|counter| era_of(counter) == 0)
        })
    }

    /// Sorts the voters into a canonical order, for bounds that are symmetric in them.
    fn sort_voters(&self, state: &mut State) {
        let voters = state.traffic.len();
        let members = state.members[..voters].iter().copied();
        let mut voters_in_order: Vec<(u32, VoterTraffic)> =
            members.zip(state.traffic.iter().copied()).collect();
        voters_in_order.sort_unstable();
        for (at, (member, traffic)) in voters_in_order.into_iter().enumerate() {
            state.members[at] = member;
            state.traffic[at] = traffic;
        }
    }

    fn nominees(&self) -> impl Iterator<Item = MemberId> {
        let members = self.scope.bounds.members();
        members.filter(|id| self.scope.bounds.stands(*id))
    }

    fn apply(&self, state: &mut State, action: Action) -> Option<()> {
        let (tick, scope) = (state.tick, &self.scope);
        match action {
            Action::Tick => {
                state.tick += 1;
                Some(())
            }
            Action::Ask { voter, number } => self.ask(state, voter, number),
            Action::Answer { voter, number } => self.answer(state, voter, number),
            Action::Carry { voters, number } => {
                let mut voters = (0..state.traffic.len()).filter(|at| voters & 1 << at != 0);
                voters.try_for_each(|voter| self.answer(state, voter, number))
            }
            Action::HandOver(number) => self.hand_over(state, number),
            Action::Ring(id, timer) => self.act(state, id, |it| it.ring(id, timer, tick, scope)),
            Action::Restart(id) => {
                let restarts = if scope.bounds.votes(id) {
                    &mut state.left.voter_restarts
                } else {
                    &mut state.left.nominee_restarts
                };
                *restarts -= 1;
                self.restart(state, id, |_| {})
            }
            Action::LoseDisk(id) => {
                state.left.lost_disks -= 1;
                let highest = self.reported_without(state, id)?;
                self.restart(state, id, |member| member.lose_disk(highest, scope))
            }
            Action::Acquire(id) => self.act(state, id, |member| member.acquire(id, tick, scope)),
            Action::Release(id) => {
                state.left.releases -= 1;
                self.act(state, id, |it| it.give_up(id, Request::Release, tick, scope))
            }
            Action::Transfer(id, to) => {
                state.left.transfers -= 1;
                let request = Request::Transfer { to };
                self.act(state, id, |it| it.give_up(id, request, tick, scope))
            }
            Action::Forge(id) => {
                state.left.forgeries -= 1;
                self.forge(state, id)
            }
            Action::AskForLess(id) => self.act(state, id, |member| {
                member.asks_for_less = true;
                Sent::new()
            }),
        }
    }

    fn restart(
        &self,
        state: &mut State,
        id: MemberId,
        meanwhile: impl FnOnce(&mut Member<S>),
    ) -> Option<()> {
        let (tick, scope) = (state.tick, &self.scope);
        state.holders -= u8::from(self.member(state, id).held.is_some());
        self.act(state, id, |member| {
            meanwhile(member);
            member.start(id, tick, scope)
        })
    }
}

impl<S: Sut> Model for World<S> {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let bounds = &self.scope.bounds;
        let member = |id| self.members.number(Member::new(id, &self.scope));
        let mut state = State {
            members: bounds.members().map(member).collect(),
            traffic: vec![VoterTraffic::default(); bounds.voters as usize],
            handovers: MessageSet::default(),
            tick: 0,
            left: bounds.faults,
            last: None,
            begun: 0,
            holders: 0,
            fences: Fences::Rose,
        };
        for id in bounds.members() {
            let started = self.restart(&mut state, id, |_| {});
            started.expect("the first counter is within the bounds");
        }
        vec![state]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let bounds = &self.scope.bounds;
        if state.tick < bounds.ticks {
            actions.push(Action::Tick);
        }
        self.arrivals(state, actions);
        let left = state.left;
        for id in bounds.members() {
            let member = self.member(state, id);
            actions.extend(member.rings().map(|timer| Action::Ring(id, timer)));
            let restarts =
                if bounds.votes(id) { left.voter_restarts } else { left.nominee_restarts };
            if restarts > 0 {
                actions.push(Action::Restart(id));
            }
            if left.lost_disks > 0 && bounds.votes(id) {
                actions.push(Action::LoseDisk(id));
            }
            if left.forgeries > 0 && bounds.votes(id) {
                actions.push(Action::Forge(id));
            }
            if !member.is_asked && bounds.may_begin(id, state.tick) {
                actions.push(Action::Acquire(id));
            }
            if bounds.stands(id) && bounds.shorter_ttl.is_some() && !member.asks_for_less {
                actions.push(Action::AskForLess(id));
            }
            if member.held.is_some() && left.releases > 0 {
                actions.push(Action::Release(id));
            }
            if member.held.is_some() && left.transfers > 0 {
                let heirs = self.nominees().filter(|heir| *heir != id);
                actions.extend(heirs.map(|heir| Action::Transfer(id, heir)));
            }
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        self.apply(&mut state, action)?;
        self.observe(&mut state, action);
        if self.scope.bounds.is_symmetric() {
            self.sort_voters(&mut state);
        }
        (state != *before).then_some(state)
    }

    fn format_action(&self, action: &Action) -> String {
        match action {
            Action::Ask { number, .. }
            | Action::Answer { number, .. }
            | Action::Carry { number, .. } => {
                format!("{action:?}: {:?}", self.messages.get(*number))
            }
            other => format!("{other:?}"),
        }
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let one_fence =
            Property::always("no fence twice", |_, state: &State| state.fences != Fences::Repeated);
        let one_holder =
            Property::always("one holder at a time", |_, state: &State| state.holders <= 1);
        let rise = Property::always("fences rise", |_, state: &State| state.fences != Fences::Fell);
        let mut properties = match self.scope.bounds.clocks {
            Clocks::WithinTheBound => vec![one_fence, one_holder, rise],
            Clocks::BeyondTheBound => vec![one_fence],
        };
        if self.scope.bounds.faults.forgeries > 0 {
            properties.push(Property::always("voters stay in their era", Self::is_in_its_era));
        }
        properties
    }
}

impl<S> Debug for World<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the world of {}", self.scope.bounds.name)
    }
}

/// The index of a member; voters come first.
fn place(id: MemberId) -> usize {
    id.0 as usize
}
