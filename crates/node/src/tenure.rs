//! Tenure: the nominee asks the authority, and leads only while the authority grants it tenure.
//!
//! Purpose     turns a nomination into tenure, and releases tenure when the work under it has
//!             stopped
//! Inputs      nominations, messages of voters, lease events, completed writes, time
//! Outputs     messages to voters, `Holds` broadcasts, the published fence, refusals, log lines
//! Owns        [`Tenure`]: the authority, the fence shown to the user, the voters, transfers, the
//!             voter query
//! Invariants  the published fence is one that the authority holds now. A member that is leaving
//!             starts no work, and releases tenure only when its work has stopped: otherwise
//!             another could start too early
//!
//! If the protocol keeps a working leader, a holder goes on although the election names another
//! member. The election may name several in a row before it settles, and each of them waits.
//! Otherwise, and when a holder steps down, it stops first: the user learns that the member does
//! not lead, the work stops, and only then is tenure released.

mod authority_mismatch;
mod holder;
mod last_will;
mod refusals;
mod release_notice;
mod stand_aside;
mod tenure_status;
#[cfg(test)]
mod tests;
mod transfer;
mod voter;
mod voter_latency;
mod voter_query;

use std::collections::VecDeque;

use hustings_protocol::tenure::{Fence, Message, Request, TenureOutcome};
use hustings_protocol::{Duration, Instant, MemberId};
use tokio::sync::watch;

use crate::authority::in_flight::InFlight;
use crate::authority::quorum::Act;
use crate::authority::{Authority, LastWill, LeaseEvent, LeaseWatch};
use crate::control::{Resignation, Told};
use crate::frame::{Body, Sender};
use crate::leadership::Mode;
use crate::node::{
    Admitted, Component, Context, Event, Io, Participation, StepDownCause, TenureFacts,
};
use crate::seal::Rejected;
use authority_mismatch::AuthorityMismatch;
use holder::{Holder, TELL_AGAIN};
pub(crate) use last_will::LAST_NUMBER;
use last_will::Sealed;
use release_notice::RefusedNominees;
use stand_aside::StandAside;
pub use tenure_status::{REACHED_WITHIN, Refusal, TenureStatus, VoterStatus};
pub use transfer::Transferee;
use transfer::{PendingLookup, Transfer, TransferGrace};
use voter::Voter;
use voter_latency::{DISK_IS_SILENT, VoterLatency};
use voter_query::VoterQueryRound;

/// The time that a nominee may be without tenure before it reports why.
pub(crate) const EXPLAIN_EVERY: Duration = Duration::from_secs(3);

/// The state of a member on its way to tenure, and under it.
pub(crate) struct Tenure {
    authority: Authority,
    in_flight: InFlight,
    /// The holder is no longer named: it releases tenure when its work has stopped.
    is_leaving: bool,
    /// The fence that was released, although the store may not know yet.
    given_up: Option<Fence>,
    /// The member holds tenure although the election names another member, which waits.
    holds_unelected: bool,
    /// The member for which tenure is given up, if not for the nominee.
    transferee: Option<MemberId>,
    /// The fence that the user was shown.
    fence: Option<Fence>,
    /// The last other member that announced tenure.
    holder: Option<Holder>,
    tell_at: Option<Instant>,
    /// The time to report why the nominee has no tenure.
    explain_at: Option<Instant>,
    /// The time since which the election names this member and it has no tenure.
    lacks_since: Option<Instant>,
    /// True if this member lost tenure because a majority of the voters did not answer, and the
    /// election has named it since.
    lost_majority: bool,
    stand_aside: StandAside,
    /// Set while a transferee may take tenure first.
    transfer_grace: Option<TransferGrace>,
    /// This member is a transferee, and asks for tenure until then, named or not.
    receives_transfer_until: Option<Instant>,
    /// This tenure came by a transfer. It stays, even if better candidates take over in this group.
    by_transfer: bool,
    refused: RefusedNominees,
    voters: Vec<Voter>,
    voter_latency: VoterLatency,
    refusals: VecDeque<Refusal>,
    /// The reason why this member takes no tenure from its store, while it does not.
    shut_out: Option<Refusal>,
    /// The end of this process's last pause, and its length.
    paused: Option<(Instant, Duration)>,
    authority_mismatch: AuthorityMismatch,
    last_will: watch::Sender<LastWill>,
    /// The content of the current last will; `None` while there is none.
    worded: Option<Sealed>,
    transfer: Option<Transfer>,
    /// Requested transferees from which no frame has arrived yet.
    pending_lookups: Vec<PendingLookup>,
    voter_query: Option<VoterQueryRound>,
    /// The facts that the other components know.
    shown: TenureFacts,
}

