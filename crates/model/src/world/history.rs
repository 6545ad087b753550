//! The history of tenure in a run: after each action, the member that holds tenure and whether
//! fences rose. The safety properties read it. It also marks which situations the search has
//! covered.

use std::sync::atomic::Ordering;

use hustings_protocol::tenure::Message;
use hustings_protocol::{Fence, MemberId};

use super::{Action, State, World, place};
use crate::member::clock;
use crate::{Coverage, Sut};

/// A tenure that began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct BegunTenure {
    fence: Fence,
    holder: MemberId,
}

/// The order of the fences up to now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Fences {
    Rose,
    /// Two tenures began with the same fence.
    Repeated,
    /// A later tenure began with a lower fence.
    Fell,
}

impl<S: Sut> World<S> {
    /// Records the tenures that begin and end.
    pub(super) fn observe(&self, state: &mut State, action: Action) {
        for id in self.nominees() {
            let mut member = self.member(state, id);
            let holds = member.tenure.holds(clock(id, state.tick, &self.scope));
            if holds == member.held {
                continue;
            }
            let before = member.held.map(|held| held.fence);
            match holds.map(|holds| holds.fence) {
                Some(fence) if before == Some(fence) => self.note_renewal(fence, action),
                Some(fence) => self.begin(state, BegunTenure { fence, holder: id }),
                None => {}
            }
            state.holders += u8::from(holds.is_some());
            state.holders -= u8::from(before.is_some());
            member.held = holds;
            state.members[place(id)] = self.members.number(member);
        }
    }

    fn begin(&self, state: &mut State, tenure: BegunTenure) {
        self.note(Coverage::Gained);
        let begun = state.begun | fence_bit(tenure.fence);
        let is_new = std::mem::replace(&mut state.begun, begun) != begun;
        let Some(last) = state.last.replace(tenure) else {
            return;
        };
        if !is_new {
            state.fences = Fences::Repeated;
        } else if tenure.fence < last.fence {
            state.fences = Fences::Fell;
        }
        let is_same = tenure.holder == last.holder;
        let (left, all) = (state.left, self.scope.bounds.faults);
        for (event, is_seen) in [
            (Coverage::Again, is_same),
            (Coverage::TakenOver, !is_same),
            (Coverage::AfterCrash, left.nominee_restarts < all.nominee_restarts),
            (Coverage::AfterVotersRestart, left.voter_restarts < all.voter_restarts),
            (Coverage::HandedOver, !is_same && left.transfers < all.transfers),
        ] {
            if is_seen {
                self.note(event);
            }
        }
    }

    fn note_renewal(&self, fence: Fence, action: Action) {
        self.note(Coverage::Renewed);
        if let Action::Answer { number, .. } | Action::Carry { number, .. } = action
            && let Message::Grant { ballot, .. } = self.messages.get(number).message
            && ballot.counter > fence.0
        {
            self.note(Coverage::Prolonged);
        }
    }

    fn note(&self, event: Coverage) {
        self.seen.fetch_or(event.bit(), Ordering::Relaxed);
    }
}

/// One bit per fence. Fences that begin far above, after a disk was lost, have a range of their
/// own.
fn fence_bit(Fence(counter): Fence) -> u64 {
    1 << (((counter >> 32) * 16 + counter % (1 << 32)) % 64)
}
