//! The nominee: gets tenure, renews it, and gives it up.

use rand_core::Rng;

use super::poll::Poll;
use super::{
    Ballot, BallotOwner, Fence, Held, LONGEST_WAIT, Message, Post, Question, Refused, Request,
    Tenure, TenureOutcome, Timer, counter,
};
use crate::{Duration, Instant, Io, MemberId};

/// The share of the ttl after which renewal begins: two more attempts fit in before the end.
const RENEWALS_IN_A_TTL: u64 = 3;
/// The counter of a nominee that knows none: a guess.
const GUESS: u64 = 1;

/// One incarnation of a nominee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Nominee {
    incarnation: BallotOwner,
    is_nominated: bool,
    is_healthy: bool,
    /// The highest counter that it has used or learnt, except those that voters declared out of
    /// their reach.
    highest: u64,
    /// The highest counter that it has proposed. A proposed ballot is never used again.
    highest_proposed: u64,
    /// The number of proposals that it has made.
    proposals: u64,
    /// The highest ballot that it has proposed since it last retired all of them.
    proposed: Option<Ballot>,
    /// The counter of the last tenure that was handed over to it: each is handed over once.
    taken_over: u64,
    /// True if the last answer named another holder: the nominee then asks before it prepares.
    knows_of_holder: bool,
    tenure: Option<Held>,
    phase: Phase,
}

/// The open question to the voters. A ballot that is in no phase is retired: answers to it are
/// ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Phase {
    /// No question is open.
    Resting,
    /// Asks whether the voters would promise.
    Asking { ballot: Ballot, poll: Poll },
    /// Asks for promises.
    Preparing { ballot: Ballot, poll: Poll },
    /// A majority has promised: asks for grants.
    Proposing { ballot: Ballot, proposal: Proposal, poll: Poll },
    /// A majority has granted: no question until the renewal.
    Granted { ballot: Ballot },
}

/// One proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Proposal {
    number: u64,
    /// The clock's reading before the proposal was sent.
    read_at: Instant,
    ttl: Duration,
}

impl Nominee {
    pub(super) fn new(incarnation: BallotOwner) -> Self {
        Self {
            incarnation,
            is_nominated: false,
            is_healthy: true,
            highest: 0,
            highest_proposed: 0,
            proposals: 0,
            proposed: None,
            taken_over: 0,
            knows_of_holder: false,
            tenure: None,
            phase: Phase::Resting,
        }
    }

    /// The tenure that it holds at `now`, if any.
    pub(super) fn holds(&self, now: Instant) -> Option<Held> {
        self.tenure.filter(|held| now < held.until)
    }

    /// The highest ballot that it has not retired and for which voters may have granted it tenure.
    pub(super) fn proposed(&self) -> Option<Ballot> {
        self.proposed
    }

    fn may_campaign(&self) -> bool {
        self.is_nominated && self.is_healthy
    }
}

// Handlers: one per input. They decide; the transitions below act.
impl Nominee {
    /// Rule 4. The clock is read first, whatever the input is.
    pub(super) fn on_any(&mut self, post: &mut Post<'_, impl Io<Tenure>>) {
        if self.tenure.is_some() && self.holds(post.io.now()).is_none() {
            self.lapse(post);
        }
    }

    pub(super) fn hear(
        &mut self,
        from: MemberId,
        message: Message,
        post: &mut Post<'_, impl Io<Tenure>>,
    ) {
        match message {
            Message::Would { ballot } => self.on_aye(from, ballot, Question::Ask, post),
            Message::Promise { ballot } => self.on_aye(from, ballot, Question::Prepare, post),
            Message::Grant { ballot, number } => {
                self.on_aye(from, ballot, Question::Propose { number }, post);
            }
            Message::Refusal { ballot, question, promised, refused } => {
                self.on_no(from, (ballot, question), promised, refused, post);
            }
            Message::Handover { released } => self.on_handover(from, released, post),
            Message::Ask { .. } | Message::Prepare { .. } | Message::Propose { .. } => {}
            Message::Release { .. } => {} // these are for voters
        }
    }

    fn on_aye(
        &mut self,
        from: MemberId,
        ballot: Ballot,
        question: Question,
        post: &mut Post<'_, impl Io<Tenure>>,
    ) {
        let config = post.io.config();
        let Some((poll, place)) = self.current(ballot, question).zip(config.place(from)) else {
            return; // the question is closed, or the sender is no voter
        };
        poll.agree(place);
        if !poll.is_carried(config) {
            return;
        }
        match self.phase {
            Phase::Resting | Phase::Granted { .. } => {} // no open question
            Phase::Asking { ballot, .. } => self.prepare(ballot, post),
            Phase::Preparing { ballot, .. } => self.propose(ballot, post),
            Phase::Proposing { ballot, proposal, .. } => self.win(ballot, proposal, post),
        }
    }

