//! Challenges: a process that was not heard before proves that it runs.
//!
//! Purpose     A frame that was recorded while its sender ran is sealed rightly for ever, and a member that has restarted
//!             remembers no frames. So nothing that a process says counts here before it has answered a challenge: a random
//!             number of ours, which no recording can contain. The same proves a new address of a process that is known.
//! Inputs      frames of processes that are not proven, their answers, time
//! Outputs     challenges and answers; the frames that waited, once their sender is proven
//! Owns        open challenges and the frames that wait for an answer. Which processes are proven, and where, is in
//!             [`Replays`](crate::replay::Replays)
//! Invariants  Memory is bounded, and the stranger that was heard first gives way first. No frame of a stranger draws more
//!             than one challenge or answer, and no stranger at one address more than one of each in [`REPEAT_AFTER`].
//!
//! A challenge costs one round trip, once for each process and listener. Processes are challenged when they are first heard,
//! not when they first lead: so a failover rarely waits for an answer.
//!
//! Groups of which no member knows all members (`view`) are too large for that: an election would cost as many messages as
//! there are members. There a frame of a stranger counts at once, with these exceptions:
//! - a voter acts on tenure messages of proven processes only;
//! - a member that came up less than [`YOUNG_FOR`] ago names a leader, and believes that it holds tenure, only when the
//!   leader has answered;
//! - the few members that look after a leader closely challenge it, and declare it dead to all if it does not answer
//!   (`lookout.rs`).

mod strangers;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use hustings_protocol::council::keyed;
use hustings_protocol::scatter::{fit, scatter};
use hustings_protocol::{Candidate, Duration, Instant, MemberId};

use super::tenancy::LAST_NUMBER;
use super::{Group, Outbox, Route};
use crate::entropy::Entropy;
use crate::frame::{Body, Frame, Sender};
use crate::membership::Circle;
use crate::peers::Way;
use crate::replay::Trust;
use strangers::{Key, MOST_STRANGERS, OPEN_FOR, Strangers, Waiting};

/// The time before a stranger that speaks again is challenged again, or answered again.
const REPEAT_AFTER: Duration = Duration::from_millis(20);

/// A process that has only said that it is up is challenged in turn with others, one in this time, unless this member knows
/// [`MOST_EARLY`] others already: what it says later costs a round trip then.
const EARLY_EVERY: Duration = Duration::from_millis(50);
const MOST_EARLY: usize = 32;

/// What a process said longer ago than once or twice this time does not count when it proves itself.
const RECENT: Duration = Duration::from_secs(1);

/// The age below which a member of a group with `view` names a leader only when that has answered.
const YOUNG_FOR: Duration = Duration::from_secs(60);

/// Members that came up together challenge their first leader within this time for each of them: it can answer ten thousand
/// in a second. One that gets no answer asks again after [`ASK_AGAIN`], doubled each time up to [`ASK_AGAIN_MOST`].
const EACH_WITHIN: Duration = Duration::from_micros(100);
const ASK_AGAIN: Duration = Duration::from_millis(250);
const ASK_AGAIN_MOST: Duration = Duration::from_secs(2);

/// The challenges of one member.
#[derive(Debug, Default)]
pub(super) struct Challenges {
    /// The keys from which the numbers of challenges follow, of the last two slots in which one was needed. Each is drawn for
    /// its slot: a machine that is started twice from one snapshot does not repeat them.
    keys: [Option<(u64, u128)>; 2],
    strangers: Strangers,
    /// Strangers that are challenged in turn, and when the next one may be.
    early: VecDeque<Key>,
    early_at: Option<Instant>,
    /// Challenges to members of whom it is not known where they are, and since when they are open.
    sought: BTreeMap<MemberId, (u64, Instant)>,
    withheld: Option<Withheld>,
    numbers: RecentNumbers,
    /// How often a stranger has not answered in time.
    unanswered: u64,
}

/// A nominee that is not named yet.
#[derive(Debug)]
struct Withheld {
    nominee: Candidate,
    challenge: u64,
    ask_at: Instant,
    pause: Duration,
}

/// The number of the first frame that this member sent in the last second or two.
#[derive(Debug, Default)]
struct RecentNumbers {
    marked_at: Option<Instant>,
    mark: u64,
    before: u64,
}

