//! Probes of the leader of a group with partial views.
//!
//! Purpose     detects that the leader is gone; a failure detector would need it in every view
//! Inputs      nominations, answers, indirect probes, `Dead` and `Alive` messages, time
//! Outputs     probes, `Dead` and `Alive` broadcasts, tombstones in the partial view
//! Owns        the open probe, indirect probes for other members, death reports that may be refuted
//! Invariants  a member is gone in one incarnation only, after its goodbye or an unrefuted report
//!
//! Followers probe in turn, each rarely: together about as often as the protocol has them check for
//! agreement. A follower without an answer asks a few others to probe. Without any answer, it
//! reports the leader dead to all. A leader that learns of its own death starts a new incarnation,
//! and says so. A broken lifeline, which few hold here, leads to the same. A wrong report costs one
//! election; tenure decides what a leader may do.

use std::net::SocketAddr;

use hustings_protocol::mix64::{fit, mix64};
use hustings_protocol::{
    Candidate, Duration, Instant, MemberId, Priority, ViewChange, probabilistic,
};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Group, Outbox, Route};
use crate::frame::{Body, Sender};
use crate::identity::Incarnation;
use crate::membership::{Membership, PartialView};

/// The time to wait for an answer: this many message bounds, but at least [`LEAST_WAIT`] for busy
/// hosts.
const ANSWER_BOUNDS: u64 = 10;
const LEAST_WAIT: Duration = Duration::from_millis(50);

/// Direct probes, then helpers, and requests to each. With 10 % loss, one probed live leader in ten
/// million is taken for dead.
const KNOCKS: u8 = 4;
const HELPERS: usize = 3;
const DOUBTS: u8 = 2;

/// The average number of followers with a lifeline. With four, one group in 50 would have none.
const LIFELINES: u64 = 8;

/// The time for a refutation, in spreads: one for the report, one for the refutation.
const OBJECTION_SPREADS: u64 = 2;

/// The number of times that news for all is sent, a spread apart.
const TIMES: u8 = 3;

/// The most indirect probes, and the most death reports, that are remembered.
const MOST: usize = 64;

/// The state of leader probing at one member.
pub(super) struct LeaderProbe {
    bound: Duration,
    wait: Duration,
    spread: Duration,
    /// The time between two probes of all followers together.
    every: Duration,
    next_at: Option<Instant>,
    probe: Option<Probe>,
    doubts: Vec<IndirectProbe>,
    obituaries: Vec<Obituary>,
    repeats: Vec<Repeat>,
    rng: Xoshiro256PlusPlus,
}

struct Probe {
    of: MemberId,
    /// The number that its answer must contain.
    challenge: u64,
    steps: u8,
    step_at: Instant,
}

/// A probe for another member, which got no answer.
struct IndirectProbe {
    of: MemberId,
    challenge: u64,
    asker: (MemberId, SocketAddr),
    until: Instant,
}

/// A death report that may be refuted.
struct Obituary {
    of: MemberId,
    incarnation: Incarnation,
    since: Instant,
    until: Instant,
}

struct Repeat {
    what: News,
    times: u8,
    at: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum News {
    Dead { of: MemberId, incarnation: Incarnation },
    Alive,
}

impl LeaderProbe {
    pub(super) fn new(config: &probabilistic::Config, rng: Xoshiro256PlusPlus) -> Self {
        Self {
            bound: config.hop,
            wait: (config.hop * ANSWER_BOUNDS).max(LEAST_WAIT),
            spread: config.spread,
            every: config.check.unwrap_or(config.spread),
            next_at: None,
            probe: None,
            doubts: Vec::new(),
            obituaries: Vec::new(),
            repeats: Vec::new(),
            rng,
        }
    }

    pub(super) fn bound(&self) -> Duration {
        self.bound
    }

    /// Sets the time in which a message reaches all members.
    pub(super) fn set_spread(&mut self, spread: Duration) {
        self.spread = spread;
    }