    fn on_no(
        &mut self,
        from: MemberId,
        (ballot, question): (Ballot, Question),
        promised: u64,
        refused: Refused,
        post: &mut Post<'_, impl Io<Tenure>>,
    ) {
        let config = post.io.config();
        let Some((poll, place)) = self.current(ballot, question).zip(config.place(from)) else {
            return; // as above: its promise does not count either
        };
        if !counter::is_lawful(promised) {
            return; // no voter can have promised it
        }
        poll.refuse(place, promised, refused);
        let is_lost = poll.is_lost(config);
        self.highest = self.highest.max(promised);
        if is_lost {
            self.fail(post);
        }
    }

    /// The answers to this question, if it is the open one.
    fn current(&mut self, ballot: Ballot, question: Question) -> Option<&mut Poll> {
        let (asked, about, poll) = match &mut self.phase {
            Phase::Resting | Phase::Granted { .. } => return None,
            Phase::Asking { ballot, poll } => (*ballot, Question::Ask, poll),
            Phase::Preparing { ballot, poll } => (*ballot, Question::Prepare, poll),
            Phase::Proposing { ballot, proposal: Proposal { number, .. }, poll } => {
                (*ballot, Question::Propose { number: *number }, poll)
            }
        };
        (asked == ballot && about == question).then_some(poll)
    }

    fn on_handover(
        &mut self,
        from: MemberId,
        released: Ballot,
        post: &mut Post<'_, impl Io<Tenure>>,
    ) {
        if from != released.owner.id || !counter::is_lawful(released.counter) {
            return; // forged
        }
        if released.counter <= self.taken_over {
            return; // a duplicate
        }
        self.taken_over = released.counter;
        self.highest = self.highest.max(released.counter);
        self.knows_of_holder = false;
        self.is_nominated = true;
        post.send_to_voters(Message::Release { ballot: released });
        if self.tenure.is_none() {
            self.proceed(post);
        }
    }

    pub(super) fn on_request(&mut self, request: Request, post: &mut Post<'_, impl Io<Tenure>>) {
        match request {
            Request::Acquire => self.acquire(post),
            Request::Withdraw => self.withdraw(post),
            Request::Release => {
                self.is_nominated = false;
                self.release(post);
            }
            Request::Transfer { to } => self.transfer(to, post),
            Request::Healthy(is_healthy) => self.on_health(is_healthy, post),
        }
    }

    fn on_health(&mut self, is_healthy: bool, post: &mut Post<'_, impl Io<Tenure>>) {
        let was_healthy = std::mem::replace(&mut self.is_healthy, is_healthy);
        match (was_healthy, is_healthy) {
            (false, true) => self.proceed(post),
            (true, false) if self.tenure.is_none() => _ = self.release(post),
            (true, false) => {} // its tenure ends by release, or without renewal
            (true, true) | (false, false) => {} // no change
        }
    }

    pub(super) fn on_timer(&mut self, timer: Timer, post: &mut Post<'_, impl Io<Tenure>>) {
        match timer {
            Timer::Attempt | Timer::Renew => self.proceed(post),
            Timer::Answer => self.fail(post),
            Timer::End => self.arm_end(post), // early: `on_any` has read the clock
        }
    }

    /// Work that may still run must not be overtaken: tenure that was not released expires.
    pub(super) fn on_leave(&mut self, post: &mut Post<'_, impl Io<Tenure>>) {
        self.withdraw(post);
    }
}

// Transitions: the only code that writes `phase`, `proposed` and `tenure`. Each leaves exactly the
// timers running that are needed.
impl Nominee {
    fn acquire(&mut self, post: &mut Post<'_, impl Io<Tenure>>) {
        self.is_nominated = true;
        if self.tenure.is_some() {
            return;
        }
        match self.phase {
            Phase::Resting => self.proceed(post),
            Phase::Asking { poll, .. }
            | Phase::Preparing { poll, .. }
            | Phase::Proposing { poll, .. }
                if matches!(poll.refused(), Some(Refused::Held { .. })) =>
            {
                // The repeated request may come from a driver that knows of a release since. The
                // voter that refused will not report it, and without its vote this attempt may have
                // to wait for a voter that is down.
                self.knows_of_holder = true;
                self.proceed(post);
            }
            Phase::Asking { .. } | Phase::Preparing { .. } | Phase::Proposing { .. } => {}
            Phase::Granted { .. } => {} // it holds
        }
    }

