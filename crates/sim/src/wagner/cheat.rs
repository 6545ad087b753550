//! Cheating by a segment of neighbours: the paper's list of faults, by members that share all
//! knowledge.
//!
//! Apart from the fault, they keep the timing of honest members, follow the draw as honest members
//! do, and pass on flips and fault messages.

mod policy;
mod scheme;

use std::sync::Arc;

use hustings_protocol::MemberId;
use hustings_protocol::mix64::fit;
use hustings_protocol::wagner::fault::Side;
use hustings_protocol::wagner::flips::{Flip, Places};
use hustings_protocol::wagner::leader::{Leader, Next};
use hustings_protocol::wagner::{Message, Ring};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Setting;
pub use scheme::{Aim, NoScheme, Scheme};

/// A type of fault, by the paper's names. All faults except those of chosen flips happen in the
/// first Basic round.
#[derive(Debug, Clone, PartialEq)]
pub enum Cheat {
    /// Deterministic Flip: the cheaters see as many flips as they can before they choose the last
    /// of their own, and choose it so that a cheater is elected. Up to `segment::largest`
    /// cheaters gain nothing by it; one more controls the coin.
    DeterministicFlip,
    /// Initiate Inconsistent Message: heads to one side, and tails to the other.
    InconsistentMessage,
    /// Change Message: a flip that is passed on to one side is inverted.
    ChangeMessage,
    /// Broken Ring: from some message on there is silence, on one side or both.
    BrokenRing,
    /// Fault Message: one side gets a fault message although there is no fault.
    FaultMessage,
    /// No Fault message: an inconsistent message without a fault message. Fault messages of others
    /// are not passed on.
    NoFaultMessage,
    /// Simulate Processor: they pretend to be one more than they are.
    SimulateProcessor,
    /// StaleMate: they flip as their neighbours do, so that all active members flip alike for ever,
    /// if possible.
    StaleMate,
    /// Deterministic Flip or StaleMate by the optimal flips.
    Best(Arc<Scheme>),
}

/// Neighbours that cheat together.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// The type of fault.
    pub cheat: Cheat,
    /// The position of the first of them.
    pub from: u32,
    /// The position of the last, clockwise of the first, or the same.
    pub to: u32,
}

impl Segment {
    /// The number of cheaters on a ring of `members`.
    pub fn len(&self, members: u32) -> u32 {
        (self.to + members - self.from) % members + 1
    }

    /// True if `place` is in the segment.
    pub fn holds(&self, place: u32, members: u32) -> bool {
        (place + members - self.from) % members < self.len(members)
    }

    /// True if the segment is on a ring of `members` and leaves two others or more, each with a
    /// neighbour that cheats.
    pub fn fits(&self, members: u32) -> bool {
        self.from < members && self.to < members && self.len(members) + 2 <= members
    }
}

/// The knowledge and the plan of a segment.
#[derive(Debug, Clone)]
pub struct Plot {
    segment: Segment,
    setting: Setting,
    /// The number of cheaters.
    cheaters: u32,
    leader: Leader,
    round: u32,
    /// The left and the right end, in the present round.
    ends: [SegmentEnd; 2],
    /// Their own flips, from left to right, chosen or not; one for each member that they pretend to
    /// be.
    own: Vec<Option<Flip>>,
    /// The number of messages that may go to the left and to the right before all of their flips
    /// are chosen.
    ahead: [u32; 2],
    /// The plan, once it is drawn.
    plan: Option<Plan>,
    is_over: bool,
    said: Vec<(Side, Message)>,
}

/// One end of the segment.
#[derive(Debug, Clone, Default)]
struct SegmentEnd {
    heard: Vec<Message>,
    /// Messages that belong to the next round.
    early: Vec<Message>,
    said: u32,
    fault_is_known: bool,
}

/// The cheaters' plan. It has random numbers of its own, separate from the coins that they flip as
/// members.
#[derive(Debug, Clone)]
struct Plan {
    fault_place: FaultPlace,
    /// The coins of the pretended member.
    pretended: Xoshiro256PlusPlus,
}

/// The place of a fault that happens once.
#[derive(Debug, Clone, Copy)]
struct FaultPlace {
    side: Side,
    both: bool,
    /// The number of the message, from 1 on.
    slot: u32,
}

impl Plot {
    pub(super) fn new(segment: Segment, setting: &Setting) -> Self {
        let members = setting.members;
        assert!(segment.fits(members), "{segment:?} on a ring of {members}");
        let cheaters = segment.len(members);
        let pretended = cheaters + u32::from(segment.cheat == Cheat::SimulateProcessor);
        Self {
            segment,
            setting: setting.clone(),
            cheaters,
            leader: Leader::selecting(members, setting.honest.selection),
            round: 1,
            ends: Default::default(),
            own: vec![None; pretended as usize],
            ahead: [0, 0],
            plan: None,
            is_over: false,
            said: Vec::new(),
        }
    }

