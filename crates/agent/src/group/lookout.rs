//! Whether the leader of a group that nobody knows whole is there.
//!
//! No failure detector looks after it: few have it in their view. So its followers ask it in turn, each so rarely that all
//! together ask about as often as the protocol has them check whether they are of one mind. Who gets no answer asks a few
//! others to try, and if they get none either it says so to all, who take that member in that life for gone. A leader
//! that hears of its own death begins a new life, and says so. Lifelines, which only few hold here, come to the same.
//!
//! Who says so may be wrong: that costs one election. What a leader may do is decided by tenure, not here.

use std::net::SocketAddr;

use hustings_protocol::scatter::{fit, scatter};
use hustings_protocol::{Candidate, Duration, Instant, MemberId, Merit, ViewChange, probabilistic};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Group, Outbox, Route};
use crate::frame::{Body, Sender};
use crate::identity::Life;
use crate::membership::{Circle, Membership};

/// How long an answer is waited for, in bounds of what messages take, and at least: hosts may be busy.
const ANSWER_BOUNDS: u64 = 10;
const LEAST_WAIT: Duration = Duration::from_millis(50);

/// How often a leader is asked before others are, and how many others, and how often. Where a tenth of all is lost, one
/// that lives is then taken for dead once in ten million times.
const KNOCKS: u8 = 4;
const HELPERS: usize = 3;
const DOUBTS: u8 = 2;

/// How many followers hold a lifeline, on average. One is enough; but with four there would be none in 50.
const LIFELINES: u64 = 8;

/// How long an objection is waited for, in spreads: one for the obituary, one for the objection.
const OBJECTION_SPREADS: u64 = 2;

/// How often what all must know is said, a spread apart.
const TIMES: u8 = 3;

/// So many others' doubts are remembered at most, and so many obituaries.
const MOST: usize = 64;

/// A member's part in finding out.
pub(super) struct Lookout {
    /// Most messages take less than this.
    bound: Duration,
    /// How long an answer is waited for.
    wait: Duration,
    spread: Duration,
    /// How often all followers together ask.
    every: Duration,
    next_at: Option<Instant>,
    inquiry: Option<Inquiry>,
    doubts: Vec<Doubt>,
    obituaries: Vec<Obituary>,
    repeats: Vec<Repeat>,
    rng: Xoshiro256PlusPlus,
}

/// The leader is being asked.
struct Inquiry {
    of: MemberId,
    /// The number that its answer must have.
    challenge: u64,
    steps: u8,
    step_at: Instant,
}

/// Somebody gets no answer from the leader.
struct Doubt {
    of: MemberId,
    /// The number that an answer to this member must have.
    challenge: u64,
    asker: (MemberId, SocketAddr),
    until: Instant,
}

/// Somebody was said to be dead, and may object.
struct Obituary {
    of: MemberId,
    life: Life,
    since: Instant,
    until: Instant,
}

/// What is to be said again.
struct Repeat {
    what: News,
    times: u8,
    at: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum News {
    Dead { of: MemberId, life: Life },
    Alive,
}

impl Lookout {
    pub(super) fn new(config: &probabilistic::Config, rng: Xoshiro256PlusPlus) -> Self {
        Self {
            bound: config.hop,
            wait: (config.hop * ANSWER_BOUNDS).max(LEAST_WAIT),
            spread: config.spread,
            every: config.check.unwrap_or(config.spread),
            next_at: None,
            inquiry: None,
            doubts: Vec::new(),
            obituaries: Vec::new(),
            repeats: Vec::new(),
            rng,
        }
    }

    /// Most messages take less than this.
    pub(super) fn bound(&self) -> Duration {
        self.bound
    }

    /// What is said to all takes so long.
    pub(super) fn set_spread(&mut self, spread: Duration) {
        self.spread = spread;
    }

