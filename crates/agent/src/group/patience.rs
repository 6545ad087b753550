//! How long a nominee without tenure tries before it stands aside. While it is named nobody else asks, and perhaps
//! another could have tenure: one that hears the voters, whose disk works, or whose store answers.

use hustings_protocol::tenure::{Fence, LONGEST_WAIT, Refused};
use hustings_protocol::{Duration, Instant, MemberId};

use super::promptness::DISK_IS_SILENT;
use super::tenancy::EXPLAIN_EVERY;
use super::{Group, Outbox};

/// So many ttl. An attempt takes half of one at most: two answers and a pause. That two nominees collide in six attempts
/// in a row, each with a pause at random, does not happen; and who waits for a holder or for voters that have restarted
/// is told so, and for how long: that time is not counted.
const PATIENCE_TTLS: u64 = 3;
/// But so long at least: why it has no tenure is said before.
const LEAST_PATIENCE: Duration = Duration(EXPLAIN_EVERY.0 * 2);

/// How long a nominee that gets no tenure leaves the floor to others. One whose ttl is refused by too many voters leaves
/// it to them for [`LISTEN_FOR`]: only who configures it or the voters anew can change that.
const STAND_ASIDE_FOR: Duration = Duration::from_secs(10);
/// How often one that could not use the floor looks whether it could now.
const LOOK_AGAIN_EVERY: Duration = Duration::from_secs(1);
/// Who hears nobody cannot hear voters either, but would be named by all who hear it. It calls the voters, and comes
/// back when anybody was heard; at the latest after so long, whatever the reason.
const LISTEN_FOR: Duration = Duration::from_secs(60);

/// A nominee's patience.
#[derive(Debug, Default)]
pub(super) struct Patience {
    /// None while it is not named, or holds.
    ends_at: Option<Instant>,
    /// Was asked to wait until then, and asks nobody meanwhile.
    waits_until: Option<Instant>,
    /// What voters grant at most, if that is less than it asks for: it gets nothing, however long it waits.
    most_granted: Option<Duration>,
    /// Its user says that it cannot work.
    is_unwell: bool,
    /// Has said that it stands aside, and not held since.
    is_told: bool,
    /// How many frames it had heard when it stood aside, and until when it insists on more.
    listens: Option<(u64, Instant)>,
}

impl Patience {
    pub(super) fn due(&self) -> Option<Instant> {
        self.ends_at
    }
}

impl Group {
    /// Whether this member could not lead, for all that others do: it cannot work, or its disk does not.
    fn is_unfit(&self) -> bool {
        self.tenancy.patience.is_unwell || self.tenancy.authority.is_stuck()
    }

    fn has_patience_for(&self) -> Option<Duration> {
        let ttl = self.config.authority.ttl()?;
        let ttl = self.tenancy.patience.most_granted.unwrap_or(ttl);
        Some((ttl * PATIENCE_TTLS).max(LEAST_PATIENCE))
    }

    /// It was named or is no longer, or got tenure, or lost it.
    pub(super) fn begin_to_wait(&mut self, now: Instant) {
        let holds = self.tenancy.fence().is_some();
        self.tenancy.patience.is_told &= !holds;
        let waits = self.is_nominee() && !holds;
        let span = match self.is_unfit() {
            true => Some(Duration::ZERO),
            false => self.has_patience_for(),
        };
        self.tenancy.patience.ends_at = span.filter(|_| waits).map(|span| now + span);
    }

    /// Voters refused it tenure. Whom they ask to wait waits; whom they will not ever grant it does not.
    pub(super) fn wait_longer(&mut self, now: Instant, refused: Refused) {
        let asks_to_wait = match refused {
            Refused::Held { lasts, .. } | Refused::Quarantined { lasts } => {
                Some(lasts.min(LONGEST_WAIT))
            }
            Refused::TtlTooLong { max_ttl } => {
                self.tenancy.patience.most_granted = Some(max_ttl);
                None
            }
            Refused::Outrun | Refused::Uninitialised | Refused::OutOfReach { .. } => None,
        };
        let span = self.has_patience_for();
        let is_hopeless = self.is_refused_its_ttl();
        let patience = &mut self.tenancy.patience;
        let (Some(ends_at), Some(span)) = (&mut patience.ends_at, span) else {
            return;
        };
        match asks_to_wait {
            Some(lasts) => {
                *ends_at = now + lasts + span;
                patience.waits_until = Some(now + lasts);
            }
            None if is_hopeless => *ends_at = now,
            None => *ends_at = (*ends_at).min(now + span),
        }
    }

    /// Whether it has been asked to wait: then nobody answers because it asks nobody.
    pub(super) fn is_asked_to_wait(&self, now: Instant) -> bool {
        self.tenancy.patience.waits_until.is_some_and(|at| now < at)
    }

