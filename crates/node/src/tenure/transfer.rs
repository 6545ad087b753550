//! Transfer of tenure to a named member.
//!
//! Purpose     moves tenure from the holder to a chosen member, the transferee
//! Inputs      transfer requests, `Transfer` and `Holds` messages, time
//! Outputs     `Transfer` messages, lookups of unknown members, the outcome for the requester
//! Owns        the transfer under way, the grace time for a transferee, pending lookups
//! Invariants  no tenure is given up for a member that does not exist: an unknown one is looked up
//!             first. The holder leaves the election only when the transferee has tenure or its
//!             time is over. So no new nominee can take tenure in between
//!
//! A follower is silent and may be unknown to the holder, although it exists.

use std::collections::BTreeSet;

use hustings_protocol::tenure::Fence;
use hustings_protocol::{Duration, Instant, MemberId};
use tokio::sync::oneshot;

use super::Tenure;
use crate::authority::{Authority, Request};
use crate::config::AuthorityConfig;
use crate::control::{TransferError, TransferOutcome};
use crate::frame::Body;
use crate::identity::member_id;
use crate::membership::Membership;
use crate::node::{Context, Event, Io, Route, StepDownCause};

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
    pub outcome: oneshot::Sender<TransferOutcome>,
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
    pub(super) until: Option<Instant>,
}

/// The time in which this member lets a transferee come first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TransferGrace {
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
    pub(super) again_at: Instant,
    pub(super) until: Instant,
    found: oneshot::Sender<Result<MemberId, TransferError>>,
}

// Before anything is given up.
impl Tenure {
    /// Reports whether tenure can be transferred to the member called `name`: at once, or after a
    /// lookup.
    pub(crate) fn find_transferee(
        &mut self,
        name: String,
        found: oneshot::Sender<Result<MemberId, TransferError>>,
        io: &mut Io<'_>,
    ) {
        let id = member_id(&name);
        let verdict = match self.refuse_handover(id, io) {
            Some(refusal) => Err(refusal),
            None if self.names(io).contains(&name) => Ok(id),
            None => {
                let (again_at, until) = (io.now, io.now + FOUND_WITHIN);
                self.pending_lookups.push(PendingLookup { name, id, again_at, until, found });
                self.pass_pending_lookups(io);
                return;
            }
        };
        // The requester may be gone.
        let _ = found.send(verdict);
    }

    fn refuse_handover(&self, transferee: MemberId, context: &Context) -> Option<TransferError> {
        let (group, member) = (context.config.name.clone(), context.member.clone());
        if !matches!(self.authority, Authority::Quorum(_)) {
            return Some(TransferError::NoVoters { group });
        }
        if transferee == context.me.id {
            let known = self.names(context);
            return Some(TransferError::Itself { group, member, known });
        }
        if self.fence.is_none() {
            let holder = self.holder.map(|it| context.describe(it.id).name);
            return Some(TransferError::NoTenure { group, member, holder });
        }
        None
    }

    /// Returns the names of all known members, up or not: heard, listed by others, or voters.
    fn names(&self, context: &Context) -> BTreeSet<String> {
        let heard = context.peers.iter().map(|(_, peer)| peer.name.clone());
        let listed = context.members.get().into_iter().flat_map(Membership::candidates);
        let listed = listed.map(|it| context.describe(it.id).name);
        let voters = self.voters.iter().map(|it| it.name.clone());
        let mut names: BTreeSet<String> = heard.chain(listed).chain(voters).collect();
        names.remove(&context.member);
        names
    }

    /// Repeats the pending lookups, and reports the members that were found.
    pub(super) fn pass_pending_lookups(&mut self, io: &mut Io<'_>) {
        for mut lookup in std::mem::take(&mut self.pending_lookups) {
            let verdict = match io.peers.get(lookup.id) {
                Some(_) => Ok(lookup.id),
                None if lookup.until <= io.now => Err(TransferError::Unknown {
                    group: io.config.name.clone(),
                    transferee: lookup.name,
                    known: self.names(io),
                }),
                None => {
                    if lookup.again_at <= io.now {
                        lookup.again_at = io.now + SEEK_EVERY;
                        io.raise(Event::Seek(lookup.id));
                    }
                    self.pending_lookups.push(lookup);
                    continue;
                }
            };
            // The requester may be gone.
            let _ = lookup.found.send(verdict);
        }
    }
}

impl Tenure {
    /// Begins a transfer of the tenure that this member holds from voters. It steps down for `span`
    /// when the transferee holds tenure. Returns false if there is nothing to transfer.
    pub(crate) fn begin_to_hand_over(
        &mut self,
        span: Duration,
        transferee: Option<Transferee>,
        io: &mut Io<'_>,
    ) -> bool {
        let (Some(transferee), Some(fence), AuthorityConfig::Quorum(quorum)) =
            (transferee, self.fence, &io.config.authority)
        else {
            return false;
        };
        let within = quorum.taken_within();
        self.transferee = Some(transferee.id);
        self.transfer = Some(Transfer { transferee, fence, span, within, until: None });
        self.resign_tenure(io);
        self.show(io);
        true
    }

    pub(super) fn transferee(&self) -> Option<MemberId> {
        self.transfer.as_ref().map(|it| it.transferee.id)
    }