    pub(super) fn due(&self) -> Option<Instant> {
        let inquiry = self.inquiry.as_ref().map(|it| it.step_at);
        let obituaries = self.obituaries.iter().map(|it| it.until);
        let repeats = self.repeats.iter().map(|it| it.at);
        let times = self.next_at.into_iter().chain(inquiry);
        times.chain(obituaries).chain(repeats).min()
    }

    /// When it is this member's turn next, of `size`: those of all together come by chance, one after the other.
    fn turn(&mut self, now: Instant, size: u64) -> Instant {
        let uniform = ((self.rng.next_u64() >> 11) as f64 + 1.0) * 2f64.powi(-53);
        now + self.every.mul_f64(-uniform.ln() * size as f64)
    }

    fn say_again(&mut self, what: News, now: Instant) {
        self.repeats.push(Repeat {
            what,
            times: TIMES - 1,
            at: now + self.spread,
        });
    }
}

impl Group {
    /// Whom it knows of many, if nobody knows all.
    pub(super) fn circle(&self) -> Option<&Circle> {
        self.membership.as_ref().and_then(Membership::circle)
    }

    pub(super) fn circle_mut(&mut self) -> Option<&mut Circle> {
        self.membership.as_mut().and_then(Membership::circle_mut)
    }

    /// Whether it can take part in an election, or follow one: it is there, and knows how many are.
    pub(super) fn may_elect(&self) -> bool {
        !self.is_absent() && self.circle().is_none_or(Circle::is_ready)
    }

    /// To whom it holds a lifeline: its leader. Of a group that nobody knows whole only a few do.
    pub(crate) fn lifeline_to(&self) -> Option<(MemberId, SocketAddr)> {
        let leader = self.leader_elsewhere()?;
        self.is_among_few(leader.0).then_some(leader)
    }

    /// Whether it is one of the few that look after `leader` more closely than others do.
    pub(super) fn is_among_few(&self, leader: MemberId) -> bool {
        let is_drawn = |circle: &Circle| {
            let lot = scatter(self.me.id.0 ^ scatter(leader.0));
            fit(lot, circle.size_or_view()) < LIFELINES
        };
        self.circle().is_none_or(is_drawn)
    }

    /// The election names somebody else than before: `before`, whom the protocol's view need hold no longer.
    pub(super) fn look_out_anew(
        &mut self,
        now: Instant,
        before: Option<MemberId>,
        out: &mut Outbox,
    ) {
        let Some(size) = self.circle().map(Circle::size_or_view) else {
            return;
        };
        if let Some(before) = before.filter(|id| !self.is_in_view(*id)) {
            self.seat.count(ViewChange::Left(before));
        }
        let elsewhere = self.nominee.filter(|_| !self.is_nominee());
        // It may have been dead when it was elected; and who cannot tell where it is, when it has said so, has to ask.
        let is_close = elsewhere.is_some_and(|leader| self.is_among_few(leader));
        let is_soon = is_close || self.nominee_at.is_none();
        if let Some(lookout) = &mut self.lookout {
            lookout.inquiry = None;
            lookout.next_at = elsewhere.map(|_| match is_soon {
                true => now + lookout.wait,
                false => lookout.turn(now, size),
            });
        }
        if self.is_nominee() {
            self.tell_that_it_lives(now, out); // it may be in nobody's view
        }
    }

    /// It has found out where the leader is, and need not ask before its turn, unless it is one of the few that do.
    pub(super) fn look_out_as_others(&mut self, now: Instant) {
        let size = self.circle().map_or(1, Circle::size_or_view);
        let is_close = self.nominee.is_some_and(|leader| self.is_among_few(leader));
        if let Some(lookout) = &mut self.lookout
            && lookout.inquiry.is_none()
            && !is_close
        {
            lookout.next_at = Some(lookout.turn(now, size));
        }
    }

    pub(super) fn is_in_view(&self, id: MemberId) -> bool {
        let knows = |circle: &Circle| circle.has(id);
        self.circle().is_some_and(knows)
    }

