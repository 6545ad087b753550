//! Tenure is handed to a named member. The election is told only when that one has it: whom it names then comes too
//! late, and waits.

use hustings_protocol::{Duration, Instant, MemberId};

use super::{Group, Outbox};
use crate::frame::Body;

/// An heir that is there has tenure by then: a few round trips, and a write to each voter's disk.
const TAKEN_WITHIN: Duration = Duration::from_millis(250);

/// A member that has handed its tenure over, and still leads the election.
#[derive(Debug)]
pub(super) struct Handover {
    heir: MemberId,
    /// For how long it steps down when the heir has it, or does not come.
    span: Duration,
    until: Instant,
}

impl Handover {
    pub(super) fn due(&self) -> Instant {
        self.until
    }
}

impl Group {
    pub(super) fn hand_over(
        &mut self,
        now: Instant,
        span: Duration,
        heir: MemberId,
        out: &mut Outbox,
    ) {
        self.handover = Some(Handover {
            heir,
            span,
            until: now + TAKEN_WITHIN,
        });
        self.tenancy.heir = Some(heir);
        self.broadcast(now, &Body::HandsOver { to: heir }, out);
        self.resign_tenure(now, out);
    }

    /// Tenure is about to be free, but not for this member, unless it is the heir.
    pub(super) fn on_hands_over(&mut self, now: Instant, to: MemberId) {
        self.tenancy.holds_back_until = (to != self.me.id).then(|| now + TAKEN_WITHIN);
    }

    /// Somebody holds tenure: is it the heir?
    pub(super) fn note_heir(&mut self, now: Instant, holder: MemberId, out: &mut Outbox) {
        if let Some(handover) = self.handover.take_if(|it| it.heir == holder) {
            self.step_down(now, handover.span, None, out);
        }
    }

    pub(super) fn pass_handover(&mut self, now: Instant, out: &mut Outbox) {
        if let Some(handover) = self.handover.take_if(|it| it.until <= now) {
            tracing::warn!(
                "group `{}`: `{}` did not take tenure over: whom the election names gets the next",
                self.config.name,
                self.describe(handover.heir).name
            );
            self.step_down(now, handover.span, None, out);
        }
    }
}
