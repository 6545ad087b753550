//! Who holds says so, and the others remember it for a while.

use std::net::SocketAddr;

use hustings_protocol::tenure::Fence;
use hustings_protocol::{Duration, Instant, MemberId};

use super::{Group, Outbox, Route};
use crate::frame::Body;

/// How often a holder says so, and for how long that counts.
const TELL_EVERY: Duration = Duration::from_secs(1);
const TOLD_FOR: Duration = Duration::from_secs(3);
/// An election that names another takes some of this to get around, and whoever hears of it takes the holder for past.
pub(super) const TELL_AGAIN: Duration = Duration::from_millis(50);

/// Another member that says it holds tenure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Holder {
    pub(super) id: MemberId,
    pub(super) fence: Fence,
    pub(super) until: Instant,
    /// Whether the election has named it since.
    was_named: bool,
}

impl Group {
    /// Another member holds tenure, or no longer does.
    pub(in crate::group) fn on_holds(
        &mut self,
        now: Instant,
        from: MemberId,
        fence: u64,
        lasts: Duration,
    ) {
        let fence = Fence(fence);
        let known = self.tenancy.holder;
        if known.is_some_and(|it| it.fence > fence) {
            return; // overtaken
        }
        self.tenancy.holder = (lasts > Duration::ZERO).then_some(Holder {
            id: from,
            fence,
            until: now + lasts.min(TOLD_FOR),
            was_named: self.nominee == Some(from),
        });
        self.tell(now);
    }

    /// The election names `nominee`. If it named the holder before, what that one said of itself is past.
    pub(in crate::group) fn doubt_holder(&mut self, nominee: MemberId) {
        match &mut self.tenancy.holder {
            Some(holder) if holder.id == nominee => holder.was_named = true,
            Some(holder) if holder.was_named => self.tenancy.holder = None,
            Some(_) | None => {}
        }
    }

    /// Somebody has come up, and should know who holds.
    pub(in crate::group) fn tell_newcomer(
        &mut self,
        newcomer: MemberId,
        address: SocketAddr,
        out: &mut Outbox,
    ) {
        if let Some(fence) = self.tenancy.fence {
            let holds = self.holds(fence, TOLD_FOR);
            self.send_to(newcomer, Route::To(address), &holds, out);
        }
    }

    /// Tells all others that this member holds.
    pub(super) fn tell_all(&mut self, now: Instant, out: &mut Outbox) {
        self.tenancy.tell_at = None;
        if let Some(fence) = self.tenancy.fence {
            self.tenancy.tell_at = Some(now + TELL_EVERY);
            let holds = self.holds(fence, TOLD_FOR);
            self.broadcast(now, &holds, out);
        }
    }

    pub(super) fn holds(&self, Fence(fence): Fence, lasts: Duration) -> Body<'static> {
        Body::Holds {
            fence,
            lasts_ns: lasts.0,
            authority: self.tenancy.authority.id(),
        }
    }
}