impl Tenure {
    pub(crate) fn new(authority: Authority, in_flight: InFlight) -> Self {
        Self {
            voters: authority.voters().map(Voter::new).collect(),
            authority,
            in_flight,
            is_leaving: false,
            given_up: None,
            holds_unelected: false,
            transferee: None,
            fence: None,
            holder: None,
            tell_at: None,
            explain_at: None,
            lacks_since: None,
            lost_majority: false,
            stand_aside: StandAside::default(),
            transfer_grace: None,
            receives_transfer_until: None,
            by_transfer: false,
            refused: RefusedNominees::default(),
            voter_latency: VoterLatency::default(),
            refusals: VecDeque::new(),
            shut_out: None,
            paused: None,
            authority_mismatch: AuthorityMismatch::default(),
            last_will: watch::Sender::default(),
            worded: None,
            transfer: None,
            pending_lookups: Vec::new(),
            voter_query: None,
            shown: TenureFacts::default(),
        }
    }

    pub(crate) fn mode(&self) -> Mode {
        match self.authority {
            Authority::Nobody => Mode::Advisory,
            _ => Mode::Fenced,
        }
    }

    pub(crate) fn voters(&self) -> impl Iterator<Item = MemberId> {
        self.voters.iter().map(|it| it.id)
    }

    /// Returns the watch on this member's lease, if the group has an authority.
    pub(crate) fn lease_watch(&self) -> Option<LeaseWatch> {
        self.authority.lease_watch()
    }

    /// Returns the count of work in progress under tenure.
    pub(crate) fn in_flight(&self) -> InFlight {
        self.in_flight.clone()
    }

    /// Waits until the store knows of a release by this member, if there is a store.
    pub(crate) async fn finish(self) {
        if let Authority::Store { lease_client, .. } = self.authority {
            lease_client.finish().await;
        }
    }

    /// Shows the other components what has changed.
    fn show(&mut self, io: &mut Io<'_>) {
        let facts = TenureFacts {
            fence: self.fence,
            holder: self.holder.map(|it| (it.id, it.fence)),
            receives_transfer: self.receives_transfer_until.is_some(),
        };
        if facts != self.shown {
            self.shown = facts;
            io.raise(Event::TenureChanged(facts));
        }
    }
}

impl Component for Tenure {
    fn on(&mut self, event: &Event<'_>, io: &mut Io<'_>) {
        match event {
            Event::TakePart => {
                let acts = self.authority.start(io.now);
                self.act_on_tenure(acts, io);
            }
            Event::Timeout => self.on_timeout(io),
            Event::Heard(heard) => self.heard(heard, io),
            Event::NomineeChanged { was_named, .. } => {
                if let Some(nominee) = io.nominee {
                    self.doubt_holder(nominee, io);
                }
                if io.is_nominee() != *was_named {
                    self.nominate(io.is_nominee(), io);
                }
            }
            Event::Saved(done) => self.on_saved(done, io),
            Event::Lease(lease_event) => self.on_lease_event(lease_event, io),
            Event::ReleaseIfIdle => self.leave_tenure(io),
            Event::Ask(request) => self.ask_authority(*request, io),
            Event::Paused(span) => self.note_pause(*span, io),
            Event::PeerMoved => self.word_last_words(io),
            Event::UnprovenHolder { member, fence, address } => {
                let (member, fence, address) = (member.clone(), *fence, *address);
                self.tell_query(Told::Unproven { member, fence, address });
            }
            Event::GiveUpTenure => self.resign_tenure(io),
            Event::DisownTenure => self.disown_tenure(io),
            Event::ForgetTransfers => self.forget_transfers(),
            Event::StepDownOver => self.come_back(io),
            _ => return,
        }
        self.show(io);
    }

