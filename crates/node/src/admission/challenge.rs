//! Challenges: a process proves that it runs before its frames count.
//!
//! Purpose     a recorded frame stays validly sealed for ever, and a restarted member remembers no
//!             frames. So no frame of a process counts before the process has answered a challenge:
//!             a random number that no recording can contain. A challenge also proves a new address
//!             of a known process
//! Inputs      frames of unproven processes, their answers, time
//! Outputs     challenges and answers; the waiting frames, once their sender is proven
//! Owns        open challenges and the frames that wait for an answer. The proven processes and
//!             their addresses are in [`ReplayWindow`](crate::replay_window::ReplayWindow)
//! Invariants  memory is bounded, and the oldest unproven process gives way first. A frame of an
//!             unproven process causes at most one challenge or answer; one such process at one
//!             address causes at most one of each per [`REPEAT_AFTER`]
//!
//! A challenge costs one round trip, once for each process and receiver. Processes are challenged
//! when their first frame arrives, not when they first lead, so a failover rarely waits for an
//! answer.
//!
//! Groups with partial views (`view`) are too large for that: an election would cost as many
//! messages as there are members. There a frame of an unproven process counts at once, with these
//! exceptions:
//! - a voter acts only on tenure messages of proven processes;
//! - a holder of tenure yields only to a proven process;
//! - a connection is kept only for a proven process;
//! - a member younger than a minute names a leader, and believes its tenure, only when the
//!   leader has answered;
//! - the few members that watch a leader closely challenge it, and report it dead to all if it does
//!   not answer (`leader_probe.rs`).

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use hustings_protocol::council::keyed;
use hustings_protocol::mix64::{fit, mix64};
use hustings_protocol::{Candidate, Duration, Instant, MemberId};

use super::Admission;
use super::unproven::{Key, MOST_STRANGERS, OPEN_FOR, UnprovenSenders, Waiting};
use crate::entropy::Entropy;
use crate::frame::{Body, Frame, Sender};
use crate::membership::PartialView;
use crate::node::{Context, Event, Io};
use crate::peer_table::Channel;
use crate::replay_window::Trust;
use crate::tenure::LAST_NUMBER;

/// The time before the same unproven process is challenged again, or answered again.
const REPEAT_AFTER: Duration = Duration::from_millis(20);

/// The time between two challenges to processes that have only announced that they are up. If this
/// member knows [`MOST_EARLY`] others already, it does not challenge them early: their first later
/// frame then costs a round trip.
const EARLY_EVERY: Duration = Duration::from_millis(50);
const MOST_EARLY: usize = 32;

/// Members that came up together spread their challenges to the first leader: this time for each of
/// them, so that it answers ten thousand a second. Without an answer a member asks again after
/// [`ASK_AGAIN`], doubled each time up to [`ASK_AGAIN_MOST`].
const EACH_WITHIN: Duration = Duration::from_micros(100);
const ASK_AGAIN: Duration = Duration::from_millis(250);
const ASK_AGAIN_MOST: Duration = Duration::from_secs(2);

/// The challenges of one member.
#[derive(Debug, Default)]
pub(super) struct Challenges {
    /// The keys from which challenge numbers are derived, of the last two slots in which one was
    /// needed. Each key is drawn for its slot, so two machines started from one snapshot do not
    /// repeat them.
    keys: [Option<(u64, u128)>; 2],
    unproven: UnprovenSenders,
    /// Unproven processes to challenge in turn, and the time of the next challenge.
    early: VecDeque<Key>,
    early_at: Option<Instant>,
    /// Challenges to members with unknown address, and the time since which each is open.
    pending_lookups: BTreeMap<MemberId, (u64, Instant)>,
    withheld: Option<Withheld>,
    /// The number of challenges without an answer in time.
    unanswered: u64,
}

/// A nominee that is not named yet, because it has not answered.
#[derive(Debug)]
struct Withheld {
    nominee: Candidate,
    challenge: u64,
    ask_at: Instant,
    pause: Duration,
}

/// The reaction to a frame of an unproven process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Worth {
    /// None: the frame is for another member.
    Nothing,
    /// The process is challenged in turn with others.
    EarlyChallenge,
    /// The process is challenged at once.
    Challenge,
}

