//! The world of given bounds: its states, the actions in each, and the properties of all.

mod history;
mod talk;

use std::fmt::{self, Debug};
use std::sync::atomic::{AtomicU16, Ordering};

use hustings_protocol::MemberId;
use hustings_protocol::tenure::counter::era_of;
use hustings_protocol::tenure::{Ballot, Message, Request, Timer};
use stateright::{Model, Property};

use crate::mail::{Correspondence, Letter, Mail};
use crate::memory::Memory;
use crate::registry::Registry;
use crate::seat::{Seat, Sent};
use crate::setting::Stage;
use crate::{Answer, Clocks, Faults, Setting, Sight, Subject};

use history::{Fences, Tenancy};
use talk::{Heard, Voted};

/// The voter that had lost its disk before the run began, if there is one.
const FIRST: MemberId = MemberId(0);

/// All members of a group at one instant, each by its number in the interner.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// All members; voters come first.
    seats: Vec<u32>,
    /// The messages that each voter ever received and sent.
    mail: Vec<Correspondence>,
    /// All handovers ever sent.
    handovers: Mail,
    tick: u8,
    /// The faults that may still happen.
    left: Faults,
    /// The tenure that began last.
    last: Option<Tenancy>,
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
        letter: u32,
    },
    /// An answer of a voter arrives, perhaps not for the first time.
    Answer {
        /// The voter's index.
        voter: usize,
        /// The message's number.
        letter: u32,
    },
    /// The same answer arrives from a majority of voters.
    Carry {
        /// The voters, one bit each.
        voters: u64,
        /// The message's number.
        letter: u32,
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
    stage: Stage,
    seats: Registry<Seat<S>>,
    letters: Registry<Letter>,
    voted: Memory<Heard, Voted>,
    seen: AtomicU16,
}

impl<S: Subject> World<S> {
    /// A world before the first step.
    pub fn new(setting: Setting) -> Self {
        Self {
            stage: Stage::new(setting),
            seats: Registry::new(),
            letters: Registry::new(),
            voted: Memory::new(),
            seen: AtomicU16::new(0),
        }
    }

    /// True if this was seen in at least one run.
    pub fn has_seen(&self, sight: Sight) -> bool {
        self.seen.load(Ordering::Relaxed) & sight.bit() != 0
    }

    fn seat(&self, state: &State, id: MemberId) -> Seat<S> {
        self.seats.get(state.seats[place(id)])
    }

    /// Lets one member act; `None` if that exceeds the bounds.
    fn act(
        &self,
        state: &mut State,
        id: MemberId,
        act: impl FnOnce(&mut Seat<S>) -> Sent,
    ) -> Option<()> {
        let mut seat = self.seat(state, id);
        for (to, message) in act(&mut seat) {
            if !self.is_within_bounds(&message) {
                return None;
            }
            self.post(state, id, to, message);
        }
        let is_within = seat.is_within_bounds(&self.stage.setting);
        state.seats[place(id)] = self.seats.number(seat);
        is_within.then_some(())
    }

    fn is_within_bounds(&self, message: &Message) -> bool {
        let Setting { counters, proposals, .. } = self.stage.setting;
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
        let setting = &self.stage.setting;
        let number = self.seat(state, lost).query_number();
        let voters = setting.members().filter(|id| setting.votes(*id));
        let others = voters.clone().filter(|id| *id != lost);
        let told = others.clone().filter_map(|voter| {
            Some(Answer {
                voter,
                asker: lost,
                number,
                promised: self.seat(state, voter).promised()?,
            })
        });
        let mut told: Vec<Answer> = told.collect();
        told.sort_unstable_by_key(|answer| answer.promised);
        let recorded = setting.recorded.filter(|_| lost == FIRST).into_iter();
        let recorded = recorded.flat_map(|promised| {
            others.clone().map(move |voter| Answer { voter, asker: lost, number: 0, promised })
        });
        S::told(lost, voters.collect(), number, recorded.chain(told))
    }

    /// True if every voter is still in the first era.
    fn is_in_its_era(&self, state: &State) -> bool {
        let setting = &self.stage.setting;
        let mut voters = setting.members().filter(|id| setting.votes(*id));
        voters.all(|id| {
            let promised = self.seat(state, id).promised();
            promised.is_none_or(|counter| era_of(counter) == 0)
        })
    }

    /// Sorts the voters into a canonical order, for bounds that are symmetric in them.
    fn sort_voters(&self, state: &mut State) {
        let voters = state.mail.len();
        let seats = state.seats[..voters].iter().copied();
        let mut booths: Vec<(u32, Correspondence)> =
            seats.zip(state.mail.iter().copied()).collect();
        booths.sort_unstable();
        for (at, (seat, mail)) in booths.into_iter().enumerate() {
            state.seats[at] = seat;
            state.mail[at] = mail;
        }
    }

    fn nominees(&self) -> impl Iterator<Item = MemberId> {
        let members = self.stage.setting.members();
        members.filter(|id| self.stage.setting.stands(*id))
    }