    /// Whoever leads is in view, whoever else is.
    pub(super) fn keep_in_view(&mut self, leader: Candidate) {
        if self.circle().is_some() {
            self.seat.count(ViewChange::Joined(leader));
        }
    }

    /// Somebody is known no longer, but may be there.
    pub(super) fn forget(&mut self, id: MemberId) {
        if self.nominee != Some(id) {
            self.seat.count(ViewChange::Left(id));
        }
    }

    /// It was taken for dead in an earlier life. Who has not met it since would elect it as little as follow it, while
    /// others do: no round of an election would end well.
    pub(super) fn tell_that_it_is_back(&mut self, now: Instant, out: &mut Outbox) {
        let says_so = |it: &Lookout| it.repeats.iter().any(|it| it.what == News::Alive);
        if !self.lookout.as_ref().is_some_and(says_so) {
            self.tell_that_it_lives(now, out);
        }
    }

    fn tell_that_it_lives(&mut self, now: Instant, out: &mut Outbox) {
        let alive = Body::Alive {
            merit: self.me.merit,
        };
        self.broadcast(now, &alive, out);
        if let Some(lookout) = &mut self.lookout {
            lookout.repeats.retain(|it| it.what != News::Alive);
            lookout.say_again(News::Alive, now);
        }
    }

    /// Somebody is heard that is dead in this life, as others said. It is told so, and objects if it lives.
    pub(super) fn hear_the_dead(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        address: SocketAddr,
        out: &mut Outbox,
    ) -> bool {
        let (of, life) = (sender.id, sender.life());
        let is_buried = |circle: &Circle| circle.has_buried(of, life);
        let is_dead = self.circle().is_some_and(is_buried);
        if is_dead && self.is_time_to_answer_past(now) {
            let dead = Body::Dead { of, life: life.0 };
            self.send_to(of, Route::To(address), &dead, out);
        }
        is_dead
    }

    /// Takes note that `id` answered a challenge: whoever doubts that it is there is told. Any other frame of it may have been
    /// recorded before. Returns whether the challenge was about a doubt.
    pub(super) fn ends_doubts(
        &mut self,
        now: Instant,
        id: MemberId,
        challenge: u64,
        out: &mut Outbox,
    ) -> bool {
        let size = self.circle().map_or(1, Circle::size_or_view);
        let Some(lookout) = &mut self.lookout else {
            return false;
        };
        let is_own = |it: &mut Inquiry| it.of == id && it.challenge == challenge;
        let ends_inquiry = lookout.inquiry.take_if(is_own).is_some();
        if ends_inquiry {
            lookout.next_at = Some(lookout.turn(now, size));
        }
        let is_over = |it: &mut Doubt| it.of == id && it.challenge == challenge;
        let ended: Vec<Doubt> = lookout.doubts.extract_if(.., is_over).collect();
        let ends_doubt = !ended.is_empty();
        for doubt in ended {
            let (asker, address) = doubt.asker;
            self.send_to(asker, Route::To(address), &Body::Vouch { of: id }, out);
        }
        ends_inquiry || ends_doubt
    }

    /// Somebody gets no answer from `of`: this member tries.
    pub(super) fn on_doubt(
        &mut self,
        now: Instant,
        asker: (MemberId, SocketAddr),
        of: MemberId,
        out: &mut Outbox,
    ) {
        let Some(lookout) = &mut self.lookout else {
            return;
        };
        if of == self.me.id {
            let (asker, address) = asker;
            self.send_to(asker, Route::To(address), &Body::Vouch { of }, out);
            return;
        }
        let until = now + lookout.wait * u64::from(2 * DOUBTS);
        lookout.doubts.retain(|it| it.until > now);
        if lookout.doubts.len() < MOST
            && let Some(challenge) = self.entropy.next()
        {
            lookout.doubts.push(Doubt {
                of,
                challenge,
                asker,
                until,
            });
            self.knock_at(now, of, challenge, out);
        }
    }

