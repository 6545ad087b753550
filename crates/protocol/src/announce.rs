//! Announce and listen: whoever has heard of nobody better announces itself, all others listen.
//!
//! Source    Schooler, Why multicast protocols (don't) scale (thesis, Caltech 2000), chapter 5:
//!           LE-A, LE-S, LE-M; what section 5.7 leaves to future work; the rest is ours
//! Assumes   a multicast reaches every member sooner or later, but not its sender: who hears its
//!           own words takes them for a namesake's. No view, no list of members: a member need not
//!           know that another one exists until that one announces itself
//! Promises  with [`Config::chapter`]: all name the best member once each has heard one of its
//!           announcements, and do so for as long as it announces itself
//!           with [`Config::field`], after any faults: once multicasts get through again, all
//!           started members name the same leader within T_L + T_S + T_A and four delays, and keep
//!           doing so; where announcements are lost, T_A later for each one lost in a row, and but
//!           for the false departures that T_L allows. With [`Takeover::ByTheBetter`] it is the
//!           best. A member that comes, or comes back, unseats a leader once at most; without its
//!           disk it is believed after T_L at the latest. What is known to be past, of an earlier
//!           life or from before a goodbye, changes nothing. Of several leaders all know all;
//!           where none is unseated the one that is named may change until T_S + T_A later.
//!           Until then there may be several leaders, or none
//!           Once a leader is known to be gone, by its goodbye or by a failure detector, it is
//!           replaced within T_S and a delay, and nobody asks. One that falls silent is asked for
//!           before it is missed, and named until then, unless by [`Joining::Announce`] nobody ever
//!           asks
//!           By [`Repeat::Measured`] a goodbye is said as often as whoever hears the leader worst
//!           calls for
//! Messages  announcement (I lead), query (who leads?), bye (I lead no longer), complaint (one who
//!           leads is heard too faintly); all to everyone
//!
//! A member takes itself for the leader until it hears of somebody better: so says the chapter, and
//! so do we, but a member that has not announced itself yet names nobody. With *k* leaders to elect
//! a member gives way once it has heard of k better ones; the best k remain.
//!
//! Line 6 of Programs 5.1 and 5.2 is printed `msg.addr > leader`: a leader's own heartbeat would
//! not restart the listen timer. [`Heartbeat::Ignored`] shows what that leads to.

mod config;
mod departed;
mod doubt;
mod farewell;
mod leaders;
mod loss;
mod message;
mod wake;

pub use config::{Config, Correction, Criterion, Heartbeat, Joining, Listen, Repeat, Takeover};
pub use loss::{MOST_REPETITIONS, repetitions};
pub use message::{Claim, Message};
pub use wake::{MeritScale, Wake};

use crate::{
    Candidate, Duration, Input, Instant, Io, MemberId, Merit, NoRequest, Outcome, Protocol, View,
    ViewChange,
};
use departed::Departed;
use farewell::Farewell;
use leaders::{Heard, Leaders};
use loss::LossEstimate;

/// The chapter's three timers, one for answers, and one for complaints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// It is time to announce itself, unless somebody better did.
    Suppress,
    /// The next announcement is due.
    Announce,
    /// A leader is to be asked for, or missed.
    Listen,
    /// No leader has answered.
    Query,
    /// Nobody else has complained.
    Complain,
}

impl crate::Timer for Timer {
    const ALL: &'static [Self] = &[
        Self::Suppress,
        Self::Announce,
        Self::Listen,
        Self::Query,
        Self::Complain,
    ];

    #[inline]
    fn index(self) -> usize {
        self as usize
    }
}