    fn happen(&self, state: &mut State, action: Action) -> Option<()> {
        let (tick, stage) = (state.tick, &self.stage);
        match action {
            Action::Tick => {
                state.tick += 1;
                Some(())
            }
            Action::Ask { voter, letter } => self.ask(state, voter, letter),
            Action::Answer { voter, letter } => self.answer(state, voter, letter),
            Action::Carry { voters, letter } => {
                let mut voters = (0..state.mail.len()).filter(|at| voters & 1 << at != 0);
                voters.try_for_each(|voter| self.answer(state, voter, letter))
            }
            Action::HandOver(letter) => self.hand_over(state, letter),
            Action::Ring(id, timer) => self.act(state, id, |it| it.ring(id, timer, tick, stage)),
            Action::Restart(id) => {
                let restarts = if stage.setting.votes(id) {
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
                self.restart(state, id, |seat| seat.lose_disk(highest, stage))
            }
            Action::Acquire(id) => self.act(state, id, |seat| seat.acquire(id, tick, stage)),
            Action::Release(id) => {
                state.left.releases -= 1;
                self.act(state, id, |it| it.give_up(id, Request::Release, tick, stage))
            }
            Action::Transfer(id, to) => {
                state.left.transfers -= 1;
                let request = Request::Transfer { to };
                self.act(state, id, |it| it.give_up(id, request, tick, stage))
            }
            Action::Forge(id) => {
                state.left.forgeries -= 1;
                self.forge(state, id)
            }
            Action::AskForLess(id) => self.act(state, id, |seat| {
                seat.asks_for_less = true;
                Sent::new()
            }),
        }
    }

    fn restart(
        &self,
        state: &mut State,
        id: MemberId,
        meanwhile: impl FnOnce(&mut Seat<S>),
    ) -> Option<()> {
        let (tick, stage) = (state.tick, &self.stage);
        state.holders -= u8::from(self.seat(state, id).held.is_some());
        self.act(state, id, |seat| {
            meanwhile(seat);
            seat.start(id, tick, stage)
        })
    }
}

impl<S: Subject> Model for World<S> {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let setting = &self.stage.setting;
        let seat = |id| self.seats.number(Seat::new(id, &self.stage));
        let mut state = State {
            seats: setting.members().map(seat).collect(),
            mail: vec![Correspondence::default(); setting.voters as usize],
            handovers: Mail::default(),
            tick: 0,
            left: setting.faults,
            last: None,
            begun: 0,
            holders: 0,
            fences: Fences::Rose,
        };
        for id in setting.members() {
            let started = self.restart(&mut state, id, |_| {});
            started.expect("the first counter is within the bounds");
        }
        vec![state]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let setting = &self.stage.setting;
        if state.tick < setting.ticks {
            actions.push(Action::Tick);
        }
        self.arrivals(state, actions);
        let left = state.left;
        for id in setting.members() {
            let seat = self.seat(state, id);
            actions.extend(seat.rings().map(|timer| Action::Ring(id, timer)));
            let restarts =
                if setting.votes(id) { left.voter_restarts } else { left.nominee_restarts };
            if restarts > 0 {
                actions.push(Action::Restart(id));
            }
            if left.lost_disks > 0 && setting.votes(id) {
                actions.push(Action::LoseDisk(id));
            }
            if left.forgeries > 0 && setting.votes(id) {
                actions.push(Action::Forge(id));
            }
            if !seat.is_asked && setting.may_begin(id, state.tick) {
                actions.push(Action::Acquire(id));
            }
            if setting.stands(id) && setting.shorter_ttl.is_some() && !seat.asks_for_less {
                actions.push(Action::AskForLess(id));
            }
            if seat.held.is_some() && left.releases > 0 {
                actions.push(Action::Release(id));
            }
            if seat.held.is_some() && left.transfers > 0 {
                let heirs = self.nominees().filter(|heir| *heir != id);
                actions.extend(heirs.map(|heir| Action::Transfer(id, heir)));
            }
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        self.happen(&mut state, action)?;
        self.observe(&mut state, action);
        if self.stage.setting.is_symmetric() {
            self.sort_voters(&mut state);
        }
        (state != *before).then_some(state)
    }

    fn format_action(&self, action: &Action) -> String {
        match action {
            Action::Ask { letter, .. }
            | Action::Answer { letter, .. }
            | Action::Carry { letter, .. } => {
                format!("{action:?}: {:?}", self.letters.get(*letter))
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
        let mut properties = match self.stage.setting.clocks {
            Clocks::WithinTheBound => vec![one_fence, one_holder, rise],
            Clocks::BeyondTheBound => vec![one_fence],
        };
        if self.stage.setting.faults.forgeries > 0 {
            properties.push(Property::always("voters stay in their era", Self::is_in_its_era));
        }
        properties
    }
}

impl<S> Debug for World<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the world of {}", self.stage.setting.name)
    }
}

/// The index of a member; voters come first.
fn place(id: MemberId) -> usize {
    id.0 as usize
}