/// Returns the time slot. A challenge can be answered in its own slot and in the next one.
fn slot(now: Instant) -> u64 {
    now.0 / OPEN_FOR.0
}

/// Returns the reaction to a frame of an unproven process.
fn worth(body: &Body<'_>, context: &Context) -> Worth {
    let tells_newcomers = context.is_nominee() || context.tenure.fence.is_some();
    match *body {
        // For another member, which the sender is looking for. Voters check it for another
        // list.
        Body::Tenure { to, .. } if to != context.me.id && !context.votes() => Worth::Nothing,
        Body::DuplicateName { .. } | Body::Pong { .. } | Body::IndirectAck { .. } => Worth::Nothing,
        Body::Up if tells_newcomers => Worth::Challenge,
        Body::Up if context.peers.count() >= MOST_EARLY => Worth::Nothing,
        Body::Up => Worth::EarlyChallenge,
        _ => Worth::Challenge,
    }
}

impl Challenges {
    pub(super) fn due(&self) -> Option<Instant> {
        let early = self.early_at.filter(|_| !self.early.is_empty());
        let withheld = self.withheld.as_ref().map(|it| it.ask_at);
        early.into_iter().chain(withheld).min()
    }

    /// Adds a process to those that are challenged in turn. The oldest gives way.
    fn queue_early(&mut self, key: Key) {
        self.early.push_back(key);
        if self.early.len() > MOST_STRANGERS {
            self.early.pop_front();
        }
    }

    /// Returns the number of the challenge to a process at one address, in this time slot.
    ///
    /// It is derived from a key that no other process knows. So no challenge has to be stored to
    /// check an answer, and a flood of unproven processes cannot push an open one out.
    fn number(&self, slot: u64, (id, process_incarnation, address): Key) -> Option<u64> {
        let ip = match address.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped().to_bits(),
            IpAddr::V6(ip) => ip.to_bits(),
        };
        let place = [ip as u64, (ip >> 64) as u64, address.port().into()];
        let [low, high, port] = place;
        let words = [id.0, process_incarnation.0, low, high, port, slot];
        let mut keys = self.keys.iter().flatten();
        let key = keys.find(|it| it.0 == slot)?.1;
        Some(keyed::hash(key, &words))
    }

    fn draw_key(&mut self, slot: u64, entropy: &mut Entropy) {
        if self.keys[0].is_none_or(|it| it.0 != slot)
            && let Some(key) = entropy.draw()
        {
            self.keys = [Some((slot, u128::from_le_bytes(key))), self.keys[0]];
        }
    }

    /// True if `number` was the challenge to this process at this address, in this slot or the one
    /// before.
    fn is_number(&self, now: Instant, key: Key, number: u64) -> bool {
        let slot = slot(now);
        let slots = [slot, slot.saturating_sub(1)];
        slots.into_iter().any(|slot| self.number(slot, key) == Some(number))
    }

    /// True if a lookup of this member used this number.
    fn was_sought(&mut self, now: Instant, id: MemberId, challenge: u64) -> bool {
        let is_it = |it: &(u64, Instant)| it.0 == challenge && now - it.1 <= OPEN_FOR;
        let is_sought = self.pending_lookups.get(&id).is_some_and(is_it);
        is_sought && self.pending_lookups.remove(&id).is_some()
    }
}

// Deciding which processes have to prove themselves.
impl Admission {
    /// True if the known process of a member has answered a challenge.
    pub(crate) fn is_proven(&self, id: MemberId) -> bool {
        self.replay_window.place_of(id).is_some()
    }

    /// True if a process has to answer a challenge before its frames count.
    fn is_stranger(&self, sender: &Sender<'_>, context: &Context) -> bool {
        let is_proven = self.replay_window.trust(sender, context.now) == Trust::Proven;
        context.is_strict() && (!is_proven || self.replay_window.is_missed(sender.id))
    }

