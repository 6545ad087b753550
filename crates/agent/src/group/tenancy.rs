//! From nomination to tenure: whom the election names asks the authority, and leads only while that has
//! granted it tenure.
//!
//! Where a leader that works is not unseated, who holds goes on to lead whomever the election names: it may name
//! several in a row before it settles, and whoever it names waits. Elsewhere, and who steps down, stops first: its
//! user is told that it does not lead, and when the user's work has stopped, tenure is given up. Until then
//! it lasts, or another would begin too early.

mod holder;
mod lists;
mod refusals;
mod status;
mod waiting;
mod words;

use std::collections::VecDeque;

use hustings_protocol::tenure::{Fence, Message, Request};
use hustings_protocol::{Duration, Instant, MemberId};
use tokio::sync::watch;

use super::cause::Trigger;
use super::handover::HoldsBack;
use super::patience::Patience;
use super::promptness::{Asked, Promptness};
use super::{Group, Outbox, Route, Standing};
use crate::authority::last_words::LastWords;
use crate::authority::occupancy::Occupancy;
use crate::authority::quorum::Act;
use crate::authority::{Authority, Word};
use crate::frame::{Body, Sender};
use crate::leadership::Mode;
use crate::seal::Rejected;
use holder::{Holder, TELL_AGAIN};
use lists::OtherLists;
pub use status::{REACHED_WITHIN, Refusal, TenureStatus, VoterStatus};
use waiting::Waiters;
pub(super) use words::LAST_NUMBER;
use words::Sealed;

/// A voter that was never heard is called by multicast, but no more often than this: an attempt, and what ends it.
const CALLS: u32 = 8;
const CALLS_IN: Duration = Duration::from_millis(200);

/// How long somebody may be named without tenure before it says why.
pub(super) const EXPLAIN_EVERY: Duration = Duration::from_secs(3);

/// How many refusals are kept to be shown.
const MOST_REFUSALS: usize = 8;

/// A member's way to tenure.
pub(super) struct Tenancy {
    pub(super) authority: Authority,
    occupancy: Occupancy,
    /// Named no longer while it held: when its work has stopped, it gives tenure up.
    is_leaving: bool,
    /// Given up, though a store may not have been told yet.
    given_up: Option<Fence>,
    /// Holds though the election names somebody else, who waits.
    is_apart: bool,
    /// For whom, if not for whom the election names.
    pub(super) heir: Option<MemberId>,
    /// What its user was told that it holds.
    fence: Option<Fence>,
    /// Who said last that it holds.
    holder: Option<Holder>,
    tell_at: Option<Instant>,
    /// Says then why it has no tenure, if it has none.
    pub(super) explain_at: Option<Instant>,
    /// Since when the election names it and it has none.
    pub(super) lacks_since: Option<Instant>,
    pub(super) patience: Patience,
    /// Lets an heir be first.
    pub(super) holds_back: Option<HoldsBack>,
    /// Is an heir, and tries to get what was handed to it, named or not.
    pub(super) inherits_until: Option<Instant>,
    /// Holds what was handed to it on purpose: that stands, though the better take over here.
    is_inherited: bool,
    pub(super) waiters: Waiters,
    pub(super) voters: Vec<Voter>,
    pub(super) promptness: Promptness,
    pub(super) refusals: VecDeque<Refusal>,
    /// Why this member takes no tenure from its store, while it does not.
    shut_out: Option<Refusal>,
    /// When this process ran again after a pause, and how long that was.
    pub(super) paused: Option<(Instant, Duration)>,
    other_lists: OtherLists,
    last_words: watch::Sender<LastWords>,
    /// What the last words were sealed from; none while there are none.
    worded: Option<Sealed>,
}

#[derive(Debug, Clone)]
pub(super) struct Voter {
    pub(super) name: String,
    pub(super) id: MemberId,
    pub(super) heard: Option<Instant>,
    /// When it was first called of late, and how often since.
    called: Option<(Instant, u32)>,
    /// Whether it said last that it was never initialised.
    is_blank: bool,
    /// Whether it said last that what a majority has promised is out of its reach.
    is_behind: bool,
    /// Whether it said last that this member asks for a longer ttl than it grants.
    refuses_ttl: bool,
    asked: Asked,
}

