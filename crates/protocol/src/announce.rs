//! Announce and listen: a member that knows no better one announces itself, all others listen.
//!
//! Source    Schooler, Why multicast protocols (don't) scale (thesis, Caltech 2000), chapter 5:
//!           LE-A, LE-S, LE-M; the future work of section 5.7; the rest is ours
//! Assumes   a multicast reaches every member sooner or later, but not its sender: a member that
//!           receives its own announcement takes it for one of a duplicate identity. No view, no
//!           list of members: a member need not know another one before that member announces
//!           itself
//! Promises  with [`Config::paper`]: all members name the best one once each has received one of
//!           its announcements, and do so as long as it announces itself
//!           with [`Config::field`], after any faults: once multicasts get through again, all
//!           started members name the same leader within T_L + T_S + T_A and four delays, and keep
//!           doing so. Each announcement lost in a row adds T_A, and T_L allows some false
//!           departures. With [`Takeover::ByTheBetter`] the leader is the best member. A member
//!           that comes, or comes back, unseats a leader at most once; without its disk it is
//!           believed after T_L at the latest. Messages of an earlier incarnation, or from before a
//!           goodbye, change nothing. Of several leaders all members know all; if no leader is
//!           unseated, the named one may change for another T_S + T_A. Until then there may be
//!           several leaders, or none
//!           Once a leader is known to be gone, by its goodbye or by a failure detector, it is
//!           replaced within T_S and a delay, without queries. Members query a silent leader before
//!           it counts as lost, and name it until then; with [`Joining::Announce`] no member ever
//!           queries
//!           With [`Repeat::Measured`] a leader says goodbye as often as its worst-connected
//!           listener needs
//! Messages  announcement (I lead), query (which member leads?), bye (I no longer lead), complaint
//!           (a leader promises too few goodbyes); all to every member
//!
//! In the chapter a member considers itself the leader until it learns of a better one. Here too,
//! but a member that has not announced itself yet names no leader. With *k* leaders to elect, a
//! member gives way once it knows k better ones; the best k remain.
//!
//! Line 6 of Programs 5.1 and 5.2 is printed `msg.addr > leader`: a leader's own heartbeat would
//! not restart the listen timer. [`Heartbeat::Ignored`] shows the effect.

mod config;
mod departed;
mod farewell;
mod leader_query;
mod leaders;
mod loss;
mod message;
mod wake;

pub use config::{Config, Correction, Criterion, Heartbeat, Joining, Listen, Repeat, Takeover};
pub use loss::{MOST_REPETITIONS, repetitions};
pub use message::{Claim, Message};
pub use wake::{PriorityScale, Wake};

use crate::{
    Candidate, Duration, ElectionOutcome, Input, Instant, Io, MemberId, NoRequest, Priority,
    Protocol, Simulated, View, ViewChange,
};
use departed::DepartedMembers;
use farewell::Farewell;
use leaders::{KnownLeader, Leaders};
use loss::LossEstimate;

/// The chapter's three timers, one for answers, and one for complaints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// The wake-up: the member announces itself, unless a better one has done so.
    Suppress,
    /// The next announcement is due.
    Announce,
    /// A leader is to be queried, or counts as lost.
    Listen,
    /// No leader has answered.
    Query,
    /// No other member has complained.
    Complain,
}

crate::timers!(Suppress, Announce, Listen, Query, Complain);

/// One member.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Announce {
    incarnation: u32,
    /// The effective priority, as of the last wake-up that was drawn.
    priority: Priority,
    phase: Phase,
    /// The number of announcements made.
    beat: u32,
    /// The known leaders: the best that are better than this member; if it leads, also worse ones
    /// that lead beside it.
    leaders: Leaders,
    /// The members that said goodbye: their late announcements are ignored.
    departed: DepartedMembers,
    loss: LossEstimate,
    farewell: Farewell,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    /// Before the start, or after leaving.
    #[default]
    Idle,
    /// Knows too few better members, and waits for its wake-up.
    Suppressed {
        vacancy: Vacancy,
    },
    /// Woke up, and waits for answers to its query.
    Asking,
    Leading {
        since: Instant,
        announced: Instant,
    },
    Following,
    /// Another process uses this member's identity.
    Refused,
}

