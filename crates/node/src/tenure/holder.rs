//! Announcements of the tenure holder.
//!
//! Purpose     the holder announces its tenure, so that the other members know the leader
//! Inputs      `Holds` messages, nominations, newcomers
//! Outputs     `Holds` broadcasts, the holder that the user is shown
//! Owns        the last other holder ([`Holder`])
//! Invariants  a lower fence never replaces a higher one. An announcement counts for [`TOLD_FOR`]
//!             at most

use std::net::SocketAddr;

use hustings_protocol::tenure::Fence;
use hustings_protocol::{Duration, Instant, MemberId};

use super::Tenure;
use crate::frame::Body;
use crate::node::{Io, Route};

/// The time between two announcements of the holder, and the time for which one counts.
const TELL_EVERY: Duration = Duration::from_secs(1);
const TOLD_FOR: Duration = Duration::from_secs(3);
/// The time after which a holder repeats its announcement when the election names another member.
/// News of the election takes part of this time to spread, and makes its receivers forget the
/// holder.
pub(super) const TELL_AGAIN: Duration = Duration::from_millis(50);

/// Another member that announces tenure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Holder {
    pub(super) id: MemberId,
    pub(super) fence: Fence,
    pub(super) until: Instant,
    /// True if the election has named the holder since.
    was_named: bool,
}

impl Tenure {
    /// Handles the announcement that another member holds tenure, or no longer does.
    pub(super) fn on_holds(
        &mut self,
        from: MemberId,
        fence: Fence,
        lasts: Duration,
        io: &mut Io<'_>,
    ) {
        let known = self.holder;
        if known.is_some_and(|it| it.fence > fence) {
            return; // a higher fence is known
        }
        self.holder = (lasts > Duration::ZERO).then_some(Holder {
            id: from,
            fence,
            until: io.now + lasts.min(TOLD_FOR),
            was_named: io.nominee == Some(from),
        });
        self.show(io);
    }

    /// Forgets the holder if the election named it before and names another member now.
    pub(super) fn doubt_holder(&mut self, nominee: MemberId, io: &mut Io<'_>) {
        match &mut self.holder {
            Some(holder) if holder.id == nominee => holder.was_named = true,
            Some(holder) if holder.was_named => self.holder = None,
            Some(_) | None => {}
        }
        self.show(io);
    }

    /// Announces this member's tenure to a newcomer.
    pub(super) fn announce_tenure_to(
        &mut self,
        newcomer: MemberId,
        address: SocketAddr,
        io: &mut Io<'_>,
    ) {
        if let Some(fence) = self.fence {
            let holds = self.holds(fence, TOLD_FOR);
            io.send_to(newcomer, Route::To(address), &holds);
        }
    }

    /// Announces this member's tenure to all.
    pub(super) fn announce_tenure(&mut self, io: &mut Io<'_>) {
        self.tell_at = None;
        if let Some(fence) = self.fence {
            self.tell_at = Some(io.now + TELL_EVERY);
            let holds = self.holds(fence, TOLD_FOR);
            io.broadcast(&holds);
        }
    }

    pub(super) fn holds(&self, Fence(fence): Fence, lasts: Duration) -> Body<'static> {
        Body::Holds { fence, lasts_ns: lasts.0, authority: self.authority.id() }
    }
}
