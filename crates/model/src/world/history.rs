//! The history of tenure in a run: holders and fences.

use std::sync::atomic::Ordering;

use hustings_protocol::tenure::Message;
use hustings_protocol::{Fence, MemberId};

use super::{Action, State, World, place};
use crate::seat::clock;
use crate::{Sight, Subject};

/// A tenure that began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Tenancy {
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

impl<S: Subject> World<S> {
    /// Records the tenures that begin and end.
    pub(super) fn observe(&self, state: &mut State, action: Action) {
        for id in self.nominees() {
            let mut seat = self.seat(state, id);
            let holds = seat.member.holds(clock(id, state.tick, &self.stage));
            if holds == seat.held {
                continue;
            }
            let before = seat.held.map(|held| held.fence);
            match holds.map(|holds| holds.fence) {
                Some(fence) if before == Some(fence) => self.note_renewal(fence, action),
                Some(fence) => self.begin(state, Tenancy { fence, holder: id }),
                None => {}
            }
            state.holders += u8::from(holds.is_some());
            state.holders -= u8::from(before.is_some());
            seat.held = holds;
            state.seats[place(id)] = self.seats.number(seat);
        }
    }

    fn begin(&self, state: &mut State, tenancy: Tenancy) {
        self.note(Sight::Gained);
        let begun = state.begun | fence_bit(tenancy.fence);
        let is_new = std::mem::replace(&mut state.begun, begun) != begun;
        let Some(last) = state.last.replace(tenancy) else {
            return;
        };
        if !is_new {
            state.fences = Fences::Repeated;
        } else if tenancy.fence < last.fence {
            state.fences = Fences::Fell;
        }
        let is_same = tenancy.holder == last.holder;
        let (left, all) = (state.left, self.stage.setting.faults);
        for (sight, is_seen) in [
            (Sight::Again, is_same),
            (Sight::TakenOver, !is_same),
            (Sight::AfterCrash, left.nominee_restarts < all.nominee_restarts),
            (Sight::AfterVotersRestart, left.voter_restarts < all.voter_restarts),
            (Sight::HandedOver, !is_same && left.transfers < all.transfers),
        ] {
            if is_seen {
                self.note(sight);
            }
        }
    }

    fn note_renewal(&self, fence: Fence, action: Action) {
        self.note(Sight::Renewed);
        if let Action::Answer { letter, .. } | Action::Carry { letter, .. } = action
            && let Message::Grant { ballot, .. } = self.letters.get(letter).message
            && ballot.counter > fence.0
        {
            self.note(Sight::Prolonged);
        }
    }

    fn note(&self, sight: Sight) {
        self.seen.fetch_or(sight.bit(), Ordering::Relaxed);
    }
}

/// One bit per fence. Fences that begin far above, after a disk was lost, have a range of their
/// own.
fn fence_bit(Fence(counter): Fence) -> u64 {
    1 << (((counter >> 32) * 16 + counter % (1 << 32)) % 64)
}
