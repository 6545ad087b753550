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

use hustings_protocol::{Duration, Instant, MemberId, probabilistic};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::config::ProtocolConfig;
use crate::frame::Body;
use crate::identity::Incarnation;
use crate::membership::PartialView;
use crate::node::{Admitted, Context, Event, Io, Route};

/// The time to wait for an answer: this many message bounds, but at least [`LEAST_WAIT`] for busy
/// hosts.
const ANSWER_BOUNDS: u64 = 10;
const LEAST_WAIT: Duration = Duration::from_millis(50);

/// Direct probes, then requests to helpers. With 10 % loss, one probed live leader in ten
/// million is taken for dead.
const DIRECT_PROBES: u8 = 4;
const INDIRECT_PROBES: u8 = 2;

/// The time for a refutation, in spreads: one for the report, one for the refutation.
const OBJECTION_SPREADS: u64 = 2;

/// The number of times that news for all is sent, a spread apart.
const TIMES: u8 = 3;

/// The most indirect probes, and the most death reports, that are remembered.
const MOST: usize = 64;

/// The state of leader probing at one member.
pub(super) struct LeaderProbe {
    wait: Duration,
    spread: Duration,
    /// The time between two probes of all followers together.
    every: Duration,
    next_at: Option<Instant>,
    probe: Option<Probe>,
    indirect: Vec<IndirectProbe>,
    reports: Vec<DownReport>,
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
struct DownReport {
    of: MemberId,
    incarnation: Incarnation,
    since: Instant,
    until: Instant,
}

/// News for all that is sent again.
struct Repeat {
    /// [`Body::Dead`] or [`Body::Alive`].
    news: Body<'static>,
    times: u8,
    at: Instant,
}

impl LeaderProbe {
    pub(super) fn new(config: &probabilistic::Config, rng: Xoshiro256PlusPlus) -> Self {
        Self {
            wait: (config.hop * ANSWER_BOUNDS).max(LEAST_WAIT),
            spread: config.spread,
            every: config.check.unwrap_or(config.spread),
            next_at: None,
            probe: None,
            indirect: Vec::new(),
            reports: Vec::new(),
            repeats: Vec::new(),
            rng,
        }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        let probe = self.probe.as_ref().map(|it| it.step_at);
        let reports = self.reports.iter().map(|it| it.until);
        let repeats = self.repeats.iter().map(|it| it.at);
        let times = self.next_at.into_iter().chain(probe);
        times.chain(reports).chain(repeats).min()
    }

    /// Sends news to all, now and a few times later.
    fn spread(&mut self, news: Body<'static>, io: &mut Io<'_>) {
        io.broadcast(&news);
        self.repeats.push(Repeat { news, times: TIMES - 1, at: io.now + self.spread });
    }

    /// True if it is still being repeated that this member is alive.
    fn says_alive(&self) -> bool {
        self.repeats.iter().any(|it| matches!(it.news, Body::Alive { .. }))
    }

    /// Waits for this member's next turn. The turns of all members follow each other at random.
    fn next_turn(&mut self, context: &Context) {
        let size = context.partial_view().map_or(1, PartialView::size_or_view);
        let uniform = ((self.rng.next_u64() >> 11) as f64 + 1.0) * 2f64.powi(-53);
        self.next_at = Some(context.now + self.every.mul_f64(-uniform.ln() * size as f64));
    }
}

// Inputs.
impl LeaderProbe {
    pub(super) fn on(&mut self, event: &Event<'_>, io: &mut Io<'_>) {
        match event {
            Event::Timeout => self.on_timeout(io),
            Event::NomineeChanged { .. } => self.restart(io),
            Event::LeaderMet(_) => self.join(io),
            Event::TakenForDead if self.says_alive() => {}
            Event::TakenForDead | Event::AnnounceAlive => self.announce_alive(io),
            Event::LeaveElection => self.announce_departure(io),
            Event::ProtocolSlowed => {
                if let ProtocolConfig::Probabilistic(protocol) = io.config.protocol {
                    self.spread = protocol.spread;
                }
            }
            _ => {}
        }
    }

    /// Handles a request to probe another member, or the answer to one.
    pub(super) fn heard(&mut self, heard: &Admitted<'_>, io: &mut Io<'_>) {
        match heard.frame.body {
            Body::IndirectProbe { of } => {
                let asker = (heard.frame.sender.id, heard.address);
                self.on_indirect_probe(asker, of, io);
            }
            // The probed member answered another member.
            Body::IndirectAck { of } if self.probe.take_if(|it| it.of == of).is_some() => {
                self.next_turn(io);
            }
            _ => {}
        }
    }

    /// Starts anew for another nominee.
    fn restart(&mut self, io: &mut Io<'_>) {
        if io.partial_view().is_none() {
            return;
        }
        let elsewhere = io.nominee.filter(|_| !io.is_nominee());
        // A leader may have died before its election. A member without its address has to ask.
        let is_close = elsewhere.is_some_and(|leader| io.is_among_few(leader));
        let is_soon = is_close || io.nominee_at.is_none();
        self.probe = None;
        self.next_at = None;
        match elsewhere {
            Some(_) if is_soon => self.next_at = Some(io.now + self.wait),
            Some(_) => self.next_turn(io),
            None => {}
        }
        if io.is_nominee() {
            self.announce_alive(io); // it may be in no partial view
        }
    }

    /// Postpones the probe to this member's turn, now that the leader's address is known. The few
    /// members that watch it closely probe at once.
    fn join(&mut self, context: &Context) {
        let is_close = context.nominee.is_some_and(|leader| context.is_among_few(leader));
        if self.probe.is_none() && !is_close {
            self.next_turn(context);
        }
    }

