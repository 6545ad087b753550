//! Tenure is handed to a named member. The election is told only when that one has it: whom it names then comes too
//! late, and waits.
//!
//! Nothing is given up for somebody who does not exist. A member that only follows may never have been heard here, so
//! whoever is not known is looked for first.

use std::collections::BTreeSet;

use hustings_protocol::tenure::{Fence, Message};
use hustings_protocol::{Duration, Instant, MemberId};
use tokio::sync::oneshot;

use super::{Group, Outbox, Route};
use crate::agent::{HandedOver, NotHandedOver};
use crate::authority::{Authority, Request};
use crate::config::AuthorityConfig;
use crate::frame::Body;
use crate::identity::member_id;
use crate::membership::Membership;

/// Who is there and is looked for has answered by then, though a call or two were lost.
const FOUND_WITHIN: Duration = Duration::from_millis(250);
const SEEK_EVERY: Duration = Duration::from_millis(50);

/// Who is to have tenure, and whom to tell whether it has it. Dropped untold: it has not.
#[derive(Debug)]
pub(crate) struct Heir {
    pub(crate) id: MemberId,
    pub(crate) told: oneshot::Sender<HandedOver>,
}

/// A member that hands its tenure over, and still leads the election.
#[derive(Debug)]
pub(super) struct Handover {
    heir: Heir,
    /// What is handed over: the heir's is higher.
    fence: Fence,
    /// For how long it steps down when the heir has it, or does not come.
    span: Duration,
    /// How long the heir has from when tenure is given up.
    within: Duration,
    /// None while this member's work goes on, and tenure is kept.
    until: Option<Instant>,
}

impl Handover {
    pub(super) fn due(&self) -> Option<Instant> {
        self.until
    }
}

/// A member that lets an heir be first, until that one has had its time.
#[derive(Debug, Clone, Copy)]
pub(super) struct HoldsBack {
    pub(super) heir: MemberId,
    pub(super) until: Instant,
    /// What was handed over: the heir's is higher.
    pub(super) fence: Fence,
}

/// Somebody who is to be an heir, and was never heard.
#[derive(Debug)]
pub(super) struct Sought {
    name: String,
    id: MemberId,
    again_at: Instant,
    until: Instant,
    found: oneshot::Sender<Result<MemberId, NotHandedOver>>,
}

impl Sought {
    pub(super) fn due(&self) -> Instant {
        self.again_at.min(self.until)
    }
}

// Before anything is given up.
impl Group {
    /// Tells whether tenure can be handed to the member called `name`: at once, or when it was looked for.
    pub(crate) fn find_heir(
        &mut self,
        now: Instant,
        name: String,
        found: oneshot::Sender<Result<MemberId, NotHandedOver>>,
        out: &mut Outbox,
    ) {
        let id = member_id(&name);
        let verdict = match self.refuse_handover(id) {
            Some(refusal) => Err(refusal),
            None if self.names().contains(&name) => Ok(id),
            None => {
                self.sought.push(Sought {
                    name,
                    id,
                    again_at: now,
                    until: now + FOUND_WITHIN,
                    found,
                });
                self.pass_sought(now, out);
                return;
            }
        };
        // Whoever asked may have gone meanwhile.
        let _ = found.send(verdict);
    }

    fn refuse_handover(&self, heir: MemberId) -> Option<NotHandedOver> {
        let (group, member) = (self.config.name.clone(), self.member.clone());
        if !matches!(self.tenancy.authority, Authority::Quorum(_)) {
            return Some(NotHandedOver::NoVoters { group });
        }
        if heir == self.me.id {
            let known = self.names();
            return Some(NotHandedOver::Itself {
                group,
                member,
                known,
            });
        }
        if self.tenancy.fence().is_none() {
            let holder = self.tenancy.holder();
            return Some(NotHandedOver::NoTenure {
                group,
                member,
                holder: holder.map(|(id, _)| self.describe(id).name),
            });
        }
        None
    }

    /// The members that this one knows of, whether or not they are there: it has heard them, was told of them by
    /// others, or has them for voters.
    fn names(&self) -> BTreeSet<String> {
        let heard = self.peers.iter().map(|(_, peer)| peer.name.clone());
        let listed = self.membership.iter().flat_map(Membership::candidates);
        let listed = listed.map(|it| self.describe(it.id).name);
        let voters = self.tenancy.voters.iter().map(|it| it.name.clone());
        let mut names: BTreeSet<String> = heard.chain(listed).chain(voters).collect();
        names.remove(&self.member);
        names
    }

    /// Calls those who are looked for again, and tells who has been found.
    pub(super) fn pass_sought(&mut self, now: Instant, out: &mut Outbox) {
        for mut sought in std::mem::take(&mut self.sought) {
            let verdict = match self.peers.get(sought.id) {
                Some(_) => Ok(sought.id),
                None if sought.until <= now => Err(NotHandedOver::Unknown {
                    group: self.config.name.clone(),
                    heir: sought.name,
                    known: self.names(),
                }),
                None => {
                    if sought.again_at <= now {
                        sought.again_at = now + SEEK_EVERY;
                        self.seek(now, sought.id, out);
                    }
                    self.sought.push(sought);
                    continue;
                }
            };
            // Whoever asked may have gone meanwhile.
            let _ = sought.found.send(verdict);
        }
    }
}

impl Group {
    pub(super) fn hand_over(
        &mut self,
        now: Instant,
        (span, within): (Duration, Duration),
        heir: Heir,
        fence: Fence,
        out: &mut Outbox,
    ) {
        self.tenancy.heir = Some(heir.id);
        self.handover = Some(Handover {
            heir,
            fence,
            span,
            within,
            until: None,
        });
        self.resign_tenure(now, out);
    }

