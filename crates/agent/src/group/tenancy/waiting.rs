//! A nominee that voters refused waits until the holder's time is over. If that one gives tenure up before, the voters
//! that refused say so: then it asks again at once.

use hustings_protocol::tenure::{Ballot, Fence, Message, Refused, Request};
use hustings_protocol::{Instant, MemberId};

use super::{Group, HoldsBack, Outbox, Route, Standing};
use crate::frame::Body;

/// The election names one at a time, and an heir may wait beside it; a few more if they disagree.
const MOST: usize = 4;

/// Who was refused by this voter of late because somebody else holds.
#[derive(Debug, Default)]
pub(in crate::group) struct Waiters(Vec<MemberId>);

impl Waiters {
    fn note(&mut self, who: MemberId) {
        self.0.retain(|it| *it != who);
        if self.0.len() == MOST {
            self.0.remove(0); // who was refused longest ago
        }
        self.0.push(who);
    }

    pub(in crate::group) fn iter(&self) -> impl Iterator<Item = MemberId> {
        self.0.iter().copied()
    }
}

impl Group {
    /// This voter answers `to`.
    pub(super) fn note_waiter(&mut self, to: MemberId, answer: &[u8]) {
        if let Ok(Message::Refusal {
            ballot, refused, ..
        }) = postcard::from_bytes(answer)
            && let Refused::Held { .. } = refused
            && ballot.counter > 0
        // who only looks around waits for nothing
        {
            self.tenancy.waiters.note(to);
        }
    }

    /// `from` says that tenure was given up. If it was handed over, only the heir may ask, until that one gives it up
    /// itself.
    pub(super) fn on_release(
        &mut self,
        now: Instant,
        from: MemberId,
        released: Ballot,
        out: &mut Outbox,
    ) {
        let is_heirs =
            |it: &mut HoldsBack| it.heir == released.owner.id && it.fence < Fence(released.counter);
        self.tenancy.holds_back.take_if(is_heirs);
        self.on_freed(now, out);
        let heir = self.tenancy.holds_back.map(|it| it.heir).or(self.heir());
        self.tell_who_waits(|it| it != from && heir.is_none_or(|heir| heir == it), out);
    }

    pub(in crate::group) fn tell_who_waits(
        &mut self,
        is_to_know: impl Fn(MemberId) -> bool,
        out: &mut Outbox,
    ) {
        if !matches!(self.standing, Standing::Partaking) {
            return; // two who go by one name must not both be heard
        }
        let told: Vec<MemberId> = {
            let waiters = &mut self.tenancy.waiters.0;
            waiters.extract_if(.., |it| is_to_know(*it)).collect()
        };
        let authority = self.tenancy.authority.id();
        for waiter in told {
            if let Some(address) = self.address_of(waiter) {
                self.send_to(waiter, Route::To(address), &Body::Freed { authority }, out);
            }
        }
    }

    /// Somebody gave tenure up: if this member waits for it, it asks again.
    pub(in crate::group) fn on_freed(&mut self, now: Instant, out: &mut Outbox) {
        let holds_back = self.handover.is_some() || self.tenancy.holds_back.is_some();
        let waits = self.is_nominee() || self.tenancy.inherits_until.is_some();
        if waits && self.tenancy.fence.is_none() && !holds_back {
            self.ask_authority(now, Request::Acquire, out);
        }
    }
}