/// The chance that a leader exists. It decides if a member without one queries before it announces
/// itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Vacancy {
    /// No leader is known, but there may be one: the member has just started, or has lost its
    /// leader and may be the only one that did.
    Likely,
    /// The leader said goodbye, or a failure detector reported it dead: no leader would answer, and
    /// a query would only cost `election_timeout`.
    Certain,
}

impl Announce {
    /// A member that starts for the first time or, with a saved incarnation, once more.
    pub fn new(saved: Option<u32>) -> Self {
        Self { incarnation: saved.unwrap_or(0).saturating_add(1), ..Self::default() }
    }

    /// True if this member announces itself.
    pub fn leads(&self) -> bool {
        matches!(self.phase, Phase::Leading { .. })
    }

    /// The leaders that this member knows besides itself, the best first.
    pub fn follows(&self) -> impl Iterator<Item = Candidate> {
        self.leaders.iter().map(|heard| heard.claim.candidate)
    }

    /// The measured loss, combined with the assumption `assumed`.
    pub fn loss(&self, assumed: f64) -> f64 {
        self.loss.loss(assumed)
    }

    /// The share of its leaders' announcements that are lost, by measurement alone; `None` until
    /// enough was measured to tell loss from chance.
    pub fn measured_loss(&self) -> Option<f64> {
        self.loss.measured()
    }
}

impl Protocol for Announce {
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Durable = u32;
    type Outcome = ElectionOutcome;
    type Request = NoRequest;

    #[inline]
    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        match (input, self.phase) {
            (Input::Start, Phase::Idle) => self.start(io),
            (Input::Message { from, message }, _) if self.takes_part() => {
                self.on_message(from, message, io);
            }
            (Input::Timer(Timer::Suppress), Phase::Suppressed { vacancy }) => {
                self.wake_up(vacancy, io);
            }
            (Input::Timer(Timer::Query), Phase::Asking) => self.lead(io),
            (Input::Timer(Timer::Announce), Phase::Leading { .. }) => self.announce(io),
            (Input::Timer(Timer::Listen), _) if self.takes_part() => self.on_silence(io),
            (Input::Timer(Timer::Complain), _) if self.takes_part() => self.complain(io),
            (Input::Leave, _) if self.takes_part() => self.leave(io),
            (Input::ViewChanged(ViewChange::Left(id)), _) if self.takes_part() => {
                self.on_member_down(id, io);
            }
            // Announcements show which members are up. A second start changes nothing.
            (Input::ViewChanged(_) | Input::Start | Input::Timer(_), _) => {}
            (Input::Message { .. } | Input::Leave, _) => {} // not taking part
        }
    }
}

impl Simulated for Announce {
    const SELECTIVE: bool = true;

    #[inline]
    fn weight(message: &Message) -> Option<Candidate> {
        message.announced()
    }

    /// By the chapter's rules a member ignores every candidate that is not better than the best
    /// that it knows.
    #[inline]
    fn ignores_up_to(&self, me: Candidate, config: &Config) -> Option<Candidate> {
        let own = Candidate { priority: self.priority, id: me.id };
        match self.phase {
            _ if !config.ignores_worse_candidates() => None,
            Phase::Idle | Phase::Refused => Some(Candidate::BEYOND_ALL),
            Phase::Suppressed { .. } | Phase::Leading { .. } => Some(own),
            Phase::Following => self.leaders.best(),
            Phase::Asking => None,
        }
    }
}

// Handlers: one per input. They decide; the transitions below act.
impl Announce {
    #[inline]
    fn takes_part(&self) -> bool {
        !matches!(self.phase, Phase::Idle | Phase::Refused)
    }