    /// To whom this member hands over what it held.
    pub(super) fn heir(&self) -> Option<MemberId> {
        self.handover.as_ref().map(|it| it.heir.id)
    }

    /// Tenure is given up now: from now on it is the heir's to take.
    pub(super) fn begin_handover(&mut self, now: Instant, to: MemberId, out: &mut Outbox) {
        if let Some(handover) = &mut self.handover {
            handover.until = Some(now + handover.within);
            let within_ns = handover.within.0;
            let hands_over = Body::HandsOver {
                to,
                within_ns,
                fence: handover.fence.0,
                authority: self.tenancy.authority.id(),
            };
            // What is multicast may come after the release, which each voter is told by itself: a voter that waits for
            // tenure would take it, and so would one that waits and that a voter tells.
            let voters = self.tenancy.voters().filter(|it| *it != self.me.id);
            let waiters = self.tenancy.waiters.iter();
            let told: BTreeSet<MemberId> = voters.chain(waiters).collect();
            for receiver in told {
                if let Some(place) = self.address_of(receiver) {
                    self.send_to(receiver, Route::To(place), &hands_over, out);
                }
            }
            self.broadcast(now, &hands_over, out);
        }
    }

    /// This member takes no part any more: whoever waits for an heir waits in vain.
    pub(super) fn forget_handover(&mut self) {
        self.handover = None;
        self.tenancy.heir = None;
        self.sought.clear();
    }

    /// Tenure is about to be free, but not for this member, unless it is the heir: what it tries to get, it tries no
    /// more. Nobody need wait for longer than tenure lasts.
    pub(super) fn on_hands_over(
        &mut self,
        now: Instant,
        (to, within): (MemberId, Duration),
        fence: Fence,
        out: &mut Outbox,
    ) {
        let holder = self.tenancy.holder();
        if holder.is_some_and(|(_, higher)| higher > fence) {
            return; // the heir has it, or another
        }
        let within = within.min(self.config.authority.ttl().unwrap_or(Duration::ZERO));
        let is_heir = to == self.me.id;
        let until = now + within;
        self.tenancy.holds_back = (!is_heir).then_some(HoldsBack {
            heir: to,
            until,
            fence,
        });
        if !is_heir && self.tenancy.authority.holds(now).is_none() {
            self.ask_authority(now, Request::Withdraw, out);
        }
    }

    /// `holder` has tenure, or had. If it is the heir, whoever is named asks: the voters refuse, and say when it is free.
    pub(super) fn on_inherited(
        &mut self,
        now: Instant,
        holder: MemberId,
        fence: Fence,
        out: &mut Outbox,
    ) {
        let is_heir = |it: &mut HoldsBack| it.heir == holder && it.fence < fence;
        if self.tenancy.holds_back.take_if(is_heir).is_some() {
            self.on_freed(now, out);
        }
    }

    /// The heir has had its time: whoever waits may try.
    pub(super) fn end_holding_back(&mut self, now: Instant, out: &mut Outbox) {
        self.on_freed(now, out);
        self.tell_who_waits(|_| true, out);
    }

    /// Somebody holds tenure: is it the heir?
    pub(super) fn note_heir(
        &mut self,
        now: Instant,
        holder: MemberId,
        fence: Fence,
        out: &mut Outbox,
    ) {
        // With a lower fence it tells of what it held before.
        let is_it = |it: &mut Handover| it.heir.id == holder && it.fence < fence;
        if let Some(handover) = self.handover.take_if(is_it) {
            // Whoever wished it may have gone.
            let _ = handover.heir.told.send(HandedOver::Taken);
            self.step_down(now, handover.span, None, out);
        }
    }

    /// The heir has had its time, or what was kept for it until the work has stopped is lost.
    pub(super) fn pass_handover(&mut self, now: Instant, out: &mut Outbox) {
        let is_lost = self.tenancy.authority.holds(now).is_none();
        let is_over = |it: &mut Handover| it.until.map_or(is_lost, |until| until <= now);
        if let Some(handover) = self.handover.take_if(is_over) {
            let (group, heir) = (&self.config.name, self.describe(handover.heir.id).name);
            let within = handover.until.map(|_| handover.within);
            match within {
                Some(within) => tracing::warn!(
                    "group `{group}`: `{heir}` has not said within {within} that it has tenure: unless it has, whom the election names gets the next"
                ),
                None => tracing::warn!(
                    "group `{group}`: tenure was lost before it could be handed to `{heir}`: whom the election names gets the next"
                ),
            }
            let _ = handover.heir.told.send(HandedOver::Missed { within });
            self.tenancy.heir = None;
            self.step_down(now, handover.span, None, out);
        }
    }
}

// The heir's part.
impl Group {
    /// Tenure was handed to this member: from now on it tries to get it.
    pub(super) fn note_inheritance(&mut self, now: Instant, message: &[u8]) {
        if let (Ok(Message::Handover { .. }), AuthorityConfig::Quorum(quorum)) =
            (postcard::from_bytes(message), &self.config.authority)
        {
            self.tenancy.inherits_until = Some(now + quorum.taken_within());
        }
    }

    /// The heir has had its time. Whatever it has by now it keeps; for more it asks only if the election names it, or
    /// one that came too late would ask for ever.
    pub(super) fn end_inheritance(&mut self, now: Instant, out: &mut Outbox) {
        if !self.is_nominee() {
            self.ask_authority(now, Request::Withdraw, out);
        }
    }
}
