//! Standing aside: a nominee that gets no tenure lets another member be named.
//!
//! Purpose     while a member is named, no other member asks for tenure. Another might get it: one
//!             that reaches the voters, whose disk works, or whose store answers
//! Inputs      nominations, refusals, the user's health report, the state of the disk, higher
//!             fences, a store that stays set back
//! Outputs     a step-down for a while, log lines
//! Owns        the time at which a nominee stands aside, and its reasons ([`StandAside`])
//! Invariants  the time that voters ask a nominee to wait does not count against it. A holder
//!             yields to an equal or higher fence

use hustings_protocol::tenure::{Fence, LONGEST_WAIT, Refused};
use hustings_protocol::{Duration, Instant, MemberId};

use super::{EXPLAIN_EVERY, Tenure};
use crate::node::{Context, Event, Io};

/// The time without tenure before a nominee stands aside, in ttls. An attempt takes half a ttl at
/// most: two answers and a pause. Two nominees practically never collide in six attempts in a row,
/// because each pauses at random. Waiting for a holder or for restarted voters is not counted: the
/// voters say how long it takes.
const PATIENCE_TTLS: u64 = 3;
/// The least time before a nominee stands aside. The reason for having no tenure is reported
/// earlier.
const LEAST_PATIENCE: Duration = Duration(EXPLAIN_EVERY.0 * 2);

/// The time for which a nominee without tenure stands aside. One whose ttl too many voters refuse
/// stands aside for [`LISTEN_FOR`]: only a new configuration can change that.
const STAND_ASIDE_FOR: Duration = Duration::from_secs(10);
/// The time between two checks by a member that could not lead, whether it can now.
const LOOK_AGAIN_EVERY: Duration = Duration::from_secs(1);
/// The longest time for which a member that receives no frame stays aside. It cannot reach voters
/// either, but members that receive its frames would name it. It calls the voters, and comes back
/// when a frame has arrived.
const LISTEN_FOR: Duration = Duration::from_secs(60);

/// The state of a nominee that may stand aside.
#[derive(Debug, Default)]
pub(super) struct StandAside {
    /// `None` while the member is not named, or holds tenure.
    pub(super) ends_at: Option<Instant>,
    /// Voters asked the member to wait until then, and it asks none meanwhile.
    waits_until: Option<Instant>,
    /// The most that voters grant, if that is less than the member's ttl: it gets no tenure.
    most_granted: Option<Duration>,
    /// The user reports that the member cannot work.
    is_unwell: bool,
    /// True if standing aside was logged, and the member has not held tenure since.
    is_logged: bool,
    /// The number of frames received when the member stood aside, and the time until which it waits
    /// for another.
    listens: Option<(u64, Instant)>,
}

impl Tenure {
    /// True if this member could not lead, whatever the others do: its user reports so, or its disk
    /// does not answer.
    fn is_unfit(&self) -> bool {
        self.stand_aside.is_unwell || self.authority.is_stuck()
    }

    fn has_patience_for(&self, context: &Context) -> Option<Duration> {
        let ttl = context.config.authority.ttl()?;
        let ttl = self.stand_aside.most_granted.unwrap_or(ttl);
        Some((ttl * PATIENCE_TTLS).max(LEAST_PATIENCE))
    }

    /// Restarts the time after a nomination or its end, or after tenure was gained or lost.
    pub(super) fn begin_to_wait(&mut self, context: &Context) {
        let holds = self.fence.is_some();
        self.stand_aside.is_logged &= !holds;
        let waits = context.is_nominee() && !holds;
        let span = match self.is_unfit() {
            true => Some(Duration::ZERO),
            false => self.has_patience_for(context),
        };
        self.stand_aside.ends_at = span.filter(|_| waits).map(|span| context.now + span);
    }

    /// Handles a refusal. It extends the time if voters ask the member to wait, and ends it if they
    /// will never grant.
    pub(super) fn wait_longer(&mut self, refused: Refused, context: &Context) {
        let asks_to_wait = match refused {
            Refused::Held { lasts, .. } | Refused::Quarantined { lasts } => {
                Some(lasts.min(LONGEST_WAIT))
            }
            Refused::TtlTooLong { max_ttl } => {
                self.stand_aside.most_granted = Some(max_ttl);
                None
            }
            Refused::Outrun | Refused::Uninitialised | Refused::OutOfReach { .. } => None,
        };
        let span = self.has_patience_for(context);
        let is_hopeless = self.is_refused_its_ttl(context);
        let stand_aside = &mut self.stand_aside;
        let (Some(ends_at), Some(span)) = (&mut stand_aside.ends_at, span) else {
            return;
        };
        match asks_to_wait {
            Some(lasts) => {
                *ends_at = context.now + lasts + span;
                stand_aside.waits_until = Some(context.now + lasts);
            }
            None if is_hopeless => *ends_at = context.now,
            None => *ends_at = (*ends_at).min(context.now + span),
        }
    }

    /// True if voters asked the member to wait. It asks none then, so it gets no answers.
    pub(super) fn is_asked_to_wait(&self, now: Instant) -> bool {
        self.stand_aside.waits_until.is_some_and(|at| now < at)
    }