    #[inline]
    fn on_message(&mut self, from: MemberId, message: Message, io: &mut impl Io<Self>) {
        let has_own_identity = from == io.me().id;
        match message {
            Message::Announcement { claim, .. } if claim.candidate.id != from => {} // forged
            Message::Announcement { claim, .. } if has_own_identity => {
                self.on_duplicate_identity(claim.incarnation, io);
            }
            Message::Announcement { claim, beat, byes } => {
                self.on_announcement(claim, beat, byes, io);
            }
            Message::Query => {
                self.answer(io.config().answer_gap(), io);
                self.on_query(io);
            }
            Message::Bye { incarnation } if !has_own_identity => {
                self.on_bye(from, incarnation, io);
            }
            Message::Bye { .. } => {} // of an earlier incarnation of ours
            Message::Complaint { about, byes } => self.on_complaint(about, byes, io),
        }
    }

    #[inline]
    fn on_announcement(&mut self, claim: Claim, beat: u32, byes: u8, io: &mut impl Io<Self>) {
        if self.is_stale(claim, beat, io.now()) {
            return;
        }
        let missed = self.on_rival(claim.candidate.id, io);
        let takeover = io.config().takeover;
        if claim.rank(takeover) > self.claim(io).rank(takeover) {
            self.on_better(claim, beat, byes, io);
        } else {
            self.on_worse(claim, beat, byes, io);
        }
        if let Some(vacancy) = missed
            && self.leaders.len() < io.config().leaders as usize
        {
            self.on_fewer(vacancy, io); // the rival has not taken every place
        }
    }

    /// True if the claim is older than a known one: of an earlier incarnation, overtaken on its
    /// way, or from before a goodbye.
    #[inline]
    fn is_stale(&self, claim: Claim, beat: u32, now: Instant) -> bool {
        let known = self.leaders.get(claim.candidate.id);
        let age = (claim.incarnation, beat);
        known.is_some_and(|heard| (heard.claim.incarnation, heard.beat) > age)
            || self.departed.has(claim.candidate.id, claim.incarnation, now)
    }

    #[inline]
    fn on_better(&mut self, claim: Claim, beat: u32, byes: u8, io: &mut impl Io<Self>) {
        let heard = self.note(claim, beat, byes, io);
        let room = io.config().leaders as usize;
        let takeover = io.config().takeover;
        if !self.leaders.enter(heard, room, takeover) {
            return; // not among the best that we know
        }
        if self.leads() && self.leaders.better_than(self.claim(io), takeover) < room {
            self.leaders.keep(room - 1); // with ourselves
        }
        self.listen(io);
        self.consider_complaint(io);
        if self.leaders.len() >= room {
            self.follow(io);
        } else {
            self.name(io);
        }
    }

    fn on_worse(&mut self, claim: Claim, beat: u32, byes: u8, io: &mut impl Io<Self>) {
        if self.leads() && self.enter_beside(claim, beat, byes, io) {
            self.listen(io);
            self.consider_complaint(io);
            self.name(io);
            return; // a leader beside us
        }
        let id = claim.candidate.id;
        if self.leaders.drop_if(|heard| heard.claim.candidate.id == id) {
            self.on_fewer(Vacancy::Likely, io); // it was better when it was entered
            return;
        }
        match self.phase {
            Phase::Leading { .. } if io.config().correction == Correction::AtOnce => {
                self.answer(io.config().correction_gap(), io);
            }
            Phase::Asking => self.lead(io), // a leader answered, and we are better
            Phase::Leading { .. } | Phase::Suppressed { .. } | Phase::Following => {} // it will learn
            Phase::Idle | Phase::Refused => {}
        }
    }

    /// Each of several leaders knows all of them: enters a worse one if it is among the best, this
    /// member included.
    fn enter_beside(&mut self, claim: Claim, beat: u32, byes: u8, io: &mut impl Io<Self>) -> bool {
        let others = io.config().leaders as usize - 1;
        if others == 0 {
            return false;
        }
        let heard = self.note(claim, beat, byes, io);
        let takeover = io.config().takeover;
        self.leaders.enter(heard, others, takeover)
    }

