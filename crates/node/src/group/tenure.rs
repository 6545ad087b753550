//! Tenure: the nominee asks the authority, and leads only while the authority grants it tenure.
//!
//! Purpose     turns a nomination into tenure, and releases tenure when the work under it has
//!             stopped
//! Inputs      nominations, messages of voters, lease events, completed writes, time
//! Outputs     messages to voters, `Holds` broadcasts, the published fence, refusals, log lines
//! Owns        [`TenureState`]: the authority, the fence shown to the user, the voters, the
//!             transfer timers
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
mod status;
mod waiters;

use std::collections::VecDeque;

use hustings_protocol::tenure::{Fence, Message, Request, counter};
use hustings_protocol::{Duration, Instant, MemberId};
use tokio::sync::watch;

use super::cause::Trigger;
use super::stand_aside::StandAside;
use super::transfer::TransferGrace;
use super::voter_latency::{Asked, VoterLatency};
use super::{Group, Outbox, Participation, Route};
use crate::authority::LastWill;
use crate::authority::in_flight::InFlight;
use crate::authority::quorum::Act;
use crate::authority::{Authority, LeaseEvent};
use crate::frame::{Body, Sender};
use crate::leadership::Mode;
use crate::seal::Rejected;
use authority_mismatch::AuthorityMismatch;
use holder::{Holder, TELL_AGAIN};
pub(super) use last_will::LAST_NUMBER;
use last_will::Sealed;
pub use status::{REACHED_WITHIN, Refusal, TenureStatus, VoterStatus};
use waiters::Waiters;

/// The most multicast calls to one voter within [`CALLS_IN`]: one attempt, and its end.
const CALLS: u32 = 8;
const CALLS_IN: Duration = Duration::from_millis(200);

/// The time that a nominee may be without tenure before it reports why.
pub(super) const EXPLAIN_EVERY: Duration = Duration::from_secs(3);

/// The highest fence that can ever be granted.
const HIGHEST_FENCE: Fence = Fence(counter::last_of_era(counter::LAST_ERA << counter::COUNT_BITS));

/// The number of refusals that the status shows.
const MOST_REFUSALS: usize = 8;

/// The state of a member on its way to tenure, and under it.
pub(super) struct TenureState {
    pub(super) authority: Authority,
    in_flight: InFlight,
    /// The holder is no longer named: it releases tenure when its work has stopped.
    is_leaving: bool,
    /// The fence that was released, although the store may not know yet.
    given_up: Option<Fence>,
    /// The member holds tenure although the election names another member, which waits.
    holds_unelected: bool,
    /// The member for which tenure is given up, if not for the nominee.
    pub(super) transferee: Option<MemberId>,
    /// The fence that the user was shown.
    fence: Option<Fence>,
    /// The last other member that announced tenure.
    holder: Option<Holder>,
    tell_at: Option<Instant>,
    /// The time to report why the nominee has no tenure.
    pub(super) explain_at: Option<Instant>,
    /// The time since which the election names this member and it has no tenure.
    pub(super) lacks_since: Option<Instant>,
    pub(super) stand_aside: StandAside,
    /// Set while a transferee may take tenure first.
    pub(super) transfer_grace: Option<TransferGrace>,
    /// This member is a transferee, and asks for tenure until then, named or not.
    pub(super) receives_transfer_until: Option<Instant>,
    /// This tenure came by a transfer. It stays, even if better candidates take over in this group.
    by_transfer: bool,
    pub(super) waiters: Waiters,
    pub(super) voters: Vec<Voter>,
    pub(super) voter_latency: VoterLatency,
    pub(super) refusals: VecDeque<Refusal>,
    /// The reason why this member takes no tenure from its store, while it does not.
    shut_out: Option<Refusal>,
    /// The end of this process's last pause, and its length.
    pub(super) paused: Option<(Instant, Duration)>,
    authority_mismatch: AuthorityMismatch,
    last_will: watch::Sender<LastWill>,
    /// The content of the current last will; `None` while there is none.
    worded: Option<Sealed>,
}

#[derive(Debug, Clone)]
pub(super) struct Voter {
    pub(super) name: String,
    pub(super) id: MemberId,
    pub(super) heard: Option<Instant>,
    /// The first of the recent calls, and the number of calls since.
    called: Option<(Instant, u32)>,
    /// The voter's last answer says that it was never initialised.
    is_blank: bool,
    /// The voter's last answer says that it cannot promise what a majority has promised.
    is_behind: bool,
    /// The voter's last answer says that this member's ttl is longer than it grants.
    refuses_ttl: bool,
    asked: Asked,
}