    /// Notes the user's report on whether this member can work. Without an authority it has no
    /// effect.
    pub(super) fn note_health(&mut self, is_healthy: bool, context: &Context) {
        self.stand_aside.is_unwell = !is_healthy && context.config.authority.ttl().is_some();
    }

    /// Stands aside, if it is time.
    pub(super) fn pass_stand_aside(&mut self, io: &mut Io<'_>) {
        let is_unfit = self.is_unfit();
        let is_over = |at: &mut Instant| is_unfit || *at <= io.now;
        if self.stand_aside.ends_at.take_if(is_over).is_none() {
            return;
        }
        let authority = &self.authority;
        let is_leaving = self.transfer.is_some() || authority.holds(io.now).is_some();
        let waits = !is_unfit && authority.is_held_elsewhere();
        if is_leaving || waits {
            self.stand_aside.ends_at = self.has_patience_for(io).map(|span| io.now + span);
            return;
        }
        self.stand_aside(io);
    }

    fn stand_aside(&mut self, io: &mut Io<'_>) {
        if self.stand_aside.is_unwell {
            self.note_refusal("this member reported itself unhealthy", io);
        }
        let span = match self.is_unfit() {
            true => LOOK_AGAIN_EVERY,
            false if self.is_refused_its_ttl(io) => LISTEN_FOR,
            false => STAND_ASIDE_FOR,
        };
        self.stand_aside_for(span, io);
    }

    /// Stands aside at once, if this member is named, because it takes nothing from its store until
    /// `until`. It is back after half of that time: the others have had time to be named and to
    /// ask, and if none of them leads, this member is named again when its own time has come.
    pub(super) fn let_another_ask(&mut self, until: Instant, io: &mut Io<'_>) {
        let may_stand_aside = self.transfer.is_none() && io.now < until;
        if may_stand_aside && self.stand_aside.ends_at.take().is_some() {
            self.stand_aside_for(Duration((until - io.now).0 / 2), io);
        }
    }

    fn stand_aside_for(&mut self, span: Duration, io: &mut Io<'_>) {
        let why = self.refusals.back();
        let why = why.map_or_else(|| "no answer".to_owned(), |it| it.why.clone());
        if !std::mem::replace(&mut self.stand_aside.is_logged, true) {
            let group = &io.config.name;
            tracing::warn!(
                "group `{group}`: named, but without tenure: stands aside, so that another member may acquire it ({why})"
            );
        }
        let needs_voters = !self.is_unfit() && !self.voters.is_empty();
        let listens = (io.emit.counters.heard, io.now + LISTEN_FOR);
        self.stand_aside.listens = needs_voters.then_some(listens);
        self.step_aside(span, why, io);
    }

    /// Yields to another member's equal or higher fence.
    ///
    /// A higher fence is granted only after a lower one has ended. So the authority has forgotten
    /// this member's tenure, as when people begin a new era and miss a member. A fence is granted
    /// only once. If two members have the same, the authority has lost its count, and neither
    /// member can know which one is right.
    pub(super) fn yield_to_fence(&mut self, from: MemberId, fence: Fence, io: &mut Io<'_>) {
        let shown = self.authority.holds(io.now).map(|held| held.fence);
        // A lease client that also received the fence has already ended the lease.
        let held = shown.or(self.fence);
        let Some(held) = held.filter(|held| *held <= fence) else {
            return;
        };
        let other = io.describe(from).name;
        let why = match held == fence {
            true => format!(
                "`{other}` has fence {fence} as well as this member, so the authority has lost its count: a store was restored from an older copy, or failed over to a lagging copy, or exists twice; or voters' files were set back. Both members give it up: make sure that there is one store, and raise `era` on all members; with voters, begin a new era (`hustings voter init --era`)"
            ),
            false => format!(
                "`{other}` has fence {fence}, and this member holds a lower fence, {held}: a new era was begun, or a store was set back, while this member held tenure. This member gives it up"
            ),
        };
        self.note_fault(&why, io);
        self.authority.forfeit(io.now);
        self.step_aside(STAND_ASIDE_FOR, why, io);
    }

    /// True if no frame has arrived since the member stood aside.
    fn is_deaf(&self, io: &Io<'_>) -> bool {
        let listens = self.stand_aside.listens;
        listens.is_some_and(|(heard, until)| heard == io.emit.counters.heard && io.now < until)
    }

    /// Ends the step-down. A member that still could not lead stays aside, or it would be named
    /// again.
    pub(super) fn come_back(&mut self, io: &mut Io<'_>) {
        let is_deaf = self.is_deaf(io);
        if self.is_unfit() || is_deaf {
            io.raise(Event::StayDown(io.now + LOOK_AGAIN_EVERY));
            let me = io.me.id;
            let others = self.voters().filter(|it| is_deaf && *it != me);
            others.for_each(|whom| io.raise(Event::Seek(whom)));
            return;
        }
        self.stand_aside.listens = None;
        io.raise(Event::Return);
    }
}
