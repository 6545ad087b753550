//! Members that wait for tenure to become free.
//!
//! Purpose     a refused nominee waits until the holder's time is over. If the holder releases
//!             tenure earlier, the voters that refused tell the nominee, which asks again at once
//! Inputs      refusals that this voter sends, releases that it receives
//! Outputs     `Released` messages
//! Owns        the last members that this voter refused ([`Waiters`])
//! Invariants  at most [`MOST`] members are kept. After a transfer only the transferee hears

use hustings_protocol::tenure::{Ballot, Fence, Message, Refused, Request};
use hustings_protocol::{Instant, MemberId};

use super::{Group, Outbox, Participation, Route, TransferGrace};
use crate::frame::Body;

/// The most members that wait. The election names one at a time, and a transferee may wait beside
/// it; the rest allows for disagreement.
const MOST: usize = 4;

/// The members that this voter refused recently because another member holds tenure.
#[derive(Debug, Default)]
pub(in crate::group) struct Waiters(Vec<MemberId>);

impl Waiters {
    fn note(&mut self, who: MemberId) {
        self.0.retain(|it| *it != who);
        if self.0.len() == MOST {
            self.0.remove(0); // refused longest ago
        }
        self.0.push(who);
    }

    pub(in crate::group) fn iter(&self) -> impl Iterator<Item = MemberId> {
        self.0.iter().copied()
    }
}

impl Group {
    /// Notes that this voter refuses `to` because another member holds tenure.
    pub(super) fn note_waiter(&mut self, to: MemberId, answer: &[u8]) {
        if let Ok(Message::Refusal { ballot, refused, .. }) = postcard::from_bytes(answer)
            && let Refused::Held { .. } = refused
            && ballot.counter > 0
        // a member that only asks for the state does not wait
        {
            self.tenure.waiters.note(to);
        }
    }

    /// Handles a release by `from`. After a transfer only the transferee may ask, until it releases
    /// tenure itself.
    pub(super) fn on_release(
        &mut self,
        now: Instant,
        from: MemberId,
        released: Ballot,
        out: &mut Outbox,
    ) {
        let is_heirs = |it: &mut TransferGrace| {
            it.transferee == released.owner.id && it.fence < Fence(released.counter)
        };
        self.tenure.transfer_grace.take_if(is_heirs);
        self.on_released(now, out);
        let transferee = self.tenure.transfer_grace.map(|it| it.transferee).or(self.transferee());
        self.tell_who_waits(
            |it| it != from && transferee.is_none_or(|transferee| transferee == it),
            out,
        );
    }

    pub(in crate::group) fn tell_who_waits(
        &mut self,
        is_to_know: impl Fn(MemberId) -> bool,
        out: &mut Outbox,
    ) {
        if !matches!(self.participation, Participation::Active) {
            return; // of two processes with one name, only one may speak
        }
        let told: Vec<MemberId> = {
            let waiters = &mut self.tenure.waiters.0;
            waiters.extract_if(.., |it| is_to_know(*it)).collect()
        };
        let authority = self.tenure.authority.id();
        for waiter in told {
            if let Some(address) = self.address_of(waiter) {
                self.send_to(waiter, Route::To(address), &Body::Released { authority }, out);
            }
        }
    }

    /// Asks for tenure again, if this member waits for it.
    pub(in crate::group) fn on_released(&mut self, now: Instant, out: &mut Outbox) {
        let transfer_grace = self.transfer.is_some() || self.tenure.transfer_grace.is_some();
        let waits = self.is_nominee() || self.tenure.receives_transfer_until.is_some();
        if waits && self.tenure.fence.is_none() && !transfer_grace {
            self.ask_authority(now, Request::Acquire, out);
        }
    }
}