impl RecentNumbers {
    /// Takes note that the next frame has the number `next`.
    fn note(&mut self, now: Instant, next: u64) {
        match self.marked_at.map(|at| now - at) {
            Some(passed) if passed < RECENT => return,
            Some(passed) if passed < RECENT * 2 => self.before = self.mark,
            Some(_) => self.before = next,
            None => {} // it has just come up: all that it said is recent
        }
        (self.marked_at, self.mark) = (Some(now), next);
    }
}

/// What a frame of a stranger is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Worth {
    /// Nothing: it is for another member.
    Nothing,
    /// The stranger is challenged in turn with others.
    EarlyChallenge,
    /// The stranger is challenged at once.
    Challenge,
}

/// A challenge can be answered in the slot in which it was sent, and in the next one.
fn slot(now: Instant) -> u64 {
    now.0 / OPEN_FOR.0
}

impl Challenges {
    pub(super) fn due(&self) -> Option<Instant> {
        let early = self.early_at.filter(|_| !self.early.is_empty());
        let withheld = self.withheld.as_ref().map(|it| it.ask_at);
        early.into_iter().chain(withheld).min()
    }

    /// The number of the challenge to a process at one address, in this time slot.
    ///
    /// It follows from a key that no other process knows. So no challenge has to be remembered to tell an answer, and a flood
    /// of strangers cannot push an open one out.
    fn number(&self, slot: u64, (id, born, address): Key) -> Option<u64> {
        let ip = match address.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped().to_bits(),
            IpAddr::V6(ip) => ip.to_bits(),
        };
        let place = [ip as u64, (ip >> 64) as u64, address.port().into()];
        let [low, high, port] = place;
        let words = [id.0, born.0, low, high, port, slot];
        let mut keys = self.keys.iter().flatten();
        let key = keys.find(|it| it.0 == slot)?.1;
        Some(keyed::hash(key, &words))
    }

    /// Draws the key of this time slot, if there is none.
    fn draw_key(&mut self, slot: u64, entropy: &mut Entropy) {
        if self.keys[0].is_none_or(|it| it.0 != slot)
            && let Some(key) = entropy.draw()
        {
            self.keys = [Some((slot, u128::from_le_bytes(key))), self.keys[0]];
        }
    }

    /// Returns whether `number` was the challenge to this process at this address, now or a moment ago.
    fn is_number(&self, now: Instant, key: Key, number: u64) -> bool {
        let slot = slot(now);
        let slots = [slot, slot.saturating_sub(1)];
        slots
            .into_iter()
            .any(|slot| self.number(slot, key) == Some(number))
    }

    /// A new life has begun, and its frames are numbered anew.
    pub(super) fn number_anew(&mut self) {
        self.numbers = RecentNumbers::default();
    }

    /// Whether a member was looked for with this number.
    fn was_sought(&mut self, now: Instant, id: MemberId, challenge: u64) -> bool {
        let is_it = |it: &(u64, Instant)| it.0 == challenge && now - it.1 <= OPEN_FOR;
        let is_sought = self.sought.get(&id).is_some_and(is_it);
        is_sought && self.sought.remove(&id).is_some()
    }
}

// Who has to prove itself.
impl Group {
    /// Takes note of the time, before anything is said.
    pub(super) fn note_time(&mut self, now: Instant) {
        self.challenges.numbers.note(now, self.number);
    }

    /// Whether nothing counts that a process says before it is proven: in every group that elects, unless it is too large for
    /// that.
    pub(super) fn is_strict(&self) -> bool {
        self.config.view.is_none() && !self.config.protocol.is_none()
    }

    /// Whether the process that is known of a member has answered a challenge.
    pub(super) fn is_proven(&self, id: MemberId) -> bool {
        self.replays.place_of(id).is_some()
    }

    /// Whether a process has to answer a challenge before what it says counts.
    fn is_stranger(&self, now: Instant, sender: &Sender<'_>) -> bool {
        let is_proven = self.replays.trust(sender, now) == Trust::Proven;
        self.is_strict() && (!is_proven || self.replays.is_missed(sender.id))
    }

    fn votes(&self) -> bool {
        self.tenancy.voters().any(|voter| voter == self.me.id)
    }

    fn is_young(&self, now: Instant) -> bool {
        now - self.came_at < YOUNG_FOR
    }