impl TenureState {
    pub(super) fn new(authority: Authority, in_flight: InFlight) -> Self {
        let voter = |(name, id): (&String, MemberId)| Voter {
            name: name.clone(),
            id,
            heard: None,
            called: None,
            is_blank: false,
            is_behind: false,
            refuses_ttl: false,
            asked: Asked::default(),
        };
        Self {
            voters: authority.voters().map(voter).collect(),
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
            stand_aside: StandAside::default(),
            transfer_grace: None,
            receives_transfer_until: None,
            by_transfer: false,
            waiters: Waiters::default(),
            voter_latency: VoterLatency::default(),
            refusals: VecDeque::new(),
            shut_out: None,
            paused: None,
            authority_mismatch: AuthorityMismatch::default(),
            last_will: watch::Sender::default(),
            worded: None,
        }
    }

    pub(super) fn mode(&self) -> Mode {
        match self.authority {
            Authority::Nobody => Mode::Advisory,
            _ => Mode::Fenced,
        }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        let holder = self.holder.map(|it| it.until);
        let times = [
            self.authority.due(),
            self.tell_at,
            holder,
            self.transfer_grace.map(|it| it.until),
            self.receives_transfer_until,
            self.explain_at,
            self.stand_aside.due(),
        ];
        times.into_iter().flatten().min()
    }

    /// Returns the other member that holds tenure, and its fence, as far as this member knows.
    pub(super) fn holder(&self) -> Option<(MemberId, Fence)> {
        self.holder.map(|it| (it.id, it.fence))
    }

    pub(super) fn voters(&self) -> impl Iterator<Item = MemberId> {
        self.voters.iter().map(|it| it.id)
    }

    /// Returns the fence under which this member may act.
    pub(super) fn fence(&self) -> Option<Fence> {
        self.fence
    }

    /// Shows a fence that no authority granted.
    #[cfg(test)]
    pub(super) fn show_fence(&mut self, fence: Fence) {
        self.fence = Some(fence);
    }

    pub(super) fn note_refusal(&mut self, at: Instant, why: &str) -> bool {
        match self.refusals.back_mut() {
            Some(last) if last.why == why => {
                last.at = at;
                last.times += 1;
                false
            }
            Some(_) | None => {
                if self.refusals.len() >= MOST_REFUSALS {
                    self.refusals.pop_front();
                }
                let (why, times) = (why.to_owned(), 1);
                self.refusals.push_back(Refusal { at, why, times });
                true
            }
        }
    }
}

// Events.
impl Group {
    pub(super) fn start_tenure(&mut self, now: Instant, out: &mut Outbox) {
        let acts = self.tenure.authority.start(now);
        self.act_on_tenure(now, acts, out);
    }

    /// Handles that the election names this member, or no longer does.
    pub(super) fn nominate(&mut self, now: Instant, is_named: bool, out: &mut Outbox) {
        if self.transfer.is_some() {
            return; // the transferee gets the tenure, regardless of the nominee
        }
        let stays = self.tenure.holds_unelected || self.tenure.by_transfer;
        let keeps = stays || self.config.protocol.keeps_leaders();
        self.tenure.holds_unelected = !is_named && keeps && self.tenure.fence.is_some();
        // A transferee may take the transferred tenure, regardless of the nominee.
        let inherits = self.tenure.receives_transfer_until.is_some();
        self.tenure.is_leaving = !is_named && !self.tenure.holds_unelected && !inherits;
        self.tenure.explain_at = is_named.then(|| now + EXPLAIN_EVERY);
        self.tenure.lacks_since = is_named.then_some(now);
        self.begin_to_wait(now);
        // While a transferee may take tenure, the nominee waits until that time has passed.
        let may_ask =
            self.tenure.transfer_grace.is_none() || self.tenure.authority.holds(now).is_some();
        match is_named {
            true if may_ask => self.ask_authority(now, Request::Acquire, out),
            false if !inherits => self.ask_authority(now, Request::Withdraw, out),
            true | false => {}
        }
        self.leave_tenure(now, out);
        if self.tenure.holds_unelected {
            self.tell_all(now, out); // the others have just learnt of another nominee
            self.tenure.tell_at = Some(now + TELL_AGAIN); // or are about to
        }
    }

    /// Releases tenure, however it was gained, when the work has stopped.
    pub(super) fn resign_tenure(&mut self, now: Instant, out: &mut Outbox) {
        self.tenure.holds_unelected = false;
        self.tenure.receives_transfer_until = None;
        self.tenure.is_leaving = true;
        self.ask_authority(now, Request::Withdraw, out);
        self.leave_tenure(now, out);
    }