    pub(super) fn due(&self) -> Option<Instant> {
        let probe = self.probe.as_ref().map(|it| it.step_at);
        let obituaries = self.obituaries.iter().map(|it| it.until);
        let repeats = self.repeats.iter().map(|it| it.at);
        let times = self.next_at.into_iter().chain(probe);
        times.chain(obituaries).chain(repeats).min()
    }

    /// Returns the time of this member's next turn, of `size` members. The turns of all of them
    /// follow each other at random.
    fn turn(&mut self, now: Instant, size: u64) -> Instant {
        let uniform = ((self.rng.next_u64() >> 11) as f64 + 1.0) * 2f64.powi(-53);
        now + self.every.mul_f64(-uniform.ln() * size as f64)
    }

    fn say_again(&mut self, what: News, now: Instant) {
        self.repeats.push(Repeat { what, times: TIMES - 1, at: now + self.spread });
    }
}

impl Group {
    /// Returns the partial view, if members do not know the whole group.
    pub(super) fn partial_view(&self) -> Option<&PartialView> {
        self.membership.as_ref().and_then(Membership::partial_view)
    }

    pub(super) fn partial_view_mut(&mut self) -> Option<&mut PartialView> {
        self.membership.as_mut().and_then(Membership::partial_view_mut)
    }

    /// True if the member is not absent and knows the size of the group, so it can elect or follow.
    pub(super) fn may_elect(&self) -> bool {
        !self.is_absent() && self.partial_view().is_none_or(PartialView::is_ready)
    }

    /// Returns the leader, if this member holds a lifeline to it. With partial views only a few do.
    pub fn lifeline_to(&self) -> Option<(MemberId, SocketAddr)> {
        let leader = self.leader_elsewhere()?;
        self.is_among_few(leader.0).then_some(leader)
    }

    /// True if this member is one of the few that watch `leader` closely.
    pub(super) fn is_among_few(&self, leader: MemberId) -> bool {
        let is_drawn = |partial_view: &PartialView| {
            let lot = mix64(self.me.id.0 ^ mix64(leader.0));
            fit(lot, partial_view.size_or_view()) < LIFELINES
        };
        self.partial_view().is_none_or(is_drawn)
    }

    /// Starts anew for another nominee. The election's view need not keep `before` any longer.
    pub(super) fn restart_leader_probe(
        &mut self,
        now: Instant,
        before: Option<MemberId>,
        out: &mut Outbox,
    ) {
        let Some(size) = self.partial_view().map(PartialView::size_or_view) else {
            return;
        };
        if let Some(before) = before.filter(|id| !self.is_in_view(*id)) {
            self.election.count(ViewChange::Left(before));
        }
        let elsewhere = self.nominee.filter(|_| !self.is_nominee());
        // A leader may have died before its election. A member without its address has to ask.
        let is_close = elsewhere.is_some_and(|leader| self.is_among_few(leader));
        let is_soon = is_close || self.nominee_at.is_none();
        if let Some(leader_probe) = &mut self.leader_probe {
            leader_probe.probe = None;
            leader_probe.next_at = elsewhere.map(|_| match is_soon {
                true => now + leader_probe.wait,
                false => leader_probe.turn(now, size),
            });
        }
        if self.is_nominee() {
            self.tell_that_it_lives(now, out); // it may be in no partial view
        }
    }

    /// Postpones the probe to this member's turn, now that the leader's address is known. The few
    /// members that watch it closely probe at once.
    pub(super) fn join_leader_probe(&mut self, now: Instant) {
        let size = self.partial_view().map_or(1, PartialView::size_or_view);
        let is_close = self.nominee.is_some_and(|leader| self.is_among_few(leader));
        if let Some(leader_probe) = &mut self.leader_probe
            && leader_probe.probe.is_none()
            && !is_close
        {
            leader_probe.next_at = Some(leader_probe.turn(now, size));
        }
    }

    pub(super) fn is_in_view(&self, id: MemberId) -> bool {
        let knows = |partial_view: &PartialView| partial_view.has(id);
        self.partial_view().is_some_and(knows)
    }

