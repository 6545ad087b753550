//! Transfer of tenure to a named member.
//!
//! Purpose     moves tenure from the holder to a chosen member, the transferee
//! Inputs      transfer requests, `Transfer` and `Holds` messages, time
//! Outputs     `Transfer` messages, lookups of unknown members, the outcome for the requester
//! Owns        the transfer under way, the grace time for a transferee, pending lookups
//! Invariants  no tenure is given up for a member that does not exist: an unknown one is looked up
//!             first. The holder leaves the election only when the transferee has tenure or its
//!             time is over, so a new nominee comes too late and waits
//!
//! A follower is silent and may be unknown to the holder, although it exists.

use std::collections::BTreeSet;

use hustings_protocol::tenure::{Fence, Message};
use hustings_protocol::{Duration, Instant, MemberId};
use tokio::sync::oneshot;

use super::{Group, Outbox, Route};
use crate::authority::{Authority, Request};
use crate::config::AuthorityConfig;
use crate::control::{TransferError, TransferOutcome};
use crate::frame::Body;
use crate::identity::member_id;
use crate::membership::Membership;

/// The time within which an existing member answers a lookup, even if a call or two were lost.
const FOUND_WITHIN: Duration = Duration::from_millis(250);
const SEEK_EVERY: Duration = Duration::from_millis(50);

/// The member that is to get tenure, and the channel for the outcome. A drop without a message
/// means that it did not get tenure.
#[derive(Debug)]
pub struct Transferee {
    /// The member's id.
    pub id: MemberId,
    /// Receives the outcome.
    pub told: oneshot::Sender<TransferOutcome>,
}

/// A transfer by this member, which still leads the election.
#[derive(Debug)]
pub(super) struct Transfer {
    transferee: Transferee,
    /// The transferred fence. The transferee's is higher.
    fence: Fence,
    /// The time for which this member steps down afterwards, whether the transferee comes or not.
    span: Duration,
    /// The time that the transferee has after the release.
    within: Duration,
    /// `None` while this member's work goes on and it keeps tenure.
    until: Option<Instant>,
}

impl Transfer {
    pub(super) fn due(&self) -> Option<Instant> {
        self.until
    }
}

/// The time in which this member lets a transferee come first.
#[derive(Debug, Clone, Copy)]
pub(super) struct TransferGrace {
    pub(super) transferee: MemberId,
    pub(super) until: Instant,
    /// The transferred fence. The transferee's is higher.
    pub(super) fence: Fence,
}

/// A requested transferee from which no frame has arrived yet.
#[derive(Debug)]
pub(super) struct PendingLookup {
    name: String,
    id: MemberId,
    again_at: Instant,
    until: Instant,
    found: oneshot::Sender<Result<MemberId, TransferError>>,
}

impl PendingLookup {
    pub(super) fn due(&self) -> Instant {
        self.again_at.min(self.until)
    }
}

// Before anything is given up.
impl Group {
    /// Reports whether tenure can be transferred to the member called `name`: at once, or after a
    /// lookup.
    pub fn find_transferee(
        &mut self,
        now: Instant,
        name: String,
        found: oneshot::Sender<Result<MemberId, TransferError>>,
        out: &mut Outbox,
    ) {
        let id = member_id(&name);
        let verdict = match self.refuse_handover(id) {
            Some(refusal) => Err(refusal),
            None if self.names().contains(&name) => Ok(id),
            None => {
                self.pending_lookups.push(PendingLookup {
                    name,
                    id,
                    again_at: now,
                    until: now + FOUND_WITHIN,
                    found,
                });
                self.pass_pending_lookups(now, out);
                return;
            }
        };
        // The requester may be gone.
        let _ = found.send(verdict);
    }