    /// Passes a request to the authority.
    pub fn ask_authority(&mut self, now: Instant, request: Request, out: &mut Outbox) {
        self.note_time(now);
        let acts = self.tenure.authority.request(now, request);
        self.act_on_tenure(now, acts, out);
        if let Request::Healthy(is_healthy) = request {
            self.note_health(is_healthy);
            self.pass_stand_aside(now, out);
        }
    }

    /// Releases tenure, if the member is leaving and its work has stopped.
    pub fn leave_tenure(&mut self, now: Instant, out: &mut Outbox) {
        let is_copied = matches!(self.participation, Participation::Copied(_));
        if self.tenure.is_leaving && !is_copied && !self.tenure.in_flight.is_occupied() {
            self.tenure.is_leaving = false;
            self.tenure.given_up = self.tenure.authority.holds(now).map(|held| held.fence);
            match self.tenure.transferee.take() {
                Some(to) => {
                    self.begin_transfer(now, to, out);
                    self.ask_authority(now, Request::Transfer { to }, out);
                }
                None => {
                    self.ask_authority(now, Request::Release, out);
                    // A voter receives no release from itself.
                    self.tell_who_waits(|_| true, out);
                }
            }
        }
    }

    /// Drops tenure without a release, because a copy of this process holds the same tenure. It is
    /// not released later either, nor when this process ends.
    pub(super) fn disown_tenure(&mut self, now: Instant) {
        self.tenure.authority.forfeit(now);
        self.tenure.fence = None;
        self.tenure.last_will.send_replace(LastWill::default());
        self.tell(now);
    }

    pub(super) fn on_tenure(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        authority: u64,
        message: &[u8],
        out: &mut Outbox,
    ) {
        if !self.shares_authority(sender, authority) {
            self.counters.other_voters += 1;
            return;
        }
        let mut voters = self.tenure.voters.iter_mut();
        if let Some(voter) = voters.find(|it| it.id == sender.id) {
            voter.heard = Some(now);
            if let Some(took) = voter.asked.answered(now, Some(sender.incarnation())) {
                self.check_voter_latency(took);
            }
        }
        if self.answers_survey(sender.id, message) {
            return;
        }
        if let Ok(message) = postcard::from_bytes(message) {
            self.answer_survey(sender.id, &message, out);
        }
        self.note_answer(now, sender.id, message);
        match self.tenure.authority.hear(now, sender.id, message) {
            Ok(acts) => self.act_on_tenure(now, acts, out),
            Err(why) => self.counters.reject(why),
        }
        self.note_transfer_received(now, message);
        if let Ok(Message::Release { ballot }) = postcard::from_bytes(message) {
            self.on_release(now, sender.id, ballot, out);
        }
    }

    /// Handles the end of a voter's write to disk.
    pub fn on_saved(&mut self, now: Instant, done: Result<(), String>, out: &mut Outbox) {
        self.trigger = Trigger::Authority;
        self.note_time(now);
        if let Err(error) = &done {
            self.note_fault(now, error);
        }
        let acts = self.tenure.authority.on_saved(now, done);
        self.act_on_tenure(now, acts, out);
        self.pass_stand_aside(now, out);
    }

    /// Handles an event of an authority outside the loop.
    pub fn on_lease_event(&mut self, now: Instant, word: &LeaseEvent, out: &mut Outbox) {
        self.trigger = Trigger::Authority;
        self.note_time(now);
        match word {
            LeaseEvent::Refused(why) => self.note_refusal(now, why),
            LeaseEvent::ShutOut(why) => self.note_shut_out(now, why.as_deref()),
            LeaseEvent::Failed(why) => self.note_fault(now, why),
            // If the fence was known before the lease client showed its win, no member has yielded
            // yet.
            LeaseEvent::Contested { by, fence } if self.tenure.fence.is_some() => {
                self.yield_to_fence(now, *by, *fence, out);
            }
            LeaseEvent::OutOfReach { by, fence, reach } => self.note_far_fence(*by, *fence, *reach),
            LeaseEvent::Contested { .. } | LeaseEvent::Gained(_) | LeaseEvent::Lost(_) => {}
        }
        self.look_at_tenure(now, out);
        self.pass_stand_aside(now, out);
    }