    /// Begins the draw. If there is no plan yet, draws it now.
    pub(super) fn begin(&mut self, rng: &mut impl Rng) {
        if self.plan.is_none() {
            self.plan(rng);
        }
        self.begin_round(rng);
    }

    /// Handles a message from a neighbour.
    pub(super) fn hear(&mut self, side: Side, message: Message, rng: &mut impl Rng) {
        if message == Message::Fault {
            self.hear_of_fault(side);
            return;
        }
        if self.is_over {
            return;
        }
        let members = self.setting.members as usize;
        let port = self.port_mut(side);
        if port.heard.len() < members {
            port.heard.push(message);
        } else {
            port.early.push(message);
        }
        self.act(rng);
    }

    /// The messages to send, in order.
    pub(super) fn take_said(&mut self) -> Vec<(Side, Message)> {
        std::mem::take(&mut self.said)
    }

    /// The member that they have seen elected.
    pub(super) fn elected(&self) -> Option<MemberId> {
        let mut active = self.leader.active().iter();
        let (first, second) = (active.next()?, active.next());
        second.is_none().then(|| MemberId(first.into()))
    }

    pub(super) fn left_neighbour(&self) -> MemberId {
        let members = self.setting.members;
        MemberId(u64::from((self.segment.from + members - 1) % members))
    }

    pub(super) fn right_neighbour(&self) -> MemberId {
        MemberId(u64::from((self.segment.to + 1) % self.setting.members))
    }

    /// The right end of the segment, if it is a different member than the left end.
    pub(super) fn mouth(&self) -> Option<MemberId> {
        (self.cheaters > 1).then(|| MemberId(self.segment.to.into()))
    }

    /// Draws the plan.
    pub(super) fn plan(&mut self, rng: &mut impl Rng) {
        let members = u64::from(self.setting.members);
        let side = match rng.next_u64() >> 63 {
            0 => Side::Left,
            _ => Side::Right,
        };
        let both = rng.next_u64() >> 63 == 1;
        let (first, last) = match self.segment.cheat {
            // One of their own flips, among the first that the neighbour gets; these are not the
            // last that the other neighbour gets.
            Cheat::InconsistentMessage | Cheat::NoFaultMessage => (1, u64::from(self.cheaters)),
            Cheat::ChangeMessage => (u64::from(self.cheaters) + 1, members),
            _ => (1, members),
        };
        let span = last - first + 1;
        let slot = first + fit(rng.next_u64(), span);
        let fault_place = FaultPlace { side, both, slot: slot as u32 };
        let pretended = Xoshiro256PlusPlus::seed_from_u64(match self.segment.cheat {
            Cheat::SimulateProcessor => rng.next_u64(),
            _ => 0, // there is no pretended member
        });
        self.plan = Some(Plan { fault_place, pretended });
    }

    fn begin_round(&mut self, rng: &mut impl Rng) {
        self.own.fill(None);
        self.ahead = [0, 0];
        for port in &mut self.ends {
            port.heard.clear();
            port.heard.append(&mut port.early);
            port.said = 0;
        }
        self.act(rng);
    }

    /// Chooses, sends and concludes, as long as there is anything to do.
    fn act(&mut self, rng: &mut impl Rng) {
        self.choose(rng);
        while self.speak_up(Side::Left) | self.speak_up(Side::Right) {}
        let members = self.setting.members;
        let mut ends = self.ends.iter();
        if ends.all(|port| port.heard.len() as u32 == members && port.said == members) {
            self.conclude(rng);
        }
    }

    /// Sends the next message to `side`, if it is due. Returns true if it did.
    fn speak_up(&mut self, side: Side) -> bool {
        if self.is_over {
            return false;
        }
        let slot = self.port(side).said + 1;
        if slot > self.setting.members || slot > self.due(side) {
            return false;
        }
        let Some(message) = self.message(side, slot) else {
            return false;
        };
        match self.segment.cheat {
            Cheat::BrokenRing if self.is_struck(side, slot) => {
                self.is_over = true; // silent: nothing passes in either direction
                return false;
            }
            Cheat::FaultMessage if self.is_struck(side, slot) => {
                self.is_over = true;
                self.warn(side);
                return false;
            }
            _ => {}
        }
        self.port_mut(side).said = slot;
        self.said.push((side, message));
        true
    }