    fn withdraw(&mut self, post: &mut Post<'_, impl Io<Tenure>>) {
        self.is_nominated = false;
        if self.tenure.is_none() {
            self.release(post);
        }
    }

    /// Renews the tenure that it holds, or tries to get one.
    fn proceed(&mut self, post: &mut Post<'_, impl Io<Tenure>>) {
        if !self.is_healthy {
            return; // its tenure expires
        }
        match (self.tenure, self.phase) {
            (Some(_), Phase::Proposing { ballot, .. } | Phase::Granted { ballot }) => {
                self.propose(ballot, post);
            }
            (Some(_), Phase::Resting | Phase::Asking { .. } | Phase::Preparing { .. }) => {
                let ballot = self.next_ballot();
                self.prepare(ballot, post);
            }
            (None, _) if !self.is_nominated => {}
            (None, _) if self.knows_of_holder => self.ask(post),
            (None, _) => {
                let ballot = self.next_ballot();
                self.prepare(ballot, post);
            }
        }
    }

    fn next_ballot(&mut self) -> Ballot {
        self.highest = self.highest.saturating_add(1);
        Ballot { counter: self.highest, owner: self.incarnation }
    }

    /// Rule 7: a question does not disturb a holder.
    fn ask(&mut self, post: &mut Post<'_, impl Io<Tenure>>) {
        let ballot = self.next_ballot();
        let poll = Poll::default();
        self.enter(Phase::Asking { ballot, poll }, post);
        post.send_to_voters(Message::Ask { ballot });
    }

    fn prepare(&mut self, ballot: Ballot, post: &mut Post<'_, impl Io<Tenure>>) {
        let poll = Poll::default();
        self.enter(Phase::Preparing { ballot, poll }, post);
        post.send_to_voters(Message::Prepare { ballot });
    }

    /// Rule 2. The clock is read before the proposal is sent: the time of the answer shortens the
    /// tenure.
    fn propose(&mut self, ballot: Ballot, post: &mut Post<'_, impl Io<Tenure>>) {
        let read_at = post.io.now();
        let ttl = post.io.config().ttl;
        self.proposals += 1;
        self.proposed = Some(ballot);
        self.highest_proposed = self.highest_proposed.max(ballot.counter);
        let number = self.proposals;
        let proposal = Proposal { number, read_at, ttl };
        let poll = Poll::default();
        let phase = Phase::Proposing { ballot, proposal, poll };
        self.enter(phase, post);
        post.send_to_voters(Message::Propose { ballot, number, ttl });
    }

    /// Rule 3. A tenure that it holds goes on with its fence; otherwise a new one begins.
    fn win(&mut self, ballot: Ballot, proposal: Proposal, post: &mut Post<'_, impl Io<Tenure>>) {
        let Proposal { read_at, ttl, .. } = proposal;
        let until = read_at + post.io.config().usable(ttl);
        if until <= post.io.now() {
            self.fail(post); // granted too late
            return;
        }
        let fence = match self.tenure {
            Some(held) => held.fence,
            None => {
                let fence = Fence(ballot.counter);
                post.io.report(TenureOutcome::Gained { fence });
                fence
            }
        };
        self.tenure = Some(Held { fence, until });
        self.knows_of_holder = false;
        let renew_at = read_at + Duration(ttl.0 / RENEWALS_IN_A_TTL);
        self.enter(Phase::Granted { ballot }, post);
        post.io.arm(Timer::Renew, renew_at - post.io.now());
        self.arm_end(post);
    }

    fn arm_end(&mut self, post: &mut Post<'_, impl Io<Tenure>>) {
        if let Some(held) = self.tenure {
            post.io.arm(Timer::End, held.until - post.io.now());
        }
    }