/// One member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announce {
    incarnation: u32,
    /// The merit that counts, as of the last wake-up that was drawn.
    merit: Merit,
    phase: Phase,
    /// How many announcements it has made.
    beat: u32,
    /// The leaders that it has heard of: the best that are better than itself; if it leads, worse
    /// ones too that lead beside it.
    leaders: Leaders,
    /// Who said goodbye: their late announcements are not believed.
    departed: Departed,
    loss: LossEstimate,
    farewell: Farewell,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Not started, or gone.
    Idle,
    /// Has heard of too few better ones, and waits for its wake-up.
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
    /// Somebody else goes by its identity.
    Refused,
}

/// Whether there may be a leader that a member without one should ask for before it announces itself,
/// if it is one that asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Vacancy {
    /// Nobody is known to lead, but somebody may: it is new here, or has missed a leader, and may be
    /// the only one that did.
    Likely,
    /// The leader that it had said goodbye, or a failure detector says that it is gone: nobody would
    /// answer, and a question would only cost `patience`.
    Certain,
}

impl Announce {
    /// A member that comes up for the first time or, if it had saved a number, once more.
    pub fn new(saved: Option<u32>) -> Self {
        Self {
            incarnation: saved.unwrap_or(0).saturating_add(1),
            merit: Merit(0),
            phase: Phase::Idle,
            beat: 0,
            leaders: Leaders::default(),
            departed: Departed::default(),
            loss: LossEstimate::default(),
            farewell: Farewell::default(),
        }
    }

    /// Whether it announces itself.
    pub fn leads(&self) -> bool {
        matches!(self.phase, Phase::Leading { .. })
    }

    /// The leaders that it knows of besides itself, the best first.
    pub fn follows(&self) -> impl Iterator<Item = Candidate> {
        self.leaders.iter().map(|heard| heard.claim.candidate)
    }

    /// What it has measured of the loss, given what to assume beforehand.
    pub fn loss(&self, assumed: f64) -> f64 {
        self.loss.loss(assumed)
    }

    /// The part of its leaders' announcements that are lost, by what it has measured alone; none until it has measured
    /// enough to tell loss from chance.
    pub fn measured_loss(&self) -> Option<f64> {
        self.loss.measured()
    }
}

impl Protocol for Announce {
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Durable = u32;
    type Request = NoRequest;
    const SELECTIVE: bool = true;

    /// By the chapter's rules a member ignores whoever is not better than the best that it knows.
    #[inline]
    fn deaf_up_to(&self, me: Candidate, config: &Config) -> Option<Candidate> {
        let own = Candidate {
            merit: self.merit,
            id: me.id,
        };
        match self.phase {
            _ if !config.ignores_the_worse() => None,
            Phase::Idle | Phase::Refused => Some(Candidate::BEYOND_ALL),
            Phase::Suppressed { .. } | Phase::Leading { .. } => Some(own),
            Phase::Following => self.leaders.best(),
            Phase::Asking => None,
        }
    }