    fn next_timeout(&self) -> Option<Instant> {
        let times = [
            self.authority.due(),
            self.tell_at,
            self.holder.map(|it| it.until),
            self.transfer_grace.map(|it| it.until),
            self.receives_transfer_until,
            self.explain_at,
            self.stand_aside.ends_at,
            self.transfer.as_ref().and_then(|it| it.until),
            self.pending_lookups.iter().map(|it| it.again_at.min(it.until)).min(),
        ];
        times.into_iter().flatten().min()
    }
}

// Inputs.
impl Tenure {
    fn heard(&mut self, heard: &Admitted<'_>, io: &mut Io<'_>) {
        let sender = &heard.frame.sender;
        match heard.frame.body {
            Body::Tenure { to, authority, message } => {
                self.on_tenure_message(heard, (to, authority), message, io);
            }
            Body::Granted { longest_ns, question } => {
                self.on_granted(sender.id, question, Duration(longest_ns));
            }
            Body::Released { authority } if self.shares_authority(sender, authority, io) => {
                self.on_released(io);
            }
            Body::Transfer { to, within_ns, fence, authority }
                if self.shares_authority(sender, authority, io) =>
            {
                self.on_transfer((to, Duration(within_ns)), Fence(fence), io);
            }
            Body::Holds { fence, lasts_ns, authority } => {
                if self.shares_authority(sender, authority, io) {
                    let fence = Fence(fence);
                    self.authority.hear_fence(sender.id, authority, fence, lasts_ns > 0);
                    if self.refuses_far_fence(sender.id, fence, io) {
                        return;
                    }
                    self.on_holds(sender.id, fence, Duration(lasts_ns), io);
                    self.yield_to_fence(sender.id, fence, io);
                    self.on_transfer_taken(sender.id, fence, io);
                    self.note_transferee(sender.id, fence, io);
                } else {
                    let (member, holds) = (sender.name.to_owned(), lasts_ns > 0);
                    self.tell_query(Told::Another { member, fence: Some(fence), holds });
                    if lasts_ns > 0 {
                        self.note_other_holder(sender, io);
                    }
                }
            }
            Body::Hello { .. } | Body::Up => {
                self.announce_tenure_to(sender.id, heard.address, io);
            }
            _ => {}
        }
    }

    /// Handles a message of tenure. It is decoded here, once.
    fn on_tenure_message(
        &mut self,
        heard: &Admitted<'_>,
        (to, authority): (MemberId, u64),
        bytes: &[u8],
        io: &mut Io<'_>,
    ) {
        let sender = &heard.frame.sender;
        let message = postcard::from_bytes::<Message>(bytes);
        // Otherwise the message is for a member that the sender is looking for. A message that a
        // member addresses to itself is for every voter.
        let is_addressed = to == io.me.id || to == sender.id;
        if !self.shares_authority(sender, authority, io) {
            if let Ok(message) = &message {
                self.on_other_voter_list(heard, (message, bytes), io);
            }
            io.emit.counters.other_voters += u64::from(is_addressed);
        } else if is_addressed {
            self.on_tenure(sender, message.ok(), io);
        }
    }

    /// Handles that the election names this member, or no longer does.
    fn nominate(&mut self, is_named: bool, io: &mut Io<'_>) {
        if self.transfer.is_some() {
            return; // the transferee gets the tenure, regardless of the nominee
        }
        let stays = self.holds_unelected || self.by_transfer;
        let keeps = stays || io.config.protocol.keeps_leaders();
        self.holds_unelected = !is_named && keeps && self.fence.is_some();
        // A transferee may take the transferred tenure, regardless of the nominee.
        let inherits = self.receives_transfer_until.is_some();
        self.is_leaving = !is_named && !self.holds_unelected && !inherits;
        self.explain_at = is_named.then(|| io.now + EXPLAIN_EVERY);
        self.lacks_since = is_named.then_some(io.now);
        self.lost_majority = false;
        self.begin_to_wait(io);
        // While a transferee may take tenure, the nominee waits until that time has passed.
        let may_ask = self.transfer_grace.is_none() || self.authority.holds(io.now).is_some();
        match is_named {
            true if may_ask => self.ask_authority(Request::Acquire, io),
            false if !inherits => self.ask_authority(Request::Withdraw, io),
            true | false => {}
        }
        self.release_later(io);
        if self.holds_unelected {
            self.announce_tenure(io); // the others have just learnt of another nominee
            self.tell_at = Some(io.now + TELL_AGAIN); // or are about to
        }
    }