    /// Somebody else has heard `of`.
    pub(super) fn on_vouch(&mut self, now: Instant, of: MemberId) {
        let size = self.circle().map_or(1, Circle::size_or_view);
        if let Some(lookout) = &mut self.lookout
            && lookout.inquiry.take_if(|it| it.of == of).is_some()
        {
            lookout.next_at = Some(lookout.turn(now, size));
        }
    }

    /// Asks `id` whether it is there, wherever it is.
    pub(super) fn knock_at(
        &mut self,
        now: Instant,
        id: MemberId,
        challenge: u64,
        out: &mut Outbox,
    ) {
        match self.address_of(id) {
            Some(address) => self.knock(id, address, challenge, out),
            None => {
                self.counters.challenges_sent += 1;
                let whom = id;
                self.broadcast(now, &Body::Seek { whom, challenge }, out);
            }
        }
    }

    /// Somebody says that `of` is dead in this life.
    pub(super) fn on_dead(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        of: MemberId,
        life: Life,
        out: &mut Outbox,
    ) {
        if of == self.me.id {
            let has_left = self.abstains_until.is_some();
            if life >= self.life && !has_left {
                tracing::warn!(
                    "group `{}`: `{}` takes this member for dead: going on in a new life",
                    self.config.name,
                    sender.name
                );
                self.begin_life_after(life);
                self.tell_that_it_lives(now, out);
            }
            return;
        }
        if of == sender.id {
            self.lay_to_rest(now, of, life); // goodbye
            return;
        }
        self.mourn(now, of, life);
    }

    /// Takes a member for gone, unless it objects in time.
    fn mourn(&mut self, now: Instant, of: MemberId, life: Life) {
        let is_buried = |circle: &Circle| circle.has_buried(of, life);
        let is_known = self.circle().is_none_or(is_buried) || self.outlives(of, life);
        if let Some(lookout) = &mut self.lookout
            && !is_known
            && lookout.obituaries.len() < MOST
            && lookout.obituaries.iter().all(|it| it.of != of)
        {
            lookout.obituaries.push(Obituary {
                of,
                life,
                since: now,
                until: now + lookout.spread * OBJECTION_SPREADS,
            });
        }
    }

    fn outlives(&self, id: MemberId, life: Life) -> bool {
        self.peers.get(id).is_some_and(|peer| peer.life > life)
    }

    /// Whether a process that has answered a challenge before was heard since. What a process says that never has may have
    /// been recorded.
    fn was_heard_since(&self, id: MemberId, at: Instant) -> bool {
        let was_heard = self.peers.get(id).is_some_and(|peer| peer.heard >= at);
        was_heard && self.is_proven(id)
    }

    /// A member that leads, or was taken for dead, says that it lives.
    pub(super) fn on_alive(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        address: SocketAddr,
        merit: Merit,
    ) {
        let id = sender.id;
        if let Some(circle) = self.circle_mut() {
            circle.note(now, Candidate { merit, id }, sender, address);
        }
    }

    /// Takes a member in that life for gone.
    fn lay_to_rest(&mut self, now: Instant, id: MemberId, life: Life) {
        let name = self.describe(id).name;
        if let Some(circle) = self.circle_mut()
            && circle.bury(now, id, life)
        {
            tracing::info!("group `{}`: `{name}` is gone", self.config.name);
        }
    }

    /// Says to all that a member is gone, unless somebody has, and takes it for gone as they do: unless it objects.
    pub(super) fn declare_dead(&mut self, now: Instant, of: MemberId, out: &mut Outbox) {
        let is_mourned = |it: &Lookout| it.obituaries.iter().any(|it| it.of == of);
        if self.lookout.as_ref().is_some_and(is_mourned) {
            return;
        }
        let life = self.peers.get(of).map_or(Life(0), |peer| peer.life);
        let dead = Body::Dead { of, life: life.0 };
        self.broadcast(now, &dead, out);
        if let Some(lookout) = &mut self.lookout {
            lookout.say_again(News::Dead { of, life }, now);
        }
        self.mourn(now, of, life);
    }