    /// Its user says whether this member can work. Where nobody grants tenure nobody asks.
    pub(super) fn note_health(&mut self, is_healthy: bool) {
        self.tenancy.patience.is_unwell = !is_healthy && self.config.authority.ttl().is_some();
    }

    /// A write to its disk has taken too long. It says so whether it is named or not: it does not vote either.
    pub(super) fn note_silent_disk(&mut self, now: Instant) {
        self.note_fault(now, DISK_IS_SILENT);
    }

    /// Stands aside, if it is time.
    pub(super) fn pass_patience(&mut self, now: Instant, out: &mut Outbox) {
        let is_unfit = self.is_unfit();
        let is_over = |at: &mut Instant| is_unfit || *at <= now;
        if self.tenancy.patience.ends_at.take_if(is_over).is_none() {
            return;
        }
        let authority = &self.tenancy.authority;
        let is_leaving = self.handover.is_some() || authority.holds(now).is_some();
        let waits = !is_unfit && authority.is_held_elsewhere();
        if is_leaving || waits {
            self.tenancy.patience.ends_at = self.has_patience_for().map(|span| now + span);
            return;
        }
        self.stand_aside(now, out);
    }

    fn stand_aside(&mut self, now: Instant, out: &mut Outbox) {
        if self.tenancy.patience.is_unwell {
            self.note_refusal(now, "this member says of itself that it cannot work");
        }
        if !std::mem::replace(&mut self.tenancy.patience.is_told, true) {
            let why = self.tenancy.refusals.back();
            tracing::warn!(
                "group `{}`: named, but without tenure: stands aside, so that another may have it ({})",
                self.config.name,
                why.map_or("no answer", |it| it.why.as_str())
            );
        }
        let span = match self.is_unfit() {
            true => LOOK_AGAIN_EVERY,
            false if self.is_refused_its_ttl() => LISTEN_FOR,
            false => STAND_ASIDE_FOR,
        };
        let needs_voters = !self.is_unfit() && !self.tenancy.voters.is_empty();
        let listens = (self.counters.heard, now + LISTEN_FOR);
        self.tenancy.patience.listens = needs_voters.then_some(listens);
        let why = self.tenancy.refusals.back();
        let why = why.map_or_else(|| "no answer".to_owned(), |it| it.why.clone());
        self.step_aside(now, span, why, out);
    }

    /// Another member holds, or held, with this fence. A higher one is given when a lower one has ended, by those who gave
    /// that: so they have forgotten it, as when people begin a new era and miss a member. The same one is given once: so
    /// they have forgotten that too, and which of both is in the right neither can know.
    pub(super) fn yield_to_fence(
        &mut self,
        now: Instant,
        from: MemberId,
        fence: Fence,
        out: &mut Outbox,
    ) {
        let shown = self.tenancy.authority.holds(now).map(|held| held.fence);
        // A clerk that has heard it too has shown that it is over.
        let held = shown.or(self.tenancy.fence());
        let Some(held) = held.filter(|held| *held <= fence) else {
            return;
        };
        let other = self.describe(from).name;
        let why = match held == fence {
            true => format!(
                "`{other}` has fence {fence} as well as this member, so what gave it has lost what it had counted: a store that \
                 was restored from an older copy, or failed over to one that lagged, or of which there are two; or voters' files \
                 that were set back. Both give it up: see that there is one store, and raise `era` on all members; with voters, \
                 begin a new era (`hustings voter init --era`)"
            ),
            false => format!(
                "`{other}` has fence {fence}, and this member holds a lower one, {held}: was a new era begun, or a store set back, \
                 while it held? Giving it up"
            ),
        };
        self.note_fault(now, &why);
        self.tenancy.authority.forfeit(now);
        self.step_aside(now, STAND_ASIDE_FOR, why, out);
    }

    /// Whether it has heard nothing from anybody since it stood aside.
    fn is_deaf(&self, now: Instant) -> bool {
        let listens = self.tenancy.patience.listens;
        listens.is_some_and(|(heard, until)| heard == self.counters.heard && now < until)
    }

    /// The time is over for which it has stepped down. Who could not lead does not come back to be named.
    pub(super) fn come_back(&mut self, now: Instant, out: &mut Outbox) {
        let is_deaf = self.is_deaf(now);
        if self.is_unfit() || is_deaf {
            self.abstains_until = Some(now + LOOK_AGAIN_EVERY);
            let me = self.me.id;
            let others: Vec<MemberId> = self.tenancy.voters().filter(|it| *it != me).collect();
            for whom in others.into_iter().filter(|_| is_deaf) {
                self.seek(now, whom, out);
            }
            return;
        }
        self.abstains_until = None;
        self.tenancy.patience.listens = None;
        self.take_part_again(now);
    }
}