    /// Releases tenure, however it was gained, when the work has stopped.
    fn resign_tenure(&mut self, io: &mut Io<'_>) {
        self.holds_unelected = false;
        self.receives_transfer_until = None;
        self.is_leaving = true;
        self.ask_authority(Request::Withdraw, io);
        self.release_later(io);
    }

    /// Releases tenure as soon as it is published that this member no longer leads. Work that finds
    /// the member leading has been counted before, so the release sees it.
    fn release_later(&self, io: &mut Io<'_>) {
        if self.is_leaving {
            io.raise(Event::ReleaseIfIdle);
        }
    }

    /// Passes a request to the authority.
    fn ask_authority(&mut self, request: Request, io: &mut Io<'_>) {
        let acts = self.authority.request(io.now, request);
        self.act_on_tenure(acts, io);
        if let Request::Healthy(is_healthy) = request {
            self.note_health(is_healthy, io);
            self.pass_stand_aside(io);
        }
    }

    /// Releases tenure, if the member is leaving and its work has stopped.
    fn leave_tenure(&mut self, io: &mut Io<'_>) {
        let is_copied = matches!(io.participation, Participation::Copied(_));
        if self.is_leaving && !is_copied && !self.in_flight.is_occupied() {
            self.is_leaving = false;
            self.given_up = self.authority.holds(io.now).map(|held| held.fence);
            match self.transferee.take() {
                Some(to) => {
                    self.begin_transfer(to, io);
                    self.ask_authority(Request::Transfer { to }, io);
                }
                None => {
                    self.ask_authority(Request::Release, io);
                    // A voter receives no release from itself.
                    self.notify_waiters(|_| true, io);
                }
            }
        }
    }

    /// Drops tenure without a release, because a copy of this process holds the same tenure. It is
    /// not released later either, nor when this process ends.
    fn disown_tenure(&mut self, context: &Context) {
        self.authority.forfeit(context.now);
        self.fence = None;
        self.last_will.send_replace(LastWill::default());
    }

    fn on_tenure(&mut self, sender: &Sender<'_>, message: Option<Message>, io: &mut Io<'_>) {
        let mut voters = self.voters.iter_mut();
        if let Some(voter) = voters.find(|it| it.id == sender.id) {
            voter.heard = Some(io.now);
            if let Some(took) = voter.asked.answered(io.now, Some(sender.incarnation)) {
                self.check_voter_latency(took, io);
            }
        }
        let Some(message) = message else {
            if let Authority::Quorum(_) = self.authority {
                io.emit.counters.reject(Rejected::Malformed);
            }
            return;
        };
        if self.answers_query(sender.id, &message, io) {
            return;
        }
        self.answer_query(sender.id, &message, io);
        self.note_answer(sender.id, &message, io);
        let acts = match &mut self.authority {
            Authority::Quorum(quorum) => quorum.hear(io.now, sender.id, message),
            Authority::Nobody | Authority::Store { .. } => Vec::new(), // it uses another authority
        };
        self.act_on_tenure(acts, io);
        match message {
            Message::Handover { .. } => self.note_transfer_received(io),
            Message::Release { ballot } => self.on_release(sender.id, ballot, io),
            _ => {}
        }
    }

    /// Handles the end of a voter's write to disk.
    fn on_saved(&mut self, done: &Result<(), String>, io: &mut Io<'_>) {
        if let Err(error) = done {
            self.note_fault(error, io);
        }
        let acts = self.authority.on_saved(io.now, done.is_ok());
        self.act_on_tenure(acts, io);
        self.pass_stand_aside(io);
    }

    /// Handles an event of an authority outside the loop.
    fn on_lease_event(&mut self, event: &LeaseEvent, io: &mut Io<'_>) {
        match event {
            LeaseEvent::Refused(why) => self.note_refusal(why, io),
            LeaseEvent::ShutOut(why) => self.note_shut_out(why.as_deref(), io),
            LeaseEvent::Failed(why) => self.note_fault(why, io),
            LeaseEvent::TakesNothingUntil(until) => self.let_another_ask(*until, io),
            // If the fence was known before the lease client showed its win, no member has yielded
            // yet.
            LeaseEvent::Contested { by, fence } if self.fence.is_some() => {
                self.yield_to_fence(*by, *fence, io);
            }
            LeaseEvent::OutOfReach { by, fence, reach } => {
                self.note_far_fence(*by, *fence, *reach, io);
            }
            LeaseEvent::Contested { .. } | LeaseEvent::Gained(_) | LeaseEvent::Lost(_) => {}
        }
        self.look_at_tenure(io);
        self.pass_stand_aside(io);
    }

