//! The notice of a release to nominees that were refused.
//!
//! Purpose     a refused nominee waits until the holder's time is over. If the holder releases
//!             tenure earlier, the voters that refused tell the nominee, which asks again at once
//! Inputs      refusals that this voter sends, releases that it receives
//! Outputs     `Released` messages
//! Owns        the last members that this voter refused ([`RefusedNominees`])
//! Invariants  at most [`MOST`] members are kept. After a transfer only the transferee hears

use hustings_protocol::MemberId;
use hustings_protocol::tenure::{Ballot, Fence, Message, Refused, Request};

use super::{Tenure, TransferGrace};
use crate::frame::Body;
use crate::node::{Io, Route};

/// The most members that wait. The election names one at a time, and a transferee may wait beside
/// it; the rest allows for disagreement.
const MOST: usize = 4;

/// The members that this voter refused recently because another member holds tenure.
#[derive(Debug, Default)]
pub(super) struct RefusedNominees(pub(super) Vec<MemberId>);

impl RefusedNominees {
    fn note(&mut self, who: MemberId) {
        self.0.retain(|it| *it != who);
        if self.0.len() == MOST {
            self.0.remove(0); // refused longest ago
        }
        self.0.push(who);
    }
}

impl Tenure {
    /// Notes that this voter refuses `to` because another member holds tenure.
    pub(super) fn note_waiter(&mut self, to: MemberId, answer: &Message) {
        if let Message::Refusal { ballot, refused: Refused::Held { .. }, .. } = answer
            && ballot.counter > 0
        // a member that only asks for the state does not wait
        {
            self.refused.note(to);
        }
    }

    /// Handles a release by `from`. After a transfer only the transferee may ask, until it releases
    /// tenure itself.
    pub(super) fn on_release(&mut self, from: MemberId, released: Ballot, io: &mut Io<'_>) {
        let is_heirs = |it: &mut TransferGrace| {
            it.transferee == released.owner.id && it.fence < Fence(released.counter)
        };
        self.transfer_grace.take_if(is_heirs);
        self.on_released(io);
        let transferee = self.transfer_grace.map(|it| it.transferee).or(self.transferee());
        self.notify_waiters(
            |it| it != from && transferee.is_none_or(|transferee| transferee == it),
            io,
        );
    }

    pub(super) fn notify_waiters(
        &mut self,
        is_to_know: impl Fn(MemberId) -> bool,
        io: &mut Io<'_>,
    ) {
        if !io.is_active() {
            return; // of two processes with one name, only one may speak
        }
        let told = self.refused.0.extract_if(.., |it| is_to_know(*it));
        let told: Vec<MemberId> = told.collect();
        let authority = self.authority.id();
        for waiter in told {
            if let Some(address) = io.address_of(waiter) {
                io.send_to(waiter, Route::To(address), &Body::Released { authority });
            }
        }
    }

    /// Asks for tenure again, if this member waits for it.
    pub(super) fn on_released(&mut self, io: &mut Io<'_>) {
        let transfer_grace = self.transfer.is_some() || self.transfer_grace.is_some();
        let waits = io.is_nominee() || self.receives_transfer_until.is_some();
        if waits && self.fence.is_none() && !transfer_grace {
            self.ask_authority(Request::Acquire, io);
        }
    }
}