    /// Puts the leader into the election's view.
    pub(super) fn keep_in_view(&mut self, leader: Candidate) {
        if self.partial_view().is_some() {
            self.election.count(ViewChange::Joined(leader));
        }
    }

    /// Removes a member, which may still be up, from the election's view.
    pub(super) fn forget(&mut self, id: MemberId) {
        if self.nominee != Some(id) {
            self.election.count(ViewChange::Left(id));
        }
    }

    /// Announces that this member is alive after it was taken for dead. Members that do not know it
    /// would neither elect nor follow it, while others do, and no round would end well.
    pub(super) fn tell_that_it_is_back(&mut self, now: Instant, out: &mut Outbox) {
        let says_so = |it: &LeaderProbe| it.repeats.iter().any(|it| it.what == News::Alive);
        if !self.leader_probe.as_ref().is_some_and(says_so) {
            self.tell_that_it_lives(now, out);
        }
    }

    fn tell_that_it_lives(&mut self, now: Instant, out: &mut Outbox) {
        let alive = Body::Alive { priority: self.me.priority };
        self.broadcast(now, &alive, out);
        if let Some(leader_probe) = &mut self.leader_probe {
            leader_probe.repeats.retain(|it| it.what != News::Alive);
            leader_probe.say_again(News::Alive, now);
        }
    }

    /// Tells a sender that its incarnation was reported dead; it refutes the report if it is alive.
    /// Returns true if it was reported dead.
    pub(super) fn hear_the_dead(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        address: SocketAddr,
        out: &mut Outbox,
    ) -> bool {
        let (of, incarnation) = (sender.id, sender.incarnation());
        let is_buried = |partial_view: &PartialView| partial_view.has_buried(of, incarnation);
        let is_dead = self.partial_view().is_some_and(is_buried);
        if is_dead && self.is_time_to_answer_past(now) {
            let dead = Body::Dead { of, incarnation: incarnation.0 };
            self.send_to(of, Route::To(address), &dead, out);
        }
        is_dead
    }

    /// Notes that `id` answered a challenge, and tells the members for which it was probed. Any
    /// other frame may be a recording. Returns true if the challenge was a probe.
    pub(super) fn ends_doubts(
        &mut self,
        now: Instant,
        id: MemberId,
        challenge: u64,
        out: &mut Outbox,
    ) -> bool {
        let size = self.partial_view().map_or(1, PartialView::size_or_view);
        let Some(leader_probe) = &mut self.leader_probe else {
            return false;
        };
        let is_own = |it: &mut Probe| it.of == id && it.challenge == challenge;
        let ends_inquiry = leader_probe.probe.take_if(is_own).is_some();
        if ends_inquiry {
            leader_probe.next_at = Some(leader_probe.turn(now, size));
        }
        let is_over = |it: &mut IndirectProbe| it.of == id && it.challenge == challenge;
        let ended: Vec<IndirectProbe> = leader_probe.doubts.extract_if(.., is_over).collect();
        let ends_doubt = !ended.is_empty();
        for doubt in ended {
            let (asker, address) = doubt.asker;
            self.send_to(asker, Route::To(address), &Body::IndirectAck { of: id }, out);
        }
        ends_inquiry || ends_doubt
    }

    /// Probes `of` for a member that gets no answer from it.
    pub(super) fn on_indirect_probe(
        &mut self,
        now: Instant,
        asker: (MemberId, SocketAddr),
        of: MemberId,
        out: &mut Outbox,
    ) {
        let Some(leader_probe) = &mut self.leader_probe else {
            return;
        };
        if of == self.me.id {
            let (asker, address) = asker;
            self.send_to(asker, Route::To(address), &Body::IndirectAck { of }, out);
            return;
        }
        let until = now + leader_probe.wait * u64::from(2 * DOUBTS);
        leader_probe.doubts.retain(|it| it.until > now);
        if leader_probe.doubts.len() < MOST
            && let Some(challenge) = self.entropy.next()
        {
            leader_probe.doubts.push(IndirectProbe { of, challenge, asker, until });
            self.knock_at(now, of, challenge, out);
        }
    }