    /// Builds the entry for a member that has just announced itself. Measures the loss.
    #[inline]
    fn note(&mut self, claim: Claim, beat: u32, byes: u8, io: &impl Io<Self>) -> KnownLeader {
        let known = self.leaders.get(claim.candidate.id).copied();
        if let Some(heard) = known
            && heard.claim.incarnation == claim.incarnation
            && beat > heard.beat
        {
            self.loss.note(beat - heard.beat - 1);
        }
        let until = match (known, io.config().heartbeat) {
            (Some(heard), Heartbeat::Ignored) => heard.until,
            (Some(_), Heartbeat::Restarts) | (None, _) => self.lost_at(io),
        };
        KnownLeader {
            claim,
            beat,
            byes,
            asked: 0,
            sooner: self.shortening_with_rival(io.config()),
            until,
        }
    }

    /// Reacts to the removal of a leader.
    fn on_fewer(&mut self, vacancy: Vacancy, io: &mut impl Io<Self>) {
        self.listen(io);
        self.name(io);
        if self.phase == Phase::Following {
            self.stand(vacancy, io);
        }
    }

    fn on_bye(&mut self, id: MemberId, incarnation: u32, io: &mut impl Io<Self>) {
        // Without T_L no leader is ever lost. A member that left may still come back, without its
        // disk.
        let until = self.lost_at(io).min(io.now() + io.config().announce * 3);
        self.departed.enter(id, incarnation, until, io.now());
        let is_it = |heard: &KnownLeader| {
            heard.claim.candidate.id == id && heard.claim.incarnation <= incarnation
        };
        if self.leaders.drop_if(is_it) {
            self.on_fewer(Vacancy::Certain, io);
        }
    }

    /// A failure detector, if there is one, reports a leader dead: it counts as lost without
    /// waiting for T_L.
    fn on_member_down(&mut self, id: MemberId, io: &mut impl Io<Self>) {
        if self.leaders.drop_if(|heard| heard.claim.candidate.id == id) {
            self.on_fewer(Vacancy::Certain, io);
        }
    }

    /// A message has our identity: it is from before our last restart, or from another process.
    fn on_duplicate_identity(&mut self, incarnation: u32, io: &mut impl Io<Self>) {
        if incarnation >= self.incarnation {
            self.stop(Phase::Refused, io);
            io.report(ElectionOutcome::DuplicateIdentity);
        }
    }
}

// Transitions: the only code that writes `phase`. The timers run as follows:
//
// - suppress while suppressed, query while asking, announce while leading;
// - listen while a leader is known;
// - complain while `farewell` has it running.
impl Announce {
    fn start(&mut self, io: &mut impl Io<Self>) {
        io.save(self.incarnation);
        self.stand(Vacancy::Likely, io);
    }

    /// Looks for a leader: waits for the wake-up, or queries if there may be one.
    fn stand(&mut self, vacancy: Vacancy, io: &mut impl Io<Self>) {
        io.report(ElectionOutcome::Standing { round: 1 });
        let config = *io.config();
        let priority = io.me().priority;
        let wait = config.wake.draw(config.suppress, priority, io.rng());
        self.priority = config.effective_priority(priority, wait);
        match (config.joining, vacancy) {
            (Joining::Query { election_timeout }, Vacancy::Likely) => {
                self.ask(election_timeout, io);
            }
            (Joining::Announce | Joining::Query { .. }, _) if wait == Duration::ZERO => {
                self.lead(io);
            }
            (Joining::Announce | Joining::Query { .. } | Joining::SuppressThenQuery { .. }, _) => {
                self.phase = Phase::Suppressed { vacancy };
                io.arm(Timer::Suppress, wait);
            }
        }
    }

    fn wake_up(&mut self, vacancy: Vacancy, io: &mut impl Io<Self>) {
        match (io.config().joining, vacancy) {
            (Joining::SuppressThenQuery { election_timeout }, Vacancy::Likely) => {
                self.ask(election_timeout, io);
            }
            (Joining::SuppressThenQuery { .. }, Vacancy::Certain) => self.lead(io),
            (Joining::Announce | Joining::Query { .. }, _) => self.lead(io),
        }
    }