    /// Whether a frame counts only when its sender has answered a challenge, and it has not.
    pub(super) fn must_prove(&self, now: Instant, frame: &Frame<'_>) -> bool {
        let sender = &frame.sender;
        // A release that was sealed for the case of a process' death: the dead cannot answer.
        if frame.number == LAST_NUMBER && self.replays.was_proven(sender) {
            return false;
        }
        let trust = self.replays.trust(sender, now);
        // A leader that leaves gives up what it holds when it is missed already, and does not answer any more.
        let gives_up = matches!(frame.body, Body::Tenure { .. } | Body::Freed { .. });
        let is_missed = self.is_strict() && self.replays.is_missed(sender.id) && !gives_up;
        if trust == Trust::Past || trust == Trust::Proven && !is_missed {
            return false;
        }
        match frame.body {
            // Councils tell what is past by the calendar, and fleets must not all answer a centre. But no word of a council
            // puts another process in the place of one that is proven.
            Body::FromCentre { .. } | Body::ToCentre { .. } => self.is_proven(sender.id),
            _ if self.is_strict() => true,
            Body::Tenure { to, .. } => to == self.me.id || to == sender.id,
            Body::Holds { .. } | Body::HandsOver { .. } => {
                self.lookout.is_some() && (self.is_young(now) || self.is_among_few(sender.id))
            }
            _ => false,
        }
    }

    fn worth(&self, body: &Body<'_>) -> Worth {
        let tells_newcomers = self.is_nominee() || self.tenancy.fence().is_some();
        match *body {
            // For another member, that is looked for: of interest to voters, which may go by another list.
            Body::Tenure { to, .. } if to != self.me.id && !self.votes() => Worth::Nothing,
            Body::Namesake { .. } | Body::Here { .. } | Body::Vouch { .. } => Worth::Nothing,
            Body::Up if tells_newcomers => Worth::Challenge,
            Body::Up if self.peers.count() >= MOST_EARLY => Worth::Nothing,
            Body::Up => Worth::EarlyChallenge,
            _ => Worth::Challenge,
        }
    }

    /// A process that has to prove itself said something: that waits for its answer.
    pub(super) fn keep_waiting(
        &mut self,
        now: Instant,
        address: SocketAddr,
        way: Way,
        frame: &Frame<'_>,
        out: &mut Outbox,
    ) {
        self.tell_of_unproven(address, frame);
        let worth = self.worth(&frame.body);
        if worth == Worth::Nothing {
            self.counters.unproven += 1;
            return;
        }
        let key = (frame.sender.id, frame.sender.born(), address);
        let is_unanswered = self.challenges.strangers.is_unanswered(&key, now);
        self.challenges.unanswered += u64::from(is_unanswered);
        if is_unanswered && self.challenges.unanswered.is_power_of_two() {
            tracing::warn!(
                "group `{}`: `{}` is heard from {address}, but has not answered there within {OPEN_FOR} that it runs, so what it says does not \
                 count: let UDP pass to and from that address; if no member is there, old frames are being replayed",
                self.config.name,
                frame.sender.name
            );
        }
        let mut content = Vec::new();
        frame.encode(&mut content);
        let waiting = Waiting {
            at: now,
            way,
            content,
        };
        let lost = self.challenges.strangers.keep(key, waiting);
        self.counters.unproven += lost;
        match worth {
            Worth::Challenge => self.challenge(now, key, out),
            Worth::EarlyChallenge | Worth::Nothing => {
                self.challenges.early.push_back(key);
                self.challenges.early.truncate(MOST_STRANGERS);
                self.challenge_early(now, out);
            }
        }
    }

    /// A process that is known speaks at an address where it has not answered yet. What it says counts, but it is not taken
    /// to be there before it has.
    pub(super) fn challenge_place(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        address: SocketAddr,
        out: &mut Outbox,
    ) {
        let key = (sender.id, sender.born(), address);
        let (_, lost) = self.challenges.strangers.open(key, now);
        self.counters.unproven += lost;
        self.challenge(now, key, out);
    }

    /// Challenges a stranger, unless that was done a moment ago.
    fn challenge(&mut self, now: Instant, key: Key, out: &mut Outbox) {
        let Some(stranger) = self.challenges.strangers.get_mut(&key) else {
            return;
        };
        if stranger.asked.is_some_and(|at| now - at < REPEAT_AFTER) {
            return;
        }
        stranger.asked = Some(now);
        if let Some(challenge) = self.challenge_number(now, key) {
            self.knock(key.0, key.2, challenge, out);
        }
    }