    /// Leaves a group that nobody knows whole: all are told, or they might elect it.
    pub(super) fn say_goodbye(&mut self, now: Instant, out: &mut Outbox) {
        if let Some(lookout) = &mut self.lookout {
            lookout.repeats.clear();
            let (of, life) = (self.me.id, self.life.0);
            self.broadcast(now, &Body::Dead { of, life }, out);
        }
    }

    /// Does what is due.
    pub(super) fn pass_lookout(&mut self, now: Instant, out: &mut Outbox) {
        let Some(lookout) = &mut self.lookout else {
            return;
        };
        let is_turn = lookout.next_at.take_if(|at| *at <= now).is_some();
        let is_over = |it: &mut Obituary| it.until <= now;
        let due: Vec<Obituary> = lookout.obituaries.extract_if(.., is_over).collect();
        for obituary in due {
            let Obituary { of, life, .. } = obituary;
            if !self.outlives(of, life) && !self.was_heard_since(of, obituary.since) {
                self.lay_to_rest(now, of, life);
            }
        }
        self.repeat(now, out);
        let elsewhere = self.nominee.filter(|_| !self.is_nominee());
        if let (true, Some(of), Some(lookout)) = (is_turn, elsewhere, &mut self.lookout)
            && let Some(challenge) = self.entropy.next()
        {
            lookout.inquiry = Some(Inquiry {
                of,
                challenge,
                steps: 0,
                step_at: now,
            });
        }
        self.inquire(now, out);
    }

    fn repeat(&mut self, now: Instant, out: &mut Outbox) {
        let Some(lookout) = &mut self.lookout else {
            return;
        };
        let mut said = Vec::new();
        for repeat in lookout.repeats.iter_mut().filter(|it| it.at <= now) {
            repeat.times -= 1;
            repeat.at = now + lookout.spread;
            said.push(repeat.what);
        }
        lookout.repeats.retain(|it| it.times > 0);
        for what in said {
            match what {
                News::Dead { of, life } => {
                    self.broadcast(now, &Body::Dead { of, life: life.0 }, out);
                }
                News::Alive => {
                    let merit = self.me.merit;
                    self.broadcast(now, &Body::Alive { merit }, out);
                }
            }
        }
    }

    /// Asks the leader, then others about it, then gives it up.
    fn inquire(&mut self, now: Instant, out: &mut Outbox) {
        let Some((of, challenge)) = self.lookout.as_ref().and_then(|it| {
            let inquiry = it.inquiry.as_ref().filter(|it| it.step_at <= now)?;
            Some((inquiry.of, inquiry.challenge))
        }) else {
            return;
        };
        let is_past = self.nominee != Some(of);
        let Some(lookout) = &mut self.lookout else {
            return;
        };
        if is_past {
            (lookout.inquiry, lookout.next_at) = (None, None);
            return;
        }
        let Some(inquiry) = &mut lookout.inquiry else {
            return;
        };
        inquiry.steps += 1;
        let steps = inquiry.steps;
        let is_asking = steps <= KNOCKS;
        inquiry.step_at = match is_asking {
            true => now + lookout.wait,
            false => now + lookout.wait * 2,
        };
        match steps {
            _ if is_asking => self.knock_at(now, of, challenge, out),
            _ if steps <= KNOCKS + DOUBTS => {
                let helpers = self.circle_mut().map(|it| it.some(HELPERS));
                for (helper, address) in helpers.into_iter().flatten() {
                    self.send_to(helper, Route::To(address), &Body::Doubt { of }, out);
                }
                self.knock_at(now, of, challenge, out);
            }
            _ => {
                lookout.inquiry = None;
                tracing::info!("group `{}`: the leader answers nobody", self.config.name);
                self.declare_dead(now, of, out);
            }
        }
    }
}