    /// The number of messages that an honest member would have sent to `side` by now. Before all
    /// flips are chosen, the number in `ahead`.
    fn due(&self, side: Side) -> u32 {
        let [left, right] = Side::BOTH.map(|side| self.port(side).heard.len() as u32);
        let due = match (self.setting.honest.ring, side) {
            (Ring::BothWays, Side::Left | Side::Right) | (Ring::Clockwise, Side::Right) => {
                left.min(right) + 1
            }
            (Ring::Clockwise, Side::Left) => left.min(right + 1),
        };
        if self.has_chosen() { due } else { self.ahead[side as usize] }
    }

    /// Message number `slot` to `side`, if it is known by now.
    fn message(&self, side: Side, slot: u32) -> Option<Message> {
        let members = self.setting.members;
        let is_struck = self.is_struck(side, slot);
        let pretended = self.own.len() as u32;
        if slot > pretended {
            let heard = &self.port(side.opposite()).heard;
            let number = slot - pretended;
            return heard.get(number as usize - 1).map(|message| match message {
                Message::Flip(flip) if is_struck => Message::Flip(flip.other()),
                Message::Flip(_) | Message::Withheld | Message::Fault => *message,
            });
        }
        let at = match side {
            Side::Left => slot - 1,
            Side::Right => pretended - slot,
        };
        if self.is_withheld(side, (self.segment.from + at) % members) {
            return Some(Message::Withheld);
        }
        let flip = self.own[at as usize]?;
        Some(Message::Flip(if is_struck { flip.other() } else { flip }))
    }

    /// True if the single fault happens here.
    fn is_struck(&self, side: Side, slot: u32) -> bool {
        let Some(Plan { fault_place, .. }) = &self.plan else {
            return false;
        };
        let FaultPlace { side: struck, both, slot: at } = *fault_place;
        let here = side == struck && slot == at;
        self.round == 1
            && match self.segment.cheat {
                Cheat::InconsistentMessage | Cheat::NoFaultMessage | Cheat::ChangeMessage => here,
                Cheat::FaultMessage => here,
                Cheat::BrokenRing => slot == at && (both || side == struck),
                Cheat::DeterministicFlip | Cheat::StaleMate | Cheat::Best(_) => false,
                Cheat::SimulateProcessor => false,
            }
    }

    /// True if the flip of the member at `of` does not go to `side`, because the two active members
    /// are neighbours.
    fn is_withheld(&self, side: Side, of: u32) -> bool {
        self.leader.neighbours().is_some_and(|first| match side {
            Side::Right => of == first,
            Side::Left => of == (first + 1) % self.setting.members,
        })
    }

    fn conclude(&mut self, rng: &mut impl Rng) {
        let heads = self.heads();
        let config = &self.setting.honest;
        match self.leader.take(&heads, config.compare, config.stall_limit) {
            Next::Round => {
                self.round += 1;
                self.begin_round(rng);
            }
            Next::Elected(_) | Next::Stalled => self.is_over = true,
        }
    }

    /// The members that flipped heads, as far as the cheaters know.
    fn heads(&self) -> Places {
        let mut heads = Places::none(self.setting.members);
        for place in 0..self.setting.members {
            heads.put(place, self.flip_of(place) == Some(Flip::Heads));
        }
        heads
    }

    /// The flip of the member at `place`, as far as the cheaters know it by now.
    fn flip_of(&self, place: u32) -> Option<Flip> {
        let members = self.setting.members;
        let inside = (place + members - self.segment.from) % members;
        if inside < self.cheaters {
            return self.own[inside as usize];
        }
        let from_left = (self.segment.from + members - place) % members;
        let from_right = (place + members - self.segment.to) % members;
        let heard = |port: &SegmentEnd, number: u32| match port.heard.get(number as usize - 1) {
            Some(Message::Flip(flip)) => Some(*flip),
            Some(Message::Withheld | Message::Fault) | None => None,
        };
        let [left, right] = &self.ends;
        heard(left, from_left).or_else(|| heard(right, from_right))
    }

    fn hear_of_fault(&mut self, side: Side) {
        self.is_over = true;
        self.port_mut(side).fault_is_known = true;
        if !matches!(self.segment.cheat, Cheat::NoFaultMessage | Cheat::BrokenRing) {
            self.warn(side.opposite());
        }
    }

    fn warn(&mut self, side: Side) {
        if !std::mem::replace(&mut self.port_mut(side).fault_is_known, true) {
            self.said.push((side, Message::Fault));
        }
    }

    fn port(&self, side: Side) -> &SegmentEnd {
        &self.ends[side as usize]
    }

    fn port_mut(&mut self, side: Side) -> &mut SegmentEnd {
        &mut self.ends[side as usize]
    }
}
