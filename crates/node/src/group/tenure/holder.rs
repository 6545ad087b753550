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

use super::{Group, Outbox, Route};
use crate::frame::Body;

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

impl Group {
    /// Handles the announcement that another member holds tenure, or no longer does.
    pub(in crate::group) fn on_holds(
        &mut self,
        now: Instant,
        from: MemberId,
        fence: u64,
        lasts: Duration,
    ) {
        let fence = Fence(fence);
        let known = self.tenure.holder;
        if known.is_some_and(|it| it.fence > fence) {
            return; // a higher fence is known
        }
        self.tenure.holder = (lasts > Duration::ZERO).then_some(Holder {
            id: from,
            fence,
            until: now + lasts.min(TOLD_FOR),
            was_named: self.nominee == Some(from),
        });
        self.tell(now);
    }

    /// Forgets the holder if the election named it before and names another member now.
    pub(in crate::group) fn doubt_holder(&mut self, nominee: MemberId) {
        match &mut self.tenure.holder {
            Some(holder) if holder.id == nominee => holder.was_named = true,
            Some(holder) if holder.was_named => self.tenure.holder = None,
            Some(_) | None => {}
        }
    }

    /// Announces this member's tenure to a newcomer.
    pub(in crate::group) fn tell_newcomer(
        &mut self,
        newcomer: MemberId,
        address: SocketAddr,
        out: &mut Outbox,
    ) {
        if let Some(fence) = self.tenure.fence {
            let holds = self.holds(fence, TOLD_FOR);
            self.send_to(newcomer, Route::To(address), &holds, out);
        }
    }

    /// Announces this member's tenure to all.
    pub(super) fn tell_all(&mut self, now: Instant, out: &mut Outbox) {
        self.tenure.tell_at = None;
        if let Some(fence) = self.tenure.fence {
            self.tenure.tell_at = Some(now + TELL_EVERY);
            let holds = self.holds(fence, TOLD_FOR);
            self.broadcast(now, &holds, out);
        }
    }

    pub(super) fn holds(&self, Fence(fence): Fence, lasts: Duration) -> Body<'static> {
        Body::Holds { fence, lasts_ns: lasts.0, authority: self.tenure.authority.id() }
    }
}