    /// Returns true if `by` announces a fence that cannot have been granted, compared with that of
    /// the holder here. Such a fence ends no tenure: any process with the key can make one up. A
    /// fence of a later era counts, because people begin eras.
    pub(super) fn refuses_far_fence(&mut self, by: MemberId, fence: Fence) -> bool {
        let holder = self.tenure.fence.or(self.tenure.holder().map(|it| it.1));
        let known = holder.filter(|it| counter::era_of(it.0) == counter::era_of(fence.0));
        let reach = known.map(|it| Fence(counter::reach_of(it.0)));
        let is_far = reach.is_some_and(|it| fence > it) || !counter::is_lawful(fence.0);
        // A lease client judges by all that it knows, and reports it.
        if is_far && !self.tenure.voters.is_empty() {
            self.note_far_fence(by, fence, reach.unwrap_or(HIGHEST_FENCE));
        }
        is_far
    }

    /// Counts a fence that another member announces and that nobody can have granted.
    fn note_far_fence(&mut self, by: MemberId, fence: Fence, reach: Fence) {
        self.counters.far_fences += 1;
        if self.counters.far_fences == 1 {
            tracing::warn!(
                "group `{}`: `{}` is heard to hold fence {fence}, but by all that is known here no fence above {reach} can have been \
                 granted: it does not count; unless a store has counted that far, a member makes fences up: change the key on all \
                 members",
                self.config.name,
                self.describe(by).name
            );
        }
    }

    pub(super) fn pass_tenure(&mut self, now: Instant, out: &mut Outbox) {
        if self.tenure.holder.is_some_and(|it| it.until <= now) {
            self.tenure.holder = None;
            self.tell(now);
        }
        let was_stuck = self.tenure.authority.is_stuck();
        let acts = self.tenure.authority.pass(now);
        self.act_on_tenure(now, acts, out);
        let saves = self.tenure.authority.saves_since().is_some();
        if !was_stuck && saves && self.tenure.authority.is_stuck() {
            self.note_silent_disk(now);
        }
        let is_due = |at: &mut Instant| *at <= now;
        if self.tenure.explain_at.take_if(is_due).is_some() {
            self.explain_silence(now);
        }
        if self.tenure.transfer_grace.take_if(|it| it.until <= now).is_some() {
            self.end_holding_back(now, out);
        }
        if self.tenure.receives_transfer_until.take_if(is_due).is_some() {
            self.end_inheritance(now, out);
        }
        if self.tenure.tell_at.is_some_and(|at| at <= now) {
            self.tell_all(now, out);
        }
        self.pass_stand_aside(now, out);
    }
}

// Actions.
impl Group {
    fn act_on_tenure(&mut self, now: Instant, acts: Vec<Act>, out: &mut Outbox) {
        if !matches!(self.participation, Participation::Active) {
            return; // of two processes with one name, only one may speak
        }
        for act in acts {
            match act {
                Act::Send { to, message } => {
                    self.note_waiter(to, &message);
                    self.send_tenure(now, to, &message, out);
                }
                Act::Refused(refused) => {
                    let why = self.in_words(refused);
                    self.note_refusal(now, &why);
                    self.wait_longer(now, refused);
                }
            }
        }
        self.look_at_tenure(now, out);
    }

    pub(super) fn send_tenure(
        &mut self,
        now: Instant,
        to: MemberId,
        message: &[u8],
        out: &mut Outbox,
    ) {
        let is_question =
            postcard::from_bytes(message).is_ok_and(|it: Message| it.question().is_some());
        // A voter that does not answer in time may have moved. It is also called by all channels
        // while there is time left to renew.
        let answer_within = self.config.authority.answer_within();
        let mut is_silent = false;
        let incarnation = self.peer_table.get(to).map(|it| it.incarnation);
        let mut others = self.tenure.voters.iter_mut();
        if let Some(voter) = others.find(|it| it.id == to)
            && is_question
        {
            is_silent = answer_within.is_some_and(|it| voter.asked.waits(now) >= it);
            voter.asked.ask(now, incarnation);
        }
        let body = Body::Tenure { to, authority: self.tenure.authority.id(), message };
        if let Some(address) = self.address_of(to) {
            self.counters.tenure_sent += 1;
            self.send_to(to, Route::To(address), &body, out);
            if !is_silent {
                return;
            }
        }
        let mut voters = self.tenure.voters.iter_mut();
        let Some(voter) = voters.find(|it| it.id == to) else {
            self.broadcast(now, &body, out); // a transferee of which no frame has arrived
            return;
        };
        let (since, times) = match voter.called {
            Some((since, times)) if now - since < CALLS_IN => (since, times),
            Some(_) | None => (now, 0),
        };
        if times < CALLS {
            voter.called = Some((since, times + 1));
            let is_news = voter.asked.call();
            self.counters.tenure_sent += 1;
            self.broadcast(now, &body, out);
            if is_news {
                self.tell_of_search(to);
            }
        }
    }