    /// The number of a challenge to a process at an address.
    pub(super) fn challenge_number(&mut self, now: Instant, key: Key) -> Option<u64> {
        let slot = slot(now);
        self.challenges.draw_key(slot, &mut self.entropy);
        self.challenges.number(slot, key)
    }

    /// Returns where a process was challenged with the number that it answers, if it was.
    fn challenged_at(
        &self,
        now: Instant,
        sender: &Sender<'_>,
        address: SocketAddr,
        number: u64,
    ) -> Option<SocketAddr> {
        let places = self.challenges.strangers.places_of(sender);
        let mut places = places.chain([address]);
        places.find(|it| {
            let key = (sender.id, sender.born(), *it);
            self.challenges.is_number(now, key, number)
        })
    }

    /// Challenges the next of those that have only said that they are up, if it is time.
    fn challenge_early(&mut self, now: Instant, out: &mut Outbox) {
        if self.challenges.early_at.is_some_and(|at| now < at) {
            return;
        }
        while let Some(key) = self.challenges.early.pop_front() {
            let stranger = self.challenges.strangers.get_mut(&key);
            if stranger.is_some_and(|it| it.asked.is_none()) {
                self.challenge(now, key, out);
                self.challenges.early_at = Some(now + EARLY_EVERY);
                return;
            }
        }
    }

    /// Sends a challenge.
    pub(super) fn knock(
        &mut self,
        to: MemberId,
        address: SocketAddr,
        challenge: u64,
        out: &mut Outbox,
    ) {
        self.counters.challenges_sent += 1;
        self.send_to(to, Route::To(address), &Body::Knock { challenge }, out);
    }

    /// Looks for a member of whom it is not known where it is.
    pub(super) fn seek(&mut self, now: Instant, whom: MemberId, out: &mut Outbox) {
        let sought = &mut self.challenges.sought;
        sought.retain(|_, it| now - it.1 <= OPEN_FOR);
        let Some(challenge) = sought
            .get(&whom)
            .map(|it| it.0)
            .or_else(|| self.entropy.next())
        else {
            return;
        };
        let sought = &mut self.challenges.sought;
        sought.entry(whom).or_insert((challenge, now));
        self.counters.challenges_sent += 1;
        self.broadcast(now, &Body::Seek { whom, challenge }, out);
    }
}

// Answers.
impl Group {
    /// Answers a challenge.
    pub(super) fn answer(
        &mut self,
        to: MemberId,
        address: SocketAddr,
        (challenge, asks): (u64, Option<u64>),
        out: &mut Outbox,
    ) {
        let here = Body::Here {
            challenge,
            since: self.challenges.numbers.before,
            asks,
        };
        self.counters.challenges_sent += u64::from(asks.is_some());
        self.send_to(to, Route::To(address), &here, out);
    }

    /// Hears what strangers challenge and answer. Returns whether there is nothing more to be done about the frame.
    pub(super) fn hear_proof(
        &mut self,
        now: Instant,
        address: SocketAddr,
        way: Way,
        frame: &Frame<'_>,
        out: &mut Outbox,
    ) -> bool {
        let sender = &frame.sender;
        let is_stranger = self.is_stranger(now, sender);
        match frame.body {
            Body::Knock { challenge } if is_stranger => {
                self.answer_stranger(now, sender, address, challenge, out);
                true
            }
            Body::Seek { whom, challenge } if is_stranger => {
                if whom == self.me.id {
                    self.answer_stranger(now, sender, address, challenge, out);
                }
                true
            }
            Body::Here {
                challenge,
                since,
                asks,
            } => {
                let was_sought = self.challenges.was_sought(now, sender.id, challenge);
                let place = match was_sought {
                    true => Some(address),
                    false => self.challenged_at(now, sender, address, challenge),
                };
                if let Some(place) = place {
                    self.prove(now, sender, since, place, out);
                }
                let is_stranger =
                    self.is_strict() && self.replays.trust(sender, now) != Trust::Proven;
                self.counters.unproven += u64::from(is_stranger);
                match asks.filter(|_| is_stranger) {
                    // It answers a challenge that this process did not issue, or no longer has open: but it asks.
                    Some(asked) => self.answer_stranger(now, sender, address, asked, out),
                    None if is_stranger => {}
                    None => _ = self.hear_known(now, place.unwrap_or(address), way, frame, out),
                }
                true
            }
            _ => false,
        }
    }