    /// Ends the probe of `of`, which answered another member.
    pub(super) fn on_indirect_ack(&mut self, now: Instant, of: MemberId) {
        let size = self.partial_view().map_or(1, PartialView::size_or_view);
        if let Some(leader_probe) = &mut self.leader_probe
            && leader_probe.probe.take_if(|it| it.of == of).is_some()
        {
            leader_probe.next_at = Some(leader_probe.turn(now, size));
        }
    }

    /// Sends a challenge to `id`, by broadcast if its address is unknown.
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
                self.broadcast(now, &Body::WhoIs { whom, challenge }, out);
            }
        }
    }

    /// Handles the report that `of` is dead in this incarnation.
    pub(super) fn on_dead(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        of: MemberId,
        incarnation: Incarnation,
        out: &mut Outbox,
    ) {
        if of == self.me.id {
            let has_left = self.stepped_down_until.is_some();
            if incarnation >= self.incarnation && !has_left {
                tracing::warn!(
                    "group `{}`: `{}` takes this member for dead: going on in a new life",
                    self.config.name,
                    sender.name
                );
                self.begin_incarnation_after(incarnation);
                self.tell_that_it_lives(now, out);
            }
            return;
        }
        if of == sender.id {
            self.lay_to_rest(now, of, incarnation); // goodbye
            return;
        }
        self.mourn(now, of, incarnation);
    }

    /// Takes a member for gone, unless it refutes the report in time.
    fn mourn(&mut self, now: Instant, of: MemberId, incarnation: Incarnation) {
        let is_buried = |partial_view: &PartialView| partial_view.has_buried(of, incarnation);
        let is_known = self.partial_view().is_none_or(is_buried) || self.outlives(of, incarnation);
        if let Some(leader_probe) = &mut self.leader_probe
            && !is_known
            && leader_probe.obituaries.len() < MOST
            && leader_probe.obituaries.iter().all(|it| it.of != of)
        {
            leader_probe.obituaries.push(Obituary {
                of,
                incarnation,
                since: now,
                until: now + leader_probe.spread * OBJECTION_SPREADS,
            });
        }
    }

    fn outlives(&self, id: MemberId, incarnation: Incarnation) -> bool {
        self.peer_table.get(id).is_some_and(|peer| peer.incarnation > incarnation)
    }

    /// True if a frame of a proven process arrived since `at`. Others may be recordings.
    fn was_heard_since(&self, id: MemberId, at: Instant) -> bool {
        let was_heard = self.peer_table.get(id).is_some_and(|peer| peer.heard >= at);
        was_heard && self.is_proven(id)
    }

    /// Handles the announcement of a leader, or of a member taken for dead, that it is alive.
    pub(super) fn on_alive(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        address: SocketAddr,
        priority: Priority,
    ) {
        let id = sender.id;
        if let Some(partial_view) = self.partial_view_mut() {
            partial_view.note(now, Candidate { priority, id }, sender, address);
        }
    }

    /// Takes a member for gone in this incarnation.
    fn lay_to_rest(&mut self, now: Instant, id: MemberId, incarnation: Incarnation) {
        let name = self.describe(id).name;
        if let Some(partial_view) = self.partial_view_mut()
            && partial_view.mark_dead(now, id, incarnation)
        {
            tracing::info!("group `{}`: `{name}` is gone", self.config.name);
        }
    }

    /// Reports a member dead to all, unless it was reported already. Here too it may refute.
    pub(super) fn declare_dead(&mut self, now: Instant, of: MemberId, out: &mut Outbox) {
        let is_mourned = |it: &LeaderProbe| it.obituaries.iter().any(|it| it.of == of);
        if self.leader_probe.as_ref().is_some_and(is_mourned) {
            return;
        }
        let incarnation = self.peer_table.get(of).map_or(Incarnation(0), |peer| peer.incarnation);
        let dead = Body::Dead { of, incarnation: incarnation.0 };
        self.broadcast(now, &dead, out);
        if let Some(leader_probe) = &mut self.leader_probe {
            leader_probe.say_again(News::Dead { of, incarnation }, now);
        }
        self.mourn(now, of, incarnation);
    }

    /// Tells all members that this one leaves, or with partial views they might elect it.
    pub(super) fn say_goodbye(&mut self, now: Instant, out: &mut Outbox) {
        if let Some(leader_probe) = &mut self.leader_probe {
            leader_probe.repeats.clear();
            let (of, incarnation) = (self.me.id, self.incarnation.0);
            self.broadcast(now, &Body::Dead { of, incarnation }, out);
        }
    }

    pub(super) fn pass_leader_probe(&mut self, now: Instant, out: &mut Outbox) {
        let Some(leader_probe) = &mut self.leader_probe else {
            return;
        };
        let is_turn = leader_probe.next_at.take_if(|at| *at <= now).is_some();
        let is_over = |it: &mut Obituary| it.until <= now;
        let due: Vec<Obituary> = leader_probe.obituaries.extract_if(.., is_over).collect();
        for obituary in due {
            let Obituary { of, incarnation, .. } = obituary;
            if !self.outlives(of, incarnation) && !self.was_heard_since(of, obituary.since) {
                self.lay_to_rest(now, of, incarnation);
            }
        }
        self.repeat(now, out);
        let elsewhere = self.nominee.filter(|_| !self.is_nominee());
        if let (true, Some(of), Some(leader_probe)) = (is_turn, elsewhere, &mut self.leader_probe)
            && let Some(challenge) = self.entropy.next()
        {
            leader_probe.probe = Some(Probe { of, challenge, steps: 0, step_at: now });
        }
        self.inquire(now, out);
    }

    fn repeat(&mut self, now: Instant, out: &mut Outbox) {
        let Some(leader_probe) = &mut self.leader_probe else {
            return;
        };
        let mut said = Vec::new();
        for repeat in leader_probe.repeats.iter_mut().filter(|it| it.at <= now) {
            repeat.times -= 1;
            repeat.at = now + leader_probe.spread;
            said.push(repeat.what);
        }
        leader_probe.repeats.retain(|it| it.times > 0);
        for what in said {
            match what {
                News::Dead { of, incarnation } => {
                    self.broadcast(now, &Body::Dead { of, incarnation: incarnation.0 }, out);
                }
                News::Alive => {
                    let priority = self.me.priority;
                    self.broadcast(now, &Body::Alive { priority }, out);
                }
            }
        }
    }

    /// Probes the leader directly, then through helpers, then reports it dead.
    fn inquire(&mut self, now: Instant, out: &mut Outbox) {
        let Some((of, challenge)) = self.leader_probe.as_ref().and_then(|it| {
            let probe = it.probe.as_ref().filter(|it| it.step_at <= now)?;
            Some((probe.of, probe.challenge))
        }) else {
            return;
        };
        let is_past = self.nominee != Some(of);
        let Some(leader_probe) = &mut self.leader_probe else {
            return;
        };
        if is_past {
            (leader_probe.probe, leader_probe.next_at) = (None, None);
            return;
        }
        let Some(probe) = &mut leader_probe.probe else {
            return;
        };
        probe.steps += 1;
        let steps = probe.steps;
        let is_asking = steps <= KNOCKS;
        probe.step_at = match is_asking {
            true => now + leader_probe.wait,
            false => now + leader_probe.wait * 2,
        };
        match steps {
            _ if is_asking => self.knock_at(now, of, challenge, out),
            _ if steps <= KNOCKS + DOUBTS => {
                let helpers = self.partial_view_mut().map(|it| it.some(HELPERS));
                for (helper, address) in helpers.into_iter().flatten() {
                    self.send_to(helper, Route::To(address), &Body::IndirectProbe { of }, out);
                }
                self.knock_at(now, of, challenge, out);
            }
            _ => {
                leader_probe.probe = None;
                tracing::info!("group `{}`: the leader answers nobody", self.config.name);
                self.declare_dead(now, of, out);
            }
        }
    }
}