impl Tenancy {
    pub(super) fn new(authority: Authority, occupancy: Occupancy) -> Self {
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
            occupancy,
            is_leaving: false,
            given_up: None,
            is_apart: false,
            heir: None,
            fence: None,
            holder: None,
            tell_at: None,
            explain_at: None,
            lacks_since: None,
            patience: Patience::default(),
            holds_back: None,
            inherits_until: None,
            is_inherited: false,
            waiters: Waiters::default(),
            promptness: Promptness::default(),
            refusals: VecDeque::new(),
            shut_out: None,
            paused: None,
            other_lists: OtherLists::default(),
            last_words: watch::Sender::default(),
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
            self.holds_back.map(|it| it.until),
            self.inherits_until,
            self.explain_at,
            self.patience.due(),
        ];
        times.into_iter().flatten().min()
    }

    /// Who else holds, with which fence, as far as it was told.
    pub(super) fn holder(&self) -> Option<(MemberId, Fence)> {
        self.holder.map(|it| (it.id, it.fence))
    }

    /// Who votes.
    pub(super) fn voters(&self) -> impl Iterator<Item = MemberId> {
        self.voters.iter().map(|it| it.id)
    }

    /// What this member may act under.
    pub(super) fn fence(&self) -> Option<Fence> {
        self.fence
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

// What happens.
impl Group {
    pub(super) fn start_tenure(&mut self, now: Instant, out: &mut Outbox) {
        let acts = self.tenancy.authority.start(now);
        self.act_on_tenure(now, acts, out);
    }

    /// The election names this member, or names it no longer.
    pub(super) fn nominate(&mut self, now: Instant, is_named: bool, out: &mut Outbox) {
        if self.handover.is_some() {
            return; // what it holds is its heir's, whomever the election names
        }
        let stays = self.tenancy.is_apart || self.tenancy.is_inherited;
        let keeps = stays || self.config.protocol.keeps_leaders();
        self.tenancy.is_apart = !is_named && keeps && self.tenancy.fence.is_some();
        // What was handed to it is its to take, whomever the election names.
        let inherits = self.tenancy.inherits_until.is_some();
        self.tenancy.is_leaving = !is_named && !self.tenancy.is_apart && !inherits;
        self.tenancy.explain_at = is_named.then(|| now + EXPLAIN_EVERY);
        self.tenancy.lacks_since = is_named.then_some(now);
        self.begin_to_wait(now);
        // Tenure may be an heir's to take: then it asks when that one has had its time.
        let may_ask =
            self.tenancy.holds_back.is_none() || self.tenancy.authority.holds(now).is_some();
        match is_named {
            true if may_ask => self.ask_authority(now, Request::Acquire, out),
            false if !inherits => self.ask_authority(now, Request::Withdraw, out),
            true | false => {}
        }
        self.leave_tenure(now, out);
        if self.tenancy.is_apart {
            self.tell_all(now, out); // the others have just heard that somebody else is named
            self.tenancy.tell_at = Some(now + TELL_AGAIN); // or are about to
        }
    }

    /// Gives up what it holds, however it came by it, when its work has stopped.
    pub(super) fn resign_tenure(&mut self, now: Instant, out: &mut Outbox) {
        self.tenancy.is_apart = false;
        self.tenancy.inherits_until = None;
        self.tenancy.is_leaving = true;
        self.ask_authority(now, Request::Withdraw, out);
        self.leave_tenure(now, out);
    }

    /// Whoever runs this member wants something of its authority.
    pub(crate) fn ask_authority(&mut self, now: Instant, request: Request, out: &mut Outbox) {
        self.note_time(now);
        let acts = self.tenancy.authority.request(now, request);
        self.act_on_tenure(now, acts, out);
        if let Request::Healthy(is_healthy) = request {
            self.note_health(is_healthy);
            self.pass_patience(now, out);
        }
    }

    /// Gives tenure up, if it is to and the work has stopped.
    pub(crate) fn leave_tenure(&mut self, now: Instant, out: &mut Outbox) {
        let is_copied = matches!(self.standing, Standing::Copied(_));
        if self.tenancy.is_leaving && !is_copied && !self.tenancy.occupancy.is_occupied() {
            self.tenancy.is_leaving = false;
            self.tenancy.given_up = self.tenancy.authority.holds(now).map(|held| held.fence);
            match self.tenancy.heir.take() {
                Some(to) => {
                    self.begin_handover(now, to, out);
                    self.ask_authority(now, Request::Transfer { to }, out);
                }
                None => {
                    self.ask_authority(now, Request::Release, out);
                    // As a voter it hears no release of its own.
                    self.tell_who_waits(|_| true, out);
                }
            }
        }
    }

    /// What this member holds a copy of its process holds too. It counts here no more, and is not given up, now or when
    /// this process has ended.
    pub(super) fn disown_tenure(&mut self, now: Instant) {
        self.tenancy.authority.forfeit(now);
        self.tenancy.fence = None;
        self.tenancy.last_words.send_replace(LastWords::default());
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
        let mut voters = self.tenancy.voters.iter_mut();
        if let Some(voter) = voters.find(|it| it.id == sender.id) {
            voter.heard = Some(now);
            if let Some(took) = voter.asked.answered(now, Some(sender.life())) {
                self.look_at_promptness(took);
            }
        }
        if self.answers_survey(sender.id, message) {
            return;
        }
        if let Ok(message) = postcard::from_bytes(message) {
            self.answer_survey(sender.id, &message, out);
        }
        self.note_answer(now, sender.id, message);
        match self.tenancy.authority.hear(now, sender.id, message) {
            Ok(acts) => self.act_on_tenure(now, acts, out),
            Err(why) => self.counters.reject(why),
        }
        self.note_inheritance(now, message);
        if let Ok(Message::Release { ballot }) = postcard::from_bytes(message) {
            self.on_release(now, sender.id, ballot, out);
        }
    }

    /// The disk of a voter has kept what it was given, or could not.
    pub(crate) fn on_saved(&mut self, now: Instant, done: Result<(), String>, out: &mut Outbox) {
        self.trigger = Trigger::Authority;
        self.note_time(now);
        if let Err(error) = &done {
            self.note_fault(now, error);
        }
        let acts = self.tenancy.authority.on_saved(now, done);
        self.act_on_tenure(now, acts, out);
        self.pass_patience(now, out);
    }

    /// An authority beside the loop said something.
    pub(crate) fn on_word(&mut self, now: Instant, word: &Word, out: &mut Outbox) {
        self.trigger = Trigger::Authority;
        self.note_time(now);
        match word {
            Word::Refused(why) => self.note_refusal(now, why),
            Word::ShutOut(why) => self.note_shut_out(now, why.as_deref()),
            Word::Failed(why) => self.note_fault(now, why),
            // If the group heard it before it could see that its clerk had won, nobody has given up yet.
            Word::Contested { by, fence } if self.tenancy.fence.is_some() => {
                self.yield_to_fence(now, *by, *fence, out);
            }
            Word::OutOfReach { by, fence, reach } => self.note_far_fence(*by, *fence, *reach),
            Word::Contested { .. } | Word::Gained(_) | Word::Lost(_) => {}
        }
        self.look_at_tenure(now, out);
        self.pass_patience(now, out);
    }

    /// A member is heard to hold a fence that does not count.
    fn note_far_fence(&mut self, by: MemberId, fence: Fence, reach: Fence) {
        self.counters.far_fences += 1;
        if self.counters.far_fences == 1 {
            tracing::warn!(
                "group `{}`: `{}` is heard to hold fence {fence}, but by all that the store told and members held no fence above {reach} can \
                 have been granted: it does not count; if the store has not counted that far, a member makes fences up: change the \
                 key on all members",
                self.config.name,
                self.describe(by).name
            );
        }
    }

    pub(super) fn pass_tenure(&mut self, now: Instant, out: &mut Outbox) {
        if self.tenancy.holder.is_some_and(|it| it.until <= now) {
            self.tenancy.holder = None;
            self.tell(now);
        }
        let was_stuck = self.tenancy.authority.is_stuck();
        let acts = self.tenancy.authority.pass(now);
        self.act_on_tenure(now, acts, out);
        let saves = self.tenancy.authority.saves_since().is_some();
        if !was_stuck && saves && self.tenancy.authority.is_stuck() {
            self.note_silent_disk(now);
        }
        let is_due = |at: &mut Instant| *at <= now;
        if self.tenancy.explain_at.take_if(is_due).is_some() {
            self.explain_silence(now);
        }
        if self
            .tenancy
            .holds_back
            .take_if(|it| it.until <= now)
            .is_some()
        {
            self.end_holding_back(now, out);
        }
        if self.tenancy.inherits_until.take_if(is_due).is_some() {
            self.end_inheritance(now, out);
        }
        if self.tenancy.tell_at.is_some_and(|at| at <= now) {
            self.tell_all(now, out);
        }
        self.pass_patience(now, out);
    }
}

// What it does about it.
impl Group {
    fn act_on_tenure(&mut self, now: Instant, acts: Vec<Act>, out: &mut Outbox) {
        if !matches!(self.standing, Standing::Partaking) {
            return; // two who go by one name must not both be heard
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
        // One that does not answer in time may be elsewhere: it is called by all ways as well, while there is time left
        // to renew.
        let patience = self.config.authority.answer_within();
        let mut is_silent = false;
        let life = self.peers.get(to).map(|it| it.life);
        let mut others = self.tenancy.voters.iter_mut();
        if let Some(voter) = others.find(|it| it.id == to)
            && is_question
        {
            is_silent = patience.is_some_and(|it| voter.asked.waits(now) >= it);
            voter.asked.ask(now, life);
        }
        let body = Body::Tenure {
            to,
            authority: self.tenancy.authority.id(),
            message,
        };
        if let Some(address) = self.address_of(to) {
            self.counters.tenure_sent += 1;
            self.send_to(to, Route::To(address), &body, out);
            if !is_silent {
                return;
            }
        }
        let mut voters = self.tenancy.voters.iter_mut();
        let Some(voter) = voters.find(|it| it.id == to) else {
            self.broadcast(now, &body, out); // an heir that was never heard
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

    /// Tells the user, and the others, what has become of tenure.
    fn look_at_tenure(&mut self, now: Instant, out: &mut Outbox) {
        self.word_last_words();
        let held = self.tenancy.authority.holds(now).map(|held| held.fence);
        // Who is leaving still holds, but may begin nothing.
        let fence =
            held.filter(|it| !self.tenancy.is_leaving && self.tenancy.given_up != Some(*it));
        if fence == self.tenancy.fence {
            return;
        }
        let before = std::mem::replace(&mut self.tenancy.fence, fence);
        self.tenancy.is_apart = fence.is_some() && !self.is_nominee();
        self.tenancy.is_inherited = fence.is_some() && self.tenancy.inherits_until.is_some();
        self.begin_to_wait(now);
        self.tell(now);
        match (before, fence) {
            (_, Some(_)) => self.tell_all(now, out),
            (Some(fence), None) => {
                if held.is_none() && !self.tenancy.is_leaving {
                    self.warn_of_loss(now, fence);
                }
                self.tenancy.tell_at = None;
                self.tenancy.explain_at = self.is_nominee().then(|| now + EXPLAIN_EVERY);
                self.tenancy.lacks_since = self.is_nominee().then_some(now);
                let held = self.holds(fence, Duration::ZERO);
                self.broadcast(now, &held, out);
            }
            (None, None) => {}
        }
    }

    pub(super) fn note_refusal(&mut self, now: Instant, why: &str) {
        let group = &self.config.name;
        self.counters.tenure_refusals += 1;
        if !self.tenancy.note_refusal(now, why) {
            return;
        }
        match self.tenancy.authority.holds(now) {
            Some(held) => {
                let (fence, left) = (held.fence, (held.until - now).as_secs_f64());
                tracing::warn!(
                    "group `{group}`: still holds tenure with fence {fence}, for {left:.1} s unless it is renewed: {why}"
                );
            }
            None => tracing::info!("group `{group}`: no tenure yet: {why}"),
        }
    }

    /// This member takes no tenure from its store from now on, and cannot follow a leader that fails; or it may again.
    fn note_shut_out(&mut self, now: Instant, why: Option<&str>) {
        let group = &self.config.name;
        let was_shut_out = self.tenancy.shut_out.is_some();
        let Some(why) = why else {
            self.tenancy.shut_out = None;
            tracing::info!("group `{group}`: takes tenure from its store again");
            return;
        };
        self.counters.tenure_refusals += 1;
        self.tenancy.note_refusal(now, why);
        self.tenancy.shut_out = self.tenancy.refusals.back().cloned();
        match was_shut_out {
            false => tracing::warn!(
                "group `{group}`: takes no tenure from its store, so it cannot follow a leader that fails: {why}"
            ),
            true => tracing::info!("group `{group}`: still takes no tenure from its store: {why}"),
        }
    }

    /// Too few of those who grant tenure answer.
    pub(super) fn note_silence(&mut self, now: Instant, why: &str) {
        self.counters.tenure_refusals += 1;
        if self.tenancy.note_refusal(now, why) {
            tracing::warn!("group `{}`: no tenure: {why}", self.config.name);
        }
    }

    /// Something is wrong that a person has to see to.
    pub(super) fn note_fault(&mut self, now: Instant, why: &str) {
        self.counters.tenure_refusals += 1;
        if self.tenancy.note_refusal(now, why) {
            tracing::error!("group `{}`: {why}", self.config.name);
        }
    }

    pub(crate) fn occupancy(&self) -> Occupancy {
        self.tenancy.occupancy.clone()
    }

    /// Waits until what this member gave up is given up at its store too, if it has one.
    pub(crate) async fn finish(self) {
        if let Authority::Store { clerk, .. } = self.tenancy.authority {
            clerk.finish().await;
        }
    }
}

impl Authority {
    /// What a member heard that is for its authority.
    fn hear(&mut self, now: Instant, from: MemberId, message: &[u8]) -> Result<Vec<Act>, Rejected> {
        match self {
            Self::Quorum(quorum) => quorum.hear(now, from, message),
            Self::Nobody | Self::Store { .. } => Ok(Vec::new()), // of another mind about who grants tenure
        }
    }
}