    fn ask(&mut self, election_timeout: Duration, io: &mut impl Io<Self>) {
        self.phase = Phase::Asking;
        io.multicast(Message::Query);
        io.arm(Timer::Query, election_timeout);
    }

    fn lead(&mut self, io: &mut impl Io<Self>) {
        io.disarm(Timer::Query);
        let now = io.now();
        self.phase = Phase::Leading { since: now, announced: now };
        self.reset_goodbyes(io.config());
        self.name(io);
        self.announce(io);
    }

    fn announce(&mut self, io: &mut impl Io<Self>) {
        if let Phase::Leading { announced, .. } = &mut self.phase {
            let is_in_turn = io.now() - *announced >= io.config().announce;
            *announced = io.now();
            self.beat = self.beat.saturating_add(1);
            let (claim, beat) = (self.claim(io), self.beat);
            if is_in_turn {
                self.age_goodbyes();
            }
            let byes = u8::try_from(self.byes(io.config())).unwrap_or(u8::MAX);
            io.multicast(Message::Announcement { claim, beat, byes });
            io.arm(Timer::Announce, io.config().announce);
        }
    }

    /// If it leads: announces itself ahead of time, but not less than `gap` after the last
    /// announcement.
    fn answer(&mut self, gap: Duration, io: &mut impl Io<Self>) {
        if let Phase::Leading { announced, .. } = self.phase {
            let elapsed = io.now() - announced;
            if elapsed >= gap {
                self.announce(io);
            } else {
                io.arm(Timer::Announce, Duration(gap.0 - elapsed.0));
            }
        }
    }

    /// Gives way to the known leaders.
    #[inline]
    fn follow(&mut self, io: &mut impl Io<Self>) {
        match self.phase {
            Phase::Suppressed { .. } => io.disarm(Timer::Suppress),
            Phase::Asking => io.disarm(Timer::Query),
            Phase::Leading { .. } => io.disarm(Timer::Announce),
            Phase::Following | Phase::Idle | Phase::Refused => {}
        }
        self.phase = Phase::Following;
        self.name(io);
    }

    fn leave(&mut self, io: &mut impl Io<Self>) {
        if self.leads() {
            for _ in 0..self.byes(io.config()) {
                let incarnation = self.incarnation;
                io.multicast(Message::Bye { incarnation });
            }
        }
        self.stop(Phase::Idle, io);
        io.report(ElectionOutcome::Vacant);
    }

    fn stop(&mut self, phase: Phase, io: &mut impl Io<Self>) {
        for timer in <Timer as crate::Timer>::ALL {
            io.disarm(*timer);
        }
        self.leaders = Leaders::default();
        self.farewell = Farewell::default();
        self.phase = phase;
    }

    /// Reports the best leader, itself included.
    #[inline]
    fn name(&self, io: &mut impl Io<Self>) {
        let takeover = io.config().takeover;
        let best = self.leaders.first();
        let own = self.leads().then(|| self.claim(io));
        let leaders = best.into_iter().chain(own);
        match leaders.max_by_key(|claim| claim.rank(takeover)) {
            Some(leader) => io.report(ElectionOutcome::Nominee(leader.candidate)),
            None => io.report(ElectionOutcome::Vacant),
        }
    }

    /// The claim that this member makes, or would make.
    #[inline]
    fn claim(&self, io: &impl Io<Self>) -> Claim {
        let config = io.config();
        let established = match self.phase {
            Phase::Leading { since, .. } => io.now() - since >= config.suppress + config.announce,
            _ => false,
        };
        // All of several leaders have the same followers.
        let follower_count = if established && config.leaders == 1 {
            io.view().len().min(usize::from(u16::MAX)) as u16
        } else {
            0
        };
        Claim {
            candidate: Candidate { priority: self.priority, id: io.me().id },
            incarnation: self.incarnation,
            established,
            follower_count,
        }
    }
}