    fn refuse_handover(&self, transferee: MemberId) -> Option<TransferError> {
        let (group, member) = (self.config.name.clone(), self.member.clone());
        if !matches!(self.tenure.authority, Authority::Quorum(_)) {
            return Some(TransferError::NoVoters { group });
        }
        if transferee == self.me.id {
            let known = self.names();
            return Some(TransferError::Itself { group, member, known });
        }
        if self.tenure.fence().is_none() {
            let holder = self.tenure.holder();
            return Some(TransferError::NoTenure {
                group,
                member,
                holder: holder.map(|(id, _)| self.describe(id).name),
            });
        }
        None
    }

    /// Returns the names of all known members, up or not: heard, listed by others, or voters.
    fn names(&self) -> BTreeSet<String> {
        let heard = self.peer_table.iter().map(|(_, peer)| peer.name.clone());
        let listed = self.membership.iter().flat_map(Membership::candidates);
        let listed = listed.map(|it| self.describe(it.id).name);
        let voters = self.tenure.voters.iter().map(|it| it.name.clone());
        let mut names: BTreeSet<String> = heard.chain(listed).chain(voters).collect();
        names.remove(&self.member);
        names
    }

    /// Repeats the pending lookups, and reports the members that were found.
    pub(super) fn pass_pending_lookups(&mut self, now: Instant, out: &mut Outbox) {
        for mut pending_lookups in std::mem::take(&mut self.pending_lookups) {
            let verdict = match self.peer_table.get(pending_lookups.id) {
                Some(_) => Ok(pending_lookups.id),
                None if pending_lookups.until <= now => Err(TransferError::Unknown {
                    group: self.config.name.clone(),
                    transferee: pending_lookups.name,
                    known: self.names(),
                }),
                None => {
                    if pending_lookups.again_at <= now {
                        pending_lookups.again_at = now + SEEK_EVERY;
                        self.seek(now, pending_lookups.id, out);
                    }
                    self.pending_lookups.push(pending_lookups);
                    continue;
                }
            };
            // The requester may be gone.
            let _ = pending_lookups.found.send(verdict);
        }
    }
}

impl Group {
    pub(super) fn hand_over(
        &mut self,
        now: Instant,
        (span, within): (Duration, Duration),
        transferee: Transferee,
        fence: Fence,
        out: &mut Outbox,
    ) {
        self.tenure.transferee = Some(transferee.id);
        self.transfer = Some(Transfer { transferee, fence, span, within, until: None });
        self.resign_tenure(now, out);
    }

    pub(super) fn transferee(&self) -> Option<MemberId> {
        self.transfer.as_ref().map(|it| it.transferee.id)
    }

    /// Announces that tenure is being released, and that only the transferee may take it.
    pub(super) fn begin_transfer(&mut self, now: Instant, to: MemberId, out: &mut Outbox) {
        if let Some(transfer) = &mut self.transfer {
            transfer.until = Some(now + transfer.within);
            let within_ns = transfer.within.0;
            let hands_over = Body::Transfer {
                to,
                within_ns,
                fence: transfer.fence.0,
                authority: self.tenure.authority.id(),
            };
            // A multicast may arrive after the release, which is sent to each voter. A voter that
            // waits for tenure would then take it, and so would a waiting member that a voter
            // tells. So both kinds also get a unicast.
            let voters = self.tenure.voters().filter(|it| *it != self.me.id);
            let waiters = self.tenure.waiters.iter();
            let told: BTreeSet<MemberId> = voters.chain(waiters).collect();
            for receiver in told {
                if let Some(place) = self.address_of(receiver) {
                    self.send_to(receiver, Route::To(place), &hands_over, out);
                }
            }
            self.broadcast(now, &hands_over, out);
        }
    }

    /// Drops all transfers, because this member no longer takes part.
    pub(super) fn forget_handover(&mut self) {
        self.transfer = None;
        self.tenure.transferee = None;
        self.pending_lookups.clear();
    }