    /// True if a process has not answered a challenge yet. Such a process keeps no connection, in
    /// any group: a recorded frame would otherwise hold one for ever.
    pub(super) fn is_unproven(&self, sender: &Sender<'_>, context: &Context) -> bool {
        !matches!(self.replay_window.trust(sender, context.now), Trust::Proven | Trust::Past)
    }

    /// True if a frame counts only once its sender has answered a challenge, and it has not.
    pub(crate) fn must_prove(&self, frame: &Frame<'_>, context: &Context) -> bool {
        let sender = &frame.sender;
        // A last will was sealed in case its process dies, and a dead process cannot answer.
        if frame.number == LAST_NUMBER && self.replay_window.was_proven(sender) {
            return false;
        }
        let trust = self.replay_window.trust(sender, context.now);
        // A leaving leader releases tenure when it is already missed, and no longer answers.
        let gives_up = matches!(frame.body, Body::Tenure { .. } | Body::Released { .. });
        let is_missed = context.is_strict() && self.replay_window.is_missed(sender.id) && !gives_up;
        if trust == Trust::Past || trust == Trust::Proven && !is_missed {
            return false;
        }
        match frame.body {
            // Councils detect old messages by the calendar, and a whole fleet must not answer a
            // centre. But a council message never replaces a proven process by another.
            Body::CentreMessage { .. } | Body::HostMessage { .. } => self.is_proven(sender.id),
            _ if context.is_strict() => true,
            Body::Tenure { to, .. } => to == context.me.id || to == sender.id,
            // A holder gives up on a claim of a higher fence, which may be a recording from before
            // the group was founded anew.
            Body::Holds { .. } if context.tenure.fence.is_some() => true,
            Body::Holds { .. } | Body::Transfer { .. } => {
                context.probes_leader() && (context.is_young() || context.is_among_few(sender.id))
            }
            _ => false,
        }
    }

    /// Keeps a frame of an unproven process until that process answers a challenge.
    pub(super) fn keep_waiting(
        &mut self,
        (address, channel): (SocketAddr, Channel),
        frame: &Frame<'_>,
        io: &mut Io<'_>,
    ) {
        report_unproven_claim(address, frame, io);
        let worth = worth(&frame.body, io);
        if worth == Worth::Nothing {
            io.emit.counters.unproven += 1;
            return;
        }
        let key = (frame.sender.id, frame.sender.process_incarnation, address);
        let is_unanswered = self.challenges.unproven.is_unanswered(&key, io.now);
        self.challenges.unanswered += u64::from(is_unanswered);
        if is_unanswered && self.challenges.unanswered.is_power_of_two() {
            tracing::warn!(
                "group `{}`: frames of `{}` from {address} are ignored: it has not answered a challenge there within {OPEN_FOR}: let UDP pass to and from that address; if no member runs there, old frames are being replayed",
                io.config.name,
                frame.sender.name
            );
        }
        let mut content = Vec::new();
        frame.encode(&mut content);
        let waiters = Waiting { at: io.now, channel, content };
        let lost = self.challenges.unproven.keep(key, waiters);
        io.emit.counters.unproven += lost;
        match worth {
            Worth::Challenge => self.challenge(key, io),
            Worth::EarlyChallenge | Worth::Nothing => {
                self.challenges.queue_early(key);
                self.challenge_early(io);
            }
        }
    }

    /// Challenges a known process at an address where it has not answered yet. Its frames count,
    /// but its address stays until it answers.
    pub(super) fn challenge_place(
        &mut self,
        sender: &Sender<'_>,
        address: SocketAddr,
        io: &mut Io<'_>,
    ) {
        let key = (sender.id, sender.process_incarnation, address);
        let (_, lost) = self.challenges.unproven.open(key, io.now);
        io.emit.counters.unproven += lost;
        self.challenge(key, io);
    }

    /// Challenges an unproven process, unless that was done within [`REPEAT_AFTER`].
    fn challenge(&mut self, key: Key, io: &mut Io<'_>) {
        let Some(stranger) = self.challenges.unproven.get_mut(&key) else {
            return;
        };
        if stranger.asked.is_some_and(|at| io.now - at < REPEAT_AFTER) {
            return;
        }
        stranger.asked = Some(io.now);
        if let Some(challenge) = self.challenge_number(key, io) {
            io.ping_at(key.0, key.2, challenge);
        }
    }