    /// Publishes a change of tenure to the user and to the other members.
    fn look_at_tenure(&mut self, now: Instant, out: &mut Outbox) {
        self.word_last_words();
        let held = self.tenure.authority.holds(now).map(|held| held.fence);
        // A member that is leaving still holds tenure, but may start no work.
        let fence = held.filter(|it| !self.tenure.is_leaving && self.tenure.given_up != Some(*it));
        if fence == self.tenure.fence {
            return;
        }
        let before = std::mem::replace(&mut self.tenure.fence, fence);
        self.tenure.holds_unelected = fence.is_some() && !self.is_nominee();
        self.tenure.by_transfer = fence.is_some() && self.tenure.receives_transfer_until.is_some();
        self.begin_to_wait(now);
        self.tell(now);
        match (before, fence) {
            (_, Some(_)) => self.tell_all(now, out),
            (Some(fence), None) => {
                if held.is_none() && !self.tenure.is_leaving {
                    self.warn_of_loss(now, fence);
                }
                self.tenure.tell_at = None;
                self.tenure.explain_at = self.is_nominee().then(|| now + EXPLAIN_EVERY);
                self.tenure.lacks_since = self.is_nominee().then_some(now);
                let held = self.holds(fence, Duration::ZERO);
                self.broadcast(now, &held, out);
            }
            (None, None) => {}
        }
    }

    pub(super) fn note_refusal(&mut self, now: Instant, why: &str) {
        let group = &self.config.name;
        self.counters.tenure_refusals += 1;
        if !self.tenure.note_refusal(now, why) {
            return;
        }
        match self.tenure.authority.holds(now) {
            Some(held) => {
                let (fence, left) = (held.fence, (held.until - now).as_secs_f64());
                tracing::warn!(
                    "group `{group}`: still holds tenure with fence {fence}, for {left:.1} s unless it is renewed: {why}"
                );
            }
            None => tracing::info!("group `{group}`: no tenure yet: {why}"),
        }
    }

    /// Notes that this member takes no tenure from its store, so it cannot succeed a failed leader;
    /// or, with `None`, that it does again.
    fn note_shut_out(&mut self, now: Instant, why: Option<&str>) {
        let group = &self.config.name;
        let was_shut_out = self.tenure.shut_out.is_some();
        let Some(why) = why else {
            self.tenure.shut_out = None;
            tracing::info!("group `{group}`: takes tenure from its store again");
            return;
        };
        self.counters.tenure_refusals += 1;
        self.tenure.note_refusal(now, why);
        self.tenure.shut_out = self.tenure.refusals.back().cloned();
        match was_shut_out {
            false => tracing::warn!(
                "group `{group}`: takes no tenure from its store, so it cannot follow a leader that fails: {why}"
            ),
            true => tracing::info!("group `{group}`: still takes no tenure from its store: {why}"),
        }
    }

    /// Reports that too few voters answer.
    pub(super) fn note_silence(&mut self, now: Instant, why: &str) {
        self.counters.tenure_refusals += 1;
        if self.tenure.note_refusal(now, why) {
            tracing::warn!("group `{}`: no tenure: {why}", self.config.name);
        }
    }

    /// Reports a fault that needs a person's attention.
    pub(super) fn note_fault(&mut self, now: Instant, why: &str) {
        self.counters.tenure_refusals += 1;
        if self.tenure.note_refusal(now, why) {
            tracing::error!("group `{}`: {why}", self.config.name);
        }
    }

    /// Returns the count of work in progress under tenure.
    pub fn in_flight(&self) -> InFlight {
        self.tenure.in_flight.clone()
    }

    /// Waits until the store knows of a release by this member, if there is a store.
    pub async fn finish(self) {
        if let Authority::Store { lease_client, .. } = self.tenure.authority {
            lease_client.finish().await;
        }
    }
}

impl Authority {
    /// Handles a message for the authority.
    fn hear(&mut self, now: Instant, from: MemberId, message: &[u8]) -> Result<Vec<Act>, Rejected> {
        match self {
            Self::Quorum(quorum) => quorum.hear(now, from, message),
            // the sender uses another authority
            Self::Nobody | Self::Store { .. } => Ok(Vec::new()),
        }
    }
}