    #[inline]
    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        match (input, self.phase) {
            (Input::Start, Phase::Idle) => self.come_up(io),
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
                self.on_gone(id, io);
            }
            // Announcements tell who is there. A second start changes nothing.
            (Input::ViewChanged(_) | Input::Start | Input::Timer(_), _) => {}
            (Input::Message { .. } | Input::Leave, _) => {} // not taking part
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
        let is_from_namesake = from == io.me().id;
        match message {
            Message::Announcement { claim, .. } if claim.candidate.id != from => {} // forged
            Message::Announcement { claim, .. } if is_from_namesake => {
                self.on_namesake(claim.incarnation, io);
            }
            Message::Announcement { claim, beat, byes } => {
                self.on_announcement(claim, beat, byes, io);
            }
            Message::Query => {
                self.answer(io.config().answer_gap(), io);
                self.on_question(io);
            }
            Message::Bye { incarnation } if !is_from_namesake => {
                self.on_bye(from, incarnation, io);
            }
            Message::Bye { .. } => {} // of an earlier life of ours
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

    /// Whether the claim is older than one that we know: of an earlier life, overtaken on its way,
    /// or from before a goodbye.
    #[inline]
    fn is_stale(&self, claim: Claim, beat: u32, now: Instant) -> bool {
        let known = self.leaders.get(claim.candidate.id);
        let age = (claim.incarnation, beat);
        known.is_some_and(|heard| (heard.claim.incarnation, heard.beat) > age)
            || self
                .departed
                .has(claim.candidate.id, claim.incarnation, now)
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
        self.weigh(io);
        if self.leaders.len() >= room {
            self.follow(io);
        } else {
            self.name(io);
        }
    }

    fn on_worse(&mut self, claim: Claim, beat: u32, byes: u8, io: &mut impl Io<Self>) {
        if self.leads() && self.has_room_beside(claim, beat, byes, io) {
            self.listen(io);
            self.weigh(io);
            self.name(io);
            return; // one of the leaders, as we are
        }
        let id = claim.candidate.id;
        if self.leaders.drop_if(|heard| heard.claim.candidate.id == id) {
            self.on_fewer(Vacancy::Likely, io); // it was better when we heard of it first
            return;
        }
        match self.phase {
            Phase::Leading { .. } if io.config().correction == Correction::AtOnce => {
                self.answer(io.config().correction_gap(), io);
            }
            Phase::Asking => self.lead(io), // a leader answered, and we are better
            Phase::Leading { .. } | Phase::Suppressed { .. } | Phase::Following => {} // it will hear
            Phase::Idle | Phase::Refused => {}
        }
    }

    /// Of several leaders each knows all: enters a worse one if it is among the best, we included.
    fn has_room_beside(
        &mut self,
        claim: Claim,
        beat: u32,
        byes: u8,
        io: &mut impl Io<Self>,
    ) -> bool {
        let others = io.config().leaders as usize - 1;
        if others == 0 {
            return false;
        }
        let heard = self.note(claim, beat, byes, io);
        let takeover = io.config().takeover;
        self.leaders.enter(heard, others, takeover)
    }

    /// What to know of whoever announced itself just now. Measures the loss.
    #[inline]
    fn note(&mut self, claim: Claim, beat: u32, byes: u8, io: &impl Io<Self>) -> Heard {
        let known = self.leaders.get(claim.candidate.id).copied();
        if let Some(heard) = known
            && heard.claim.incarnation == claim.incarnation
            && beat > heard.beat
        {
            self.loss.note(beat - heard.beat - 1);
        }
        let until = match (known, io.config().heartbeat) {
            (Some(heard), Heartbeat::Ignored) => heard.until,
            (Some(_), Heartbeat::Restarts) | (None, _) => self.missed_at(io),
        };
        Heard {
            claim,
            beat,
            byes,
            asked: 0,
            sooner: self.sooner_beside_rival(io.config()),
            until,
        }
    }

    /// Some leader is known no longer.
    fn on_fewer(&mut self, vacancy: Vacancy, io: &mut impl Io<Self>) {
        self.listen(io);
        self.name(io);
        if self.phase == Phase::Following {
            self.stand(vacancy, io);
        }
    }

    fn on_bye(&mut self, id: MemberId, incarnation: u32, io: &mut impl Io<Self>) {
        // Without T_L nobody is missed, but who left may come back, and without its disk.
        let until = self.missed_at(io).min(io.now() + io.config().announce * 3);
        self.departed.enter(id, incarnation, until, io.now());
        let is_it = |heard: &Heard| {
            heard.claim.candidate.id == id && heard.claim.incarnation <= incarnation
        };
        if self.leaders.drop_if(is_it) {
            self.on_fewer(Vacancy::Certain, io);
        }
    }

    /// A failure detector, where there is one, says that a leader is gone: no need to miss it first.
    fn on_gone(&mut self, id: MemberId, io: &mut impl Io<Self>) {
        if self.leaders.drop_if(|heard| heard.claim.candidate.id == id) {
            self.on_fewer(Vacancy::Certain, io);
        }
    }

    /// Somebody goes by our identity: ourselves before the last restart, or somebody else.
    fn on_namesake(&mut self, incarnation: u32, io: &mut impl Io<Self>) {
        if incarnation >= self.incarnation {
            self.fall_silent(Phase::Refused, io);
            io.report(Outcome::DuplicateIdentity);
        }
    }
}

// Transitions: the only code that writes `phase`. The suppress timer runs while suppressed, the query
// timer while asking, the announce timer while leading; the listen timer while a leader is known; the
// complain timer while `farewell` says so.
impl Announce {
    fn come_up(&mut self, io: &mut impl Io<Self>) {
        io.save(self.incarnation);
        self.stand(Vacancy::Likely, io);
    }