    pub(super) fn challenge_number(&mut self, key: Key, io: &mut Io<'_>) -> Option<u64> {
        let slot = slot(io.now);
        self.challenges.draw_key(slot, &mut io.emit.entropy);
        self.challenges.number(slot, key)
    }

    /// Returns the address at which a process was challenged with `number`, if it was.
    fn challenged_at(
        &self,
        sender: &Sender<'_>,
        address: SocketAddr,
        number: u64,
        context: &Context,
    ) -> Option<SocketAddr> {
        let places = self.challenges.unproven.places_of(sender);
        let mut places = places.chain([address]);
        places.find(|it| {
            let key = (sender.id, sender.process_incarnation, *it);
            self.challenges.is_number(context.now, key, number)
        })
    }

    /// Challenges the next process that has only announced that it is up, if it is time.
    fn challenge_early(&mut self, io: &mut Io<'_>) {
        if self.challenges.early_at.is_some_and(|at| io.now < at) {
            return;
        }
        while let Some(key) = self.challenges.early.pop_front() {
            let stranger = self.challenges.unproven.get_mut(&key);
            if stranger.is_some_and(|it| it.asked.is_none()) {
                self.challenge(key, io);
                self.challenges.early_at = Some(io.now + EARLY_EVERY);
                return;
            }
        }
    }

    /// Looks for a member with unknown address.
    pub(super) fn seek(&mut self, whom: MemberId, io: &mut Io<'_>) {
        let pending_lookups = &mut self.challenges.pending_lookups;
        pending_lookups.retain(|_, it| io.now - it.1 <= OPEN_FOR);
        let Some(challenge) =
            pending_lookups.get(&whom).map(|it| it.0).or_else(|| io.emit.entropy.next())
        else {
            return;
        };
        let pending_lookups = &mut self.challenges.pending_lookups;
        pending_lookups.entry(whom).or_insert((challenge, io.now));
        io.emit.counters.challenges_sent += 1;
        io.broadcast(&Body::WhoIs { whom, challenge });
    }
}

// Answers.
impl Admission {
    /// Handles challenges and answers of unproven processes. Returns `None` if the frame is none;
    /// otherwise the sender's address, if the frame counts.
    pub(super) fn on_proof(
        &mut self,
        address: SocketAddr,
        frame: &Frame<'_>,
        io: &mut Io<'_>,
    ) -> Option<Option<SocketAddr>> {
        let sender = &frame.sender;
        match frame.body {
            Body::Ping { challenge } if self.is_stranger(sender, io) => {
                self.answer_stranger(sender, address, challenge, io);
                Some(None)
            }
            Body::WhoIs { whom, challenge } if self.is_stranger(sender, io) => {
                if whom == io.me.id {
                    self.answer_stranger(sender, address, challenge, io);
                }
                Some(None)
            }
            Body::Pong { challenge, since, asks } => {
                let was_sought = self.challenges.was_sought(io.now, sender.id, challenge);
                let place = match was_sought {
                    true => Some(address),
                    false => self.challenged_at(sender, address, challenge, io),
                };
                if let Some(place) = place {
                    self.prove(sender, since, place, io);
                }
                let trust = self.replay_window.trust(sender, io.now);
                if !io.is_strict() || trust == Trust::Proven {
                    return Some(Some(place.unwrap_or(address)));
                }
                io.emit.counters.unproven += 1;
                // The answer is to a challenge that is not open, but it contains a challenge
                // itself.
                if let Some(asked) = asks {
                    self.answer_stranger(sender, address, asked, io);
                }
                Some(None)
            }
            _ => None,
        }
    }