    /// Announces that this member is alive: after it was taken for dead, or because it leads.
    /// Members that do not know it would neither elect nor follow it, while others do, and no round
    /// would end well.
    fn announce_alive(&mut self, io: &mut Io<'_>) {
        self.repeats.retain(|it| !matches!(it.news, Body::Alive { .. }));
        self.spread(Body::Alive { priority: io.me.priority }, io);
    }

    /// Notes that `id` answered a challenge, and tells the members for which it was probed. Any
    /// other frame may be a recording. Returns true if the challenge was a probe.
    pub(super) fn ends(&mut self, id: MemberId, challenge: u64, io: &mut Io<'_>) -> bool {
        let is_own = |it: &mut Probe| it.of == id && it.challenge == challenge;
        let ends_probe = self.probe.take_if(is_own).is_some();
        if ends_probe {
            self.next_turn(io);
        }
        let is_over = |it: &mut IndirectProbe| it.of == id && it.challenge == challenge;
        let mut ends_indirect = false;
        for ended in self.indirect.extract_if(.., is_over) {
            let (asker, address) = ended.asker;
            io.send_to(asker, Route::To(address), &Body::IndirectAck { of: id });
            ends_indirect = true;
        }
        ends_probe || ends_indirect
    }

    /// Probes `of` for a member that gets no answer from it.
    fn on_indirect_probe(&mut self, asker: (MemberId, SocketAddr), of: MemberId, io: &mut Io<'_>) {
        if of == io.me.id {
            let (asker, address) = asker;
            io.send_to(asker, Route::To(address), &Body::IndirectAck { of });
            return;
        }
        let until = io.now + self.wait * u64::from(2 * INDIRECT_PROBES);
        self.indirect.retain(|it| it.until > io.now);
        if self.indirect.len() < MOST
            && let Some(challenge) = io.emit.entropy.next()
        {
            self.indirect.push(IndirectProbe { of, challenge, asker, until });
            io.ping(of, challenge);
        }
    }

    /// Takes a member for gone, unless it refutes the report in time.
    pub(super) fn mourn(&mut self, of: MemberId, incarnation: Incarnation, context: &Context) {
        let is_buried = |view: &PartialView| view.has_buried(of, incarnation);
        let is_known =
            context.partial_view().is_none_or(is_buried) || outlives(of, incarnation, context);
        if !is_known && self.reports.len() < MOST && self.reports.iter().all(|it| it.of != of) {
            let (since, until) = (context.now, context.now + self.spread * OBJECTION_SPREADS);
            self.reports.push(DownReport { of, incarnation, since, until });
        }
    }

    /// Reports a member dead to all, unless it was reported already. Here too it may refute.
    pub(super) fn declare_dead(&mut self, of: MemberId, io: &mut Io<'_>) {
        if self.reports.iter().any(|it| it.of == of) {
            return;
        }
        let known = io.peers.get(of);
        let incarnation = known.map_or(Incarnation(0), |peer| peer.incarnation);
        self.spread(Body::Dead { of, incarnation: incarnation.0 }, io);
        self.mourn(of, incarnation, io);
    }

    /// Tells all members that this one leaves, or with partial views they might elect it.
    fn announce_departure(&mut self, io: &mut Io<'_>) {
        self.repeats.clear();
        let (of, incarnation) = (io.me.id, io.incarnation.0);
        io.broadcast(&Body::Dead { of, incarnation });
    }
}

// Time.
impl LeaderProbe {
    fn on_timeout(&mut self, io: &mut Io<'_>) {
        let now = io.now;
        let is_turn = self.next_at.take_if(|at| *at <= now).is_some();
        for report in self.reports.extract_if(.., |it| it.until <= now) {
            let DownReport { of, incarnation, since, .. } = report;
            if !outlives(of, incarnation, io) {
                io.raise(Event::ReportExpired { of, incarnation, since });
            }
        }
        self.repeat(io);
        let elsewhere = io.nominee.filter(|_| !io.is_nominee());
        if let (true, Some(of)) = (is_turn, elsewhere)
            && let Some(challenge) = io.emit.entropy.next()
        {
            self.probe = Some(Probe { of, challenge, steps: 0, step_at: now });
        }
        self.step(io);
    }

    fn repeat(&mut self, io: &mut Io<'_>) {
        let now = io.now;
        for repeat in self.repeats.iter_mut().filter(|it| it.at <= now) {
            repeat.times -= 1;
            repeat.at = now + self.spread;
            io.broadcast(&repeat.news);
        }
        self.repeats.retain(|it| it.times > 0);
    }

    /// Probes the leader directly, then through helpers, then reports it dead.
    fn step(&mut self, io: &mut Io<'_>) {
        let Some(probe) = self.probe.as_mut().filter(|it| it.step_at <= io.now) else {
            return;
        };
        let (of, challenge) = (probe.of, probe.challenge);
        if io.nominee != Some(of) {
            (self.probe, self.next_at) = (None, None);
            return;
        }
        probe.steps += 1;
        let is_direct = probe.steps <= DIRECT_PROBES;
        probe.step_at = io.now + self.wait * if is_direct { 1 } else { 2 };
        if !is_direct && probe.steps <= DIRECT_PROBES + INDIRECT_PROBES {
            io.raise(Event::ProbeThroughOthers(of));
        }
        if probe.steps <= DIRECT_PROBES + INDIRECT_PROBES {
            io.ping(of, challenge);
        } else {
            self.probe = None;
            tracing::info!(
                "group `{}`: the leader answers no probe, neither of this member nor of others",
                io.config.name
            );
            self.declare_dead(of, io);
        }
    }
}

fn outlives(id: MemberId, incarnation: Incarnation, context: &Context) -> bool {
    context.peers.get(id).is_some_and(|peer| peer.incarnation > incarnation)
}