    /// Has too few leaders: waits for the wake-up, or asks if there may be one.
    fn stand(&mut self, vacancy: Vacancy, io: &mut impl Io<Self>) {
        io.report(Outcome::Standing { round: 1 });
        let config = *io.config();
        let merit = io.me().merit;
        let wait = config.wake.draw(config.suppress, merit, io.rng());
        self.merit = config.merit_that_counts(merit, wait);
        match (config.joining, vacancy) {
            (Joining::Query { patience }, Vacancy::Likely) => self.ask(patience, io),
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
            (Joining::SuppressThenQuery { patience }, Vacancy::Likely) => self.ask(patience, io),
            (Joining::SuppressThenQuery { .. }, Vacancy::Certain) => self.lead(io),
            (Joining::Announce | Joining::Query { .. }, _) => self.lead(io),
        }
    }

    fn ask(&mut self, patience: Duration, io: &mut impl Io<Self>) {
        self.phase = Phase::Asking;
        io.multicast(Message::Query);
        io.arm(Timer::Query, patience);
    }

    fn lead(&mut self, io: &mut impl Io<Self>) {
        io.disarm(Timer::Query);
        let now = io.now();
        self.phase = Phase::Leading {
            since: now,
            announced: now,
        };
        self.expect_to_be_heard(io.config());
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
                self.reconsider_byes();
            }
            let byes = u8::try_from(self.byes(io.config())).unwrap_or(u8::MAX);
            io.multicast(Message::Announcement { claim, beat, byes });
            io.arm(Timer::Announce, io.config().announce);
        }
    }

    /// If it leads: announces itself ahead of time, but not less than `gap` after the last time.
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

    /// Gives way to the leaders that it knows.
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
        self.fall_silent(Phase::Idle, io);
        io.report(Outcome::Vacant);
    }

    fn fall_silent(&mut self, phase: Phase, io: &mut impl Io<Self>) {
        for timer in <Timer as crate::Timer>::ALL {
            io.disarm(*timer);
        }
        self.leaders = Leaders::default();
        self.farewell = Farewell::default();
        self.phase = phase;
    }

    /// Names the best leader, itself included.
    #[inline]
    fn name(&self, io: &mut impl Io<Self>) {
        let takeover = io.config().takeover;
        let best = self.leaders.first();
        let own = self.leads().then(|| self.claim(io));
        let leaders = best.into_iter().chain(own);
        match leaders.max_by_key(|claim| claim.rank(takeover)) {
            Some(leader) => io.report(Outcome::Nominee(leader.candidate)),
            None => io.report(Outcome::Vacant),
        }
    }

    /// What this member claims, or would.
    #[inline]
    fn claim(&self, io: &impl Io<Self>) -> Claim {
        let config = io.config();
        let established = match self.phase {
            Phase::Leading { since, .. } => io.now() - since >= config.suppress + config.announce,
            _ => false,
        };
        // Of several leaders all have the same members behind them.
        let backing = match established && config.leaders == 1 {
            true => io.view().len().min(usize::from(u16::MAX)) as u16,
            false => 0,
        };
        Claim {
            candidate: Candidate {
                merit: self.merit,
                id: io.me().id,
            },
            incarnation: self.incarnation,
            established,
            backing,
        }
    }
}