    /// Handles another member's transfer. Unless this member is the transferee, it stops asking for
    /// tenure. It waits no longer than one ttl.
    pub(super) fn on_transfer(
        &mut self,
        now: Instant,
        (to, within): (MemberId, Duration),
        fence: Fence,
        out: &mut Outbox,
    ) {
        let holder = self.tenure.holder();
        if holder.is_some_and(|(_, higher)| higher > fence) {
            return; // the transferee or another member has it
        }
        let within = within.min(self.config.authority.ttl().unwrap_or(Duration::ZERO));
        let is_heir = to == self.me.id;
        let until = now + within;
        self.tenure.transfer_grace =
            (!is_heir).then_some(TransferGrace { transferee: to, until, fence });
        if !is_heir && self.tenure.authority.holds(now).is_none() {
            self.ask_authority(now, Request::Withdraw, out);
        }
    }

    /// Handles that `holder` has or had tenure. If it is the transferee, the grace time ends and a
    /// waiting nominee asks: the voters refuse, and say when tenure is free.
    pub(super) fn on_transfer_taken(
        &mut self,
        now: Instant,
        holder: MemberId,
        fence: Fence,
        out: &mut Outbox,
    ) {
        let is_heir = |it: &mut TransferGrace| it.transferee == holder && it.fence < fence;
        if self.tenure.transfer_grace.take_if(is_heir).is_some() {
            self.on_released(now, out);
        }
    }

    /// Ends the grace time of a transferee: waiting members may ask.
    pub(super) fn end_holding_back(&mut self, now: Instant, out: &mut Outbox) {
        self.on_released(now, out);
        self.tell_who_waits(|_| true, out);
    }

    /// Completes the transfer, if `holder` is its transferee.
    pub(super) fn note_transferee(
        &mut self,
        now: Instant,
        holder: MemberId,
        fence: Fence,
        out: &mut Outbox,
    ) {
        // With a lower fence, it announces what it held before.
        let is_it = |it: &mut Transfer| it.transferee.id == holder && it.fence < fence;
        if let Some(transfer) = self.transfer.take_if(is_it) {
            // The requester may be gone.
            let _ = transfer.transferee.told.send(TransferOutcome::Taken);
            self.step_down(now, transfer.span, None, out);
        }
    }

    /// Ends a transfer whose time is over, or whose tenure was lost before the work stopped.
    pub(super) fn pass_transfer(&mut self, now: Instant, out: &mut Outbox) {
        let is_lost = self.tenure.authority.holds(now).is_none();
        let is_over = |it: &mut Transfer| it.until.map_or(is_lost, |until| until <= now);
        if let Some(transfer) = self.transfer.take_if(is_over) {
            let (group, transferee) =
                (&self.config.name, self.describe(transfer.transferee.id).name);
            let within = transfer.until.map(|_| transfer.within);
            match within {
                Some(within) => tracing::warn!(
                    "group `{group}`: `{transferee}` has not said within {within} that it has tenure: unless it has, whom the election names gets the next"
                ),
                None => tracing::warn!(
                    "group `{group}`: tenure was lost before it could be handed to `{transferee}`: whom the election names gets the next"
                ),
            }
            let _ = transfer.transferee.told.send(TransferOutcome::Missed { within });
            self.tenure.transferee = None;
            self.step_down(now, transfer.span, None, out);
        }
    }
}

// The transferee's side.
impl Group {
    /// Notes that tenure was transferred to this member: it asks for tenure from now on.
    pub(super) fn note_transfer_received(&mut self, now: Instant, message: &[u8]) {
        if let (Ok(Message::Handover { .. }), AuthorityConfig::Quorum(quorum)) =
            (postcard::from_bytes(message), &self.config.authority)
        {
            self.tenure.receives_transfer_until = Some(now + quorum.taken_within());
        }
    }

    /// Ends the time of this transferee. It keeps what it has. Unless the election names it, it
    /// stops asking, or a late transferee would ask for ever.
    pub(super) fn end_inheritance(&mut self, now: Instant, out: &mut Outbox) {
        if !self.is_nominee() {
            self.ask_authority(now, Request::Withdraw, out);
        }
    }
}