    /// Answers the challenge of an unproven process. Challenges it in return, unless that was done
    /// within [`REPEAT_AFTER`] or the process is known to be past.
    fn answer_stranger(
        &mut self,
        sender: &Sender<'_>,
        address: SocketAddr,
        challenge: u64,
        io: &mut Io<'_>,
    ) {
        let is_past = self.replay_window.trust(sender, io.now) == Trust::Past;
        let key = (sender.id, sender.process_incarnation, address);
        let (stranger, lost) = self.challenges.unproven.open(key, io.now);
        let is_recent = |at: Option<Instant>| at.is_some_and(|at| io.now - at < REPEAT_AFTER);
        let may_answer = !is_recent(stranger.answered);
        let may_ask = may_answer && !is_past && !is_recent(stranger.asked);
        if may_ask {
            stranger.asked = Some(io.now);
        }
        if may_answer {
            stranger.answered = Some(io.now);
            let asks = if may_ask { self.challenge_number(key, io) } else { None };
            io.answer(sender.id, address, (challenge, asks));
        }
        io.emit.counters.unproven += lost;
    }

    /// Marks a process as proven at `place`, and handles its waiting frames.
    fn prove(&mut self, sender: &Sender<'_>, since: u64, place: SocketAddr, io: &mut Io<'_>) {
        self.replay_window.prove(io.now, sender, since, place);
        let is_past = self.replay_window.trust(sender, io.now) == Trust::Past;
        for waiting in self.challenges.unproven.release(sender.id, sender.process_incarnation) {
            let Waiting { at, channel, content } = waiting;
            match !is_past && io.now - at <= OPEN_FOR {
                true => io.raise(Event::Released { content, place, channel }),
                false => io.emit.counters.unproven += 1,
            }
        }
    }

    /// Handles the answer to a challenge that this member sent because it doubts that the sender
    /// runs.
    pub(super) fn on_pong(
        &mut self,
        sender: &Sender<'_>,
        address: SocketAddr,
        (challenge, asks): (u64, Option<u64>),
        io: &mut Io<'_>,
    ) {
        if let Some(asked) = asks {
            io.answer(sender.id, address, (asked, None));
        }
        let is_it = |it: &mut Withheld| it.nominee.id == sender.id && it.challenge == challenge;
        if let Some(Withheld { nominee, .. }) = self.challenges.withheld.take_if(is_it) {
            self.replay_window.prove(io.now, sender, 0, address);
            io.raise(Event::Nominated(Some(nominee)));
        }
    }

    /// Sends the challenges that are due.
    pub(super) fn pass_challenges(&mut self, io: &mut Io<'_>) {
        self.challenge_early(io);
        let withheld = self.challenges.withheld.as_mut();
        if let Some(withheld) = withheld.filter(|it| it.ask_at <= io.now) {
            withheld.ask_at = io.now + withheld.pause;
            withheld.pause = (withheld.pause * 2).min(ASK_AGAIN_MOST);
            let (id, challenge) = (withheld.nominee.id, withheld.challenge);
            io.ping(id, challenge);
        }
    }

    /// Returns true if `nominee` must not be published before it has answered a challenge. A member
    /// of a large group that just came up remembers no process, and replayed frames of a former
    /// leader would name that leader.
    pub(super) fn withholds(&mut self, nominee: Option<Candidate>, io: &mut Io<'_>) -> bool {
        self.challenges.withheld = None;
        let Some(size) = io.partial_view().map(PartialView::size_or_view) else {
            return false;
        };
        let is_to_prove = |it: &Candidate| {
            let is_named = it.id == io.me.id || io.nominee == Some(it.id);
            io.is_young() && !is_named && !self.is_proven(it.id)
        };
        let Some(nominee) = nominee.filter(is_to_prove) else {
            return false;
        };
        let Some(challenge) = io.emit.entropy.next() else {
            return true;
        };
        let lot = mix64(io.me.id.0 ^ nominee.id.0);
        let wait = Duration(fit(lot, (EACH_WITHIN * size).0));
        self.challenges.withheld =
            Some(Withheld { nominee, challenge, ask_at: io.now + wait, pause: ASK_AGAIN });
        true
    }
}

/// Reports an unproven sender that claims tenure.
fn report_unproven_claim(address: SocketAddr, frame: &Frame<'_>, io: &mut Io<'_>) {
    if let Body::Holds { fence, lasts_ns, .. } = frame.body
        && lasts_ns > 0
    {
        let member = frame.sender.name.to_owned();
        io.raise(Event::UnprovenHolder { member, fence, address });
    }
}