    /// Announces that tenure is being released, and that only the transferee may take it.
    pub(super) fn begin_transfer(&mut self, to: MemberId, io: &mut Io<'_>) {
        if let Some(transfer) = &mut self.transfer {
            transfer.until = Some(io.now + transfer.within);
            let (within_ns, fence) = (transfer.within.0, transfer.fence.0);
            let hands_over =
                Body::Transfer { to, within_ns, fence, authority: self.authority.id() };
            // A multicast may arrive after the release, which is sent to each voter. A voter that
            // waits for tenure would then take it, and so would a waiting member that a voter
            // tells. So both kinds also get a unicast.
            let voters = io.voters.iter().copied().filter(|it| *it != io.me.id);
            let told: BTreeSet<MemberId> = voters.chain(self.refused.0.iter().copied()).collect();
            for receiver in told {
                if let Some(place) = io.address_of(receiver) {
                    io.send_to(receiver, Route::To(place), &hands_over);
                }
            }
            io.broadcast(&hands_over);
        }
    }

    /// Drops all transfers, because this member no longer takes part.
    pub(super) fn forget_transfers(&mut self) {
        self.transfer = None;
        self.transferee = None;
        self.pending_lookups.clear();
    }

    /// Handles another member's transfer. Unless this member is the transferee, it stops asking for
    /// tenure. It waits no longer than one ttl.
    pub(super) fn on_transfer(
        &mut self,
        (to, within): (MemberId, Duration),
        fence: Fence,
        io: &mut Io<'_>,
    ) {
        if self.holder.is_some_and(|it| it.fence > fence) {
            return; // the transferee or another member has it
        }
        let within = within.min(io.config.authority.ttl().unwrap_or(Duration::ZERO));
        let is_heir = to == io.me.id;
        let until = io.now + within;
        self.transfer_grace = (!is_heir).then_some(TransferGrace { transferee: to, until, fence });
        if !is_heir && self.authority.holds(io.now).is_none() {
            self.ask_authority(Request::Withdraw, io);
        }
    }

    /// Handles that `holder` has or had tenure. If it is the transferee, the grace time ends and a
    /// waiting nominee asks: the voters refuse, and say when tenure is free.
    pub(super) fn on_transfer_taken(&mut self, holder: MemberId, fence: Fence, io: &mut Io<'_>) {
        let is_heir = |it: &mut TransferGrace| it.transferee == holder && it.fence < fence;
        if self.transfer_grace.take_if(is_heir).is_some() {
            self.on_released(io);
        }
    }

    /// Ends the grace time of a transferee: waiting members may ask.
    pub(super) fn end_holding_back(&mut self, io: &mut Io<'_>) {
        self.on_released(io);
        self.notify_waiters(|_| true, io);
    }

    /// Completes the transfer, if `holder` is its transferee.
    pub(super) fn note_transferee(&mut self, holder: MemberId, fence: Fence, io: &mut Io<'_>) {
        // With a lower fence, it announces what it held before.
        let is_it = |it: &mut Transfer| it.transferee.id == holder && it.fence < fence;
        if let Some(transfer) = self.transfer.take_if(is_it) {
            // The requester may be gone.
            let _ = transfer.transferee.outcome.send(TransferOutcome::Taken);
            step_down(transfer.span, io);
        }
    }

    /// Ends a transfer whose time is over, or whose tenure was lost before the work stopped.
    pub(super) fn pass_transfer(&mut self, io: &mut Io<'_>) {
        let is_lost = self.authority.holds(io.now).is_none();
        let is_over = |it: &mut Transfer| it.until.map_or(is_lost, |until| until <= io.now);
        if let Some(transfer) = self.transfer.take_if(is_over) {
            let (group, transferee) = (&io.config.name, io.describe(transfer.transferee.id).name);
            let within = transfer.until.map(|_| transfer.within);
            match within {
                Some(within) => tracing::warn!(
                    "group `{group}`: `{transferee}` has not announced tenure within {within}: unless it has acquired it, the nominee of the election acquires the next tenure"
                ),
                None => tracing::warn!(
                    "group `{group}`: tenure was lost before it could be transferred to `{transferee}`: the nominee of the election acquires the next tenure"
                ),
            }
            let _ = transfer.transferee.outcome.send(TransferOutcome::Missed { within });
            self.transferee = None;
            step_down(transfer.span, io);
        }
    }
}

// The transferee's side.
impl Tenure {
    /// Notes that tenure was transferred to this member: it asks for tenure from now on.
    pub(super) fn note_transfer_received(&mut self, context: &Context) {
        if let AuthorityConfig::Quorum(quorum) = &context.config.authority {
            self.receives_transfer_until = Some(context.now + quorum.taken_within());
        }
    }

    /// Ends the time of this transferee. It keeps what it has. Unless the election names it, it
    /// stops asking, or a late transferee would ask for ever.
    pub(super) fn end_inheritance(&mut self, io: &mut Io<'_>) {
        if !io.is_nominee() {
            self.ask_authority(Request::Withdraw, io);
        }
    }
}

/// Steps down when a transfer is over.
fn step_down(span: Duration, io: &mut Io<'_>) {
    let cause = StepDownCause::Asked;
    io.raise(Event::StepDown { span, cause, why: None, has_resigned: false });
}