    fn on_timeout(&mut self, io: &mut Io<'_>) {
        if self.holder.is_some_and(|it| it.until <= io.now) {
            self.holder = None;
            self.show(io);
        }
        let was_stuck = self.authority.is_stuck();
        let acts = self.authority.pass(io.now);
        self.act_on_tenure(acts, io);
        let saves = self.authority.saves_since().is_some();
        if !was_stuck && saves && self.authority.is_stuck() {
            // Whether or not the member is named, because it does not vote either.
            self.note_fault(DISK_IS_SILENT, io);
        }
        let now = io.now;
        let is_due = |at: &mut Instant| *at <= now;
        if self.explain_at.take_if(is_due).is_some() {
            self.explain_silence(io);
        }
        if self.transfer_grace.take_if(|it| it.until <= io.now).is_some() {
            self.end_holding_back(io);
        }
        if self.receives_transfer_until.take_if(is_due).is_some() {
            self.end_inheritance(io);
        }
        if self.tell_at.is_some_and(|at| at <= io.now) {
            self.announce_tenure(io);
        }
        self.pass_stand_aside(io);
        self.pass_transfer(io);
        self.pass_pending_lookups(io);
    }

    /// Steps aside, because this member cannot hold tenure. What it holds is given up at once.
    fn step_aside(&mut self, span: Duration, why: String, io: &mut Io<'_>) {
        if !io.is_active() {
            return;
        }
        let cause = StepDownCause::CannotHold;
        io.raise(Event::SteppingDown(cause));
        self.resign_tenure(io);
        let why = Some(Resignation { why, is_failure: true });
        io.raise(Event::StepDown { span, cause, why, has_resigned: true });
    }
}

// Actions.
impl Tenure {
    fn act_on_tenure(&mut self, acts: Vec<Act>, io: &mut Io<'_>) {
        if !io.is_active() {
            return; // of two processes with one name, only one may speak
        }
        for act in acts {
            match act {
                Act::Unicast { to, message } => {
                    let decoded = postcard::from_bytes::<Message>(&message).ok();
                    if let Some(decoded) = &decoded {
                        self.note_waiter(to, decoded);
                    }
                    let is_question = decoded.is_some_and(|it| it.question().is_some());
                    self.send_tenure(to, (&message, is_question), io);
                }
                Act::Report(TenureOutcome::Refused(refused)) => {
                    let why = self.in_words(refused, io);
                    self.note_refusal(&why, io);
                    self.wait_longer(refused, io);
                }
                _ => {} // carried out by the authority
            }
        }
        self.look_at_tenure(io);
    }

    /// Publishes a change of tenure to the user and to the other members.
    fn look_at_tenure(&mut self, io: &mut Io<'_>) {
        self.word_last_words(io);
        let held = self.authority.holds(io.now).map(|held| held.fence);
        // A member that is leaving still holds tenure, but may start no work.
        let fence = held.filter(|it| !self.is_leaving && self.given_up != Some(*it));
        if fence == self.fence {
            return;
        }
        let before = std::mem::replace(&mut self.fence, fence);
        self.holds_unelected = fence.is_some() && !io.is_nominee();
        self.by_transfer = fence.is_some() && self.receives_transfer_until.is_some();
        self.lost_majority = fence.is_none() && self.lacks_answers(io, io.now);
        self.begin_to_wait(io);
        self.show(io);
        match (before, fence) {
            (_, Some(_)) => self.announce_tenure(io),
            (Some(fence), None) => {
                if held.is_none() && !self.is_leaving {
                    self.warn_of_loss(fence, io);
                }
                self.tell_at = None;
                self.explain_at = io.is_nominee().then(|| io.now + EXPLAIN_EVERY);
                self.lacks_since = io.is_nominee().then_some(io.now);
                let held = self.holds(fence, Duration::ZERO);
                io.broadcast(&held);
            }
            (None, None) => {}
        }
    }
}