    /// Handles a question that too many refused, or too few answered.
    fn fail(&mut self, post: &mut Post<'_, impl Io<Tenure>>) {
        self.return_into_reach();
        match self.phase {
            Phase::Resting | Phase::Granted { .. } => {} // no open question
            Phase::Proposing { ballot, poll, .. }
                if self.tenure.is_some()
                    && matches!(poll.refused(), Some(Refused::TtlTooLong { .. })) =>
            {
                // A greater ballot would be refused as well: repeat the proposal, but not at once.
                self.enter(Phase::Granted { ballot }, post);
                post.io.arm(Timer::Renew, post.io.config().answer_within);
            }
            Phase::Proposing { poll, .. } if self.tenure.is_some() => {
                // If a voter refuses the ballot and the others do not answer, it can no longer win:
                // a greater one is due. Without a refusal, repeat the proposal.
                if poll.refused().is_some() {
                    self.phase = Phase::Resting;
                }
                self.proceed(post);
            }
            Phase::Preparing { ballot, poll }
                if ballot.counter == GUESS && poll.refused() == Some(Refused::Outrun) =>
            {
                self.proceed(post); // now it knows the counter
            }
            Phase::Asking { poll, .. } | Phase::Preparing { poll, .. } => self.pause(poll, post),
            Phase::Proposing { poll, .. } => self.pause(poll, post),
        }
    }

    /// Rule 10. A counter out of the voters' reach came from a faulty or forged message: the
    /// voters' answers count.
    fn return_into_reach(&mut self) {
        let (Phase::Asking { poll, .. }
        | Phase::Preparing { poll, .. }
        | Phase::Proposing { poll, .. }) = self.phase
        else {
            return; // no open question
        };
        if let Some(promised) = poll.promised_if_out_of_reach() {
            self.highest = promised.max(self.highest_proposed);
            self.taken_over = self.taken_over.min(self.highest);
        }
    }

    /// Waits until no known holder is left, and a random time more: one of two waiting nominees
    /// is first.
    fn pause(&mut self, poll: Poll, post: &mut Post<'_, impl Io<Tenure>>) {
        let refused = poll.refused();
        if let Some(refused) = refused
            && self.tenure.is_none()
        {
            post.io.report(TenureOutcome::Refused(refused));
        }
        let lasts = match refused {
            Some(Refused::Held { lasts, .. } | Refused::Quarantined { lasts }) => {
                lasts.min(LONGEST_WAIT)
            }
            Some(
                Refused::Outrun
                | Refused::TtlTooLong { .. }
                | Refused::Uninitialised
                | Refused::OutOfReach { .. },
            )
            | None => Duration::ZERO,
        };
        self.knows_of_holder = matches!(refused, Some(Refused::Held { .. }));
        self.enter(Phase::Resting, post);
        let longest = post.io.config().back_off;
        let chance = Duration(post.io.rng().next_u64() % longest.0.saturating_add(1).max(1));
        post.io.arm(Timer::Attempt, lasts + chance);
    }

    /// Rule 4: the tenure has ended.
    fn lapse(&mut self, post: &mut Post<'_, impl Io<Tenure>>) {
        self.retire(post);
        if self.may_campaign() {
            self.pause(Poll::default(), post);
        }
    }

    /// Rule 5: stops first, then informs the voters. Returns the released ballot, if voters may
    /// have granted one.
    fn release(&mut self, post: &mut Post<'_, impl Io<Tenure>>) -> Option<Ballot> {
        let proposed = self.retire(post);
        if let Some(ballot) = proposed {
            post.send_to_voters(Message::Release { ballot });
        }
        proposed
    }

    /// Drops the tenure, and counts no further answer to any ballot that it has used. Returns the
    /// highest ballot that it has proposed.
    pub(super) fn retire(&mut self, post: &mut Post<'_, impl Io<Tenure>>) -> Option<Ballot> {
        if let Some(Held { fence, .. }) = self.tenure.take() {
            post.io.report(TenureOutcome::Lost { fence });
        }
        self.enter(Phase::Resting, post);
        post.io.disarm(Timer::End);
        self.proposed.take()
    }

    fn transfer(&mut self, to: MemberId, post: &mut Post<'_, impl Io<Tenure>>) {
        if self.tenure.is_none() {
            return; // no tenure to hand over
        }
        self.is_nominated = false;
        if let Some(released) = self.release(post) {
            post.send(to, Message::Handover { released });
        }
    }

    /// Enters `phase`, with the timers of its open question.
    fn enter(&mut self, phase: Phase, post: &mut Post<'_, impl Io<Tenure>>) {
        self.phase = phase;
        post.io.disarm(Timer::Attempt);
        post.io.disarm(Timer::Renew);
        match phase {
            Phase::Resting | Phase::Granted { .. } => post.io.disarm(Timer::Answer),
            Phase::Asking { .. } | Phase::Preparing { .. } | Phase::Proposing { .. } => {
                post.io.arm(Timer::Answer, post.io.config().answer_within);
            }
        }
    }
}