    /// Answers a stranger's challenge, and challenges it in return unless that was done a moment ago or it is of the past.
    fn answer_stranger(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        address: SocketAddr,
        challenge: u64,
        out: &mut Outbox,
    ) {
        let is_past = self.replays.trust(sender, now) == Trust::Past;
        let key = (sender.id, sender.born(), address);
        let (stranger, lost) = self.challenges.strangers.open(key, now);
        let is_recent = |at: Option<Instant>| at.is_some_and(|at| now - at < REPEAT_AFTER);
        let may_answer = !is_recent(stranger.answered);
        let may_ask = may_answer && !is_past && !is_recent(stranger.asked);
        if may_ask {
            stranger.asked = Some(now);
        }
        if may_answer {
            stranger.answered = Some(now);
            let asks = match may_ask {
                true => self.challenge_number(now, key),
                false => None,
            };
            self.answer(sender.id, address, (challenge, asks), out);
        }
        self.counters.unproven += lost;
    }

    /// A process has answered: what it said meanwhile counts, and it is at `place`.
    fn prove(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        since: u64,
        place: SocketAddr,
        out: &mut Outbox,
    ) {
        self.replays.prove(now, sender, since, place);
        let is_past = self.replays.trust(sender, now) == Trust::Past;
        for waiting in self.challenges.strangers.release(sender.id, sender.born()) {
            match Frame::decode(&waiting.content) {
                Ok(frame) if !is_past && now - waiting.at <= OPEN_FOR => {
                    self.hear_known(now, place, waiting.way, &frame, out);
                }
                Ok(_) | Err(_) => self.counters.unproven += 1,
            }
        }
    }

    /// A challenge was answered that this member issued for a reason of its own: because it doubts that the sender runs.
    pub(super) fn on_here(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        address: SocketAddr,
        (challenge, asks): (u64, Option<u64>),
        out: &mut Outbox,
    ) {
        if let Some(asked) = asks {
            self.answer(sender.id, address, (asked, None), out);
        }
        let ends_suspicion = self.ends_suspicion(sender.id, challenge);
        let ends_doubts = self.ends_doubts(now, sender.id, challenge, out);
        let is_it = |it: &mut Withheld| it.nominee.id == sender.id && it.challenge == challenge;
        let withheld = self.challenges.withheld.take_if(is_it);
        if ends_suspicion || ends_doubts || withheld.is_some() {
            self.replays.prove(now, sender, 0, address);
        }
        if let Some(Withheld { nominee, .. }) = withheld {
            self.publish(now, Some(nominee.id), out);
            self.keep_in_view(nominee);
        }
    }

    /// Does what is due.
    pub(super) fn pass_challenges(&mut self, now: Instant, out: &mut Outbox) {
        self.challenge_early(now, out);
        let withheld = self.challenges.withheld.as_mut();
        if let Some(withheld) = withheld.filter(|it| it.ask_at <= now) {
            withheld.ask_at = now + withheld.pause;
            withheld.pause = (withheld.pause * 2).min(ASK_AGAIN_MOST);
            let (id, challenge) = (withheld.nominee.id, withheld.challenge);
            self.knock_at(now, id, challenge, out);
        }
    }

    /// The election names `nominee`. Returns whether that is not to be told before the nominee has answered a challenge: a
    /// member of a large group that has just come up remembers nobody, and frames of a leader of the past would name it.
    pub(super) fn withholds(&mut self, now: Instant, nominee: Option<Candidate>) -> bool {
        self.challenges.withheld = None;
        let Some(size) = self.circle().map(Circle::size_or_view) else {
            return false;
        };
        let is_young = self.is_young(now);
        let is_to_prove = |it: &Candidate| {
            let is_named = it.id == self.me.id || self.nominee == Some(it.id);
            is_young && !is_named && !self.is_proven(it.id)
        };
        let Some(nominee) = nominee.filter(is_to_prove) else {
            return false;
        };
        let Some(challenge) = self.entropy.next() else {
            return true;
        };
        let lot = scatter(self.me.id.0 ^ nominee.id.0);
        let wait = Duration(fit(lot, (EACH_WITHIN * size).0));
        self.challenges.withheld = Some(Withheld {
            nominee,
            challenge,
            ask_at: now + wait,
            pause: ASK_AGAIN,
        });
        true
    }
}
