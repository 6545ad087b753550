//! Admission: which frames count, and which processes send them.
//!
//! Purpose     checks the identity, the proof and the freshness of each frame, once
//! Inputs      frames that open with the group's key, with the sender's address and the channel
//! Outputs     the frames that count; challenges and answers; notices to senders whose incarnation
//!             is over; the end of this process beside another with its name
//! Owns        the replay window, the open challenges, the state of a conflict of names
//! Invariants  no other component sees a frame that does not count. A frame counts once

pub(crate) mod challenge;
mod duplicate_name;
mod unproven;

use std::net::SocketAddr;

use hustings_protocol::{Duration, Instant, MemberId};

use crate::council::is_fresh;
use crate::frame::{Body, Frame, Sender};
use crate::identity::Incarnation;
use crate::log_once::LogOnce;
use crate::node::{Admitted, Component, Context, Event, Io, Route};
use crate::peer_table::Channel;
use crate::replay_window::{Freshness, ReplayWindow};
use crate::seal::Rejected;
use challenge::Challenges;
use duplicate_name::StaleIncarnation;

/// The shortest time between two notices that an incarnation is over.
const ANSWER_PAST_EVERY: Duration = Duration::from_millis(20);

/// The state of admission.
#[derive(Default)]
pub(crate) struct Admission {
    replay_window: ReplayWindow,
    challenges: Challenges,
    /// The time of the last notice to a sender that its incarnation is over.
    answered_past: Option<Instant>,
    /// The last process that used this member's name and was sent this member's age, and when.
    claimed_at: Option<(Incarnation, Instant)>,
    stale_incarnation: StaleIncarnation,
    /// Members whose bodies of unknown kinds were logged.
    unknown_bodies_of: LogOnce<MemberId>,
}

/// The treatment of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The frame does not count.
    Refused,
    /// The frame is a copy: it shows only that its channel works.
    Copy { place: SocketAddr },
    /// The frame counts. Its sender receives at `place`, and is answered at `answers_at`.
    New { place: SocketAddr, answers_at: SocketAddr },
    /// The frame counts, and says nothing about its sender's address.
    Lifeline,
}

impl Admission {
    /// Examines a frame that opens with this group's key. Returns the address of its sender if the
    /// sender is not to prove itself first.
    pub(crate) fn examine(
        &mut self,
        (from, channel): (SocketAddr, Channel),
        frame: &Frame<'_>,
        io: &mut Io<'_>,
    ) -> Option<SocketAddr> {
        let sender = &frame.sender;
        if has_another_name(sender, io) {
            return None;
        }
        if sender.id == io.me.id {
            self.on_duplicate_name(from, frame, io);
            return None;
        }
        let address = SocketAddr::new(from.ip(), sender.port);
        if !io.is_active() || self.notify_reported_dead(sender, address, io) {
            return None;
        }
        if let Some(proof) = self.on_proof(address, frame, io) {
            return proof;
        }
        let is_unproven_link = channel == Channel::Link && self.is_unproven(sender, io);
        if self.must_prove(frame, io) || is_unproven_link {
            self.keep_waiting((address, channel), frame, io);
            return None;
        }
        Some(address)
    }

    /// Judges a frame of a process that has proven itself or need not.
    pub(crate) fn judge(
        &mut self,
        (address, channel): (SocketAddr, Channel),
        frame: &Frame<'_>,
        io: &mut Io<'_>,
    ) -> Verdict {
        let sender = &frame.sender;
        // A recorded call of a council must not tell where its centre is.
        if let Body::CentreMessage { at_ns, .. } = frame.body
            && !self.is_proven(sender.id)
            && !is_fresh(sender, at_ns, io)
        {
            return Verdict::Refused;
        }
        let is_new = self.replay_window.note(sender, frame.number) == Freshness::New;
        if let (Body::Lifeline, true) = (frame.body, is_new) {
            // A lifeline is a connection, and its address may differ from that of the datagrams. It
            // therefore says nothing about where the sender receives.
            io.emit.counters.heard += 1;
            return Verdict::Lifeline;
        }
        if !is_new {
            return self.judge_copy(address, frame, io);
        }
        // The place is the address at which the process answered a challenge, if others may have
        // repeated its frame.
        let place = self.place_of(sender, address, io);
        // Multicasts also reach the former process itself; only tell it about unicasts.
        let may_tell = channel != Channel::Multicast && may_answer_past(frame, io);
        io.emit.counters.heard += 1;
        if let Some(former) = where_another_process_was(sender, place, io)
            && may_tell
        {
            notify_former_address(sender, place, former, io);
        }
        let answers_at = match frame.body {
            Body::Ping { .. } | Body::WhoIs { .. } => address,
            _ => place,
        };
        Verdict::New { place, answers_at }
    }

    /// Judges a frame that was received before. A copy by the other channel shows that this channel
    /// works. A copy from another address shows nothing: any host can repeat a frame.
    fn judge_copy(&mut self, address: SocketAddr, frame: &Frame<'_>, io: &mut Io<'_>) -> Verdict {
        let sender = &frame.sender;
        if frame.body == Body::Lifeline {
            return Verdict::Refused;
        }
        let known = io.peers.get(sender.id);
        let is_copy =
            known.is_some_and(|it| it.address == address && it.incarnation == sender.incarnation);
        if is_copy && frame.to_all {
            io.emit.counters.copies += 1;
        } else {
            io.emit.counters.reject(Rejected::Replayed);
            if may_answer_past(frame, io) {
                self.answer_past(sender, address, io);
            }
        }
        if is_copy { Verdict::Copy { place: address } } else { Verdict::Refused }
    }

    /// Judges a broadcast that other members relayed. The seal proves that each relay is a member
    /// of the group, but a member can relay anything under another member's name.
    pub(crate) fn judge_rumour(
        &mut self,
        place: SocketAddr,
        frame: &Frame<'_>,
        io: &mut Io<'_>,
    ) -> Verdict {
        let sender = &frame.sender;
        if sender.id == io.me.id
            || !io.is_active()
            || self.notify_reported_dead(sender, place, io)
            || has_another_name(sender, io)
        {
            return Verdict::Refused;
        }
        if self.must_prove(frame, io) {
            self.keep_waiting((place, Channel::Unicast), frame, io);
            return Verdict::Refused;
        }
        match self.replay_window.note(sender, frame.number) {
            // Gossip counts once, at any age.
            Freshness::New | Freshness::TooOld => {
                io.emit.counters.heard += 1;
                Verdict::New { place, answers_at: place }
            }
            Freshness::Heard => {
                io.emit.counters.copies += 1;
                Verdict::Copy { place }
            }
            Freshness::StaleIncarnation => Verdict::Refused,
        }
    }

    /// Treats a process as proven, as if it had answered a challenge at `place`.
    #[cfg(any(test, feature = "test-util"))]
    pub(crate) fn trust(&mut self, at: Instant, sender: &Sender<'_>, place: SocketAddr) {
        self.replay_window.prove(at, sender, 0, place);
    }

    /// Returns the address of a process whose frame came from `address`. If the process has not
    /// answered a challenge there, it is challenged, and the place where it answered before counts.
    fn place_of(
        &mut self,
        sender: &Sender<'_>,
        address: SocketAddr,
        io: &mut Io<'_>,
    ) -> SocketAddr {
        let is_there = self.replay_window.is_proven_at(sender, address);
        if is_there && self.replay_window.is_renewal_due(sender.id, io.now) {
            self.challenge_place(sender, address, io);
        }
        let proven = self.replay_window.place_of(sender.id);
        match proven.filter(|_| io.is_strict() && !is_there) {
            None => address,
            Some(proven) => {
                self.challenge_place(sender, address, io);
                io.process_of(sender).map_or(proven, |it| it.address)
            }
        }
    }

    /// Tells a sender that its incarnation was reported dead; it refutes the report if it is alive.
    /// Returns true if it was reported dead.
    fn notify_reported_dead(
        &mut self,
        sender: &Sender<'_>,
        address: SocketAddr,
        io: &mut Io<'_>,
    ) -> bool {
        let (of, incarnation) = (sender.id, sender.incarnation);
        let is_dead = io.partial_view().is_some_and(|it| it.has_buried(of, incarnation));
        if is_dead && self.is_time_to_answer_past(io.now) {
            let dead = Body::Dead { of, incarnation: incarnation.0 };
            io.send_to(of, Route::To(address), &dead);
        }
        is_dead
    }

    /// Notifies a sender that its incarnation is over, at most once per [`ANSWER_PAST_EVERY`]. The
    /// frame may be a replay, or the sender's calendar was set back before a restart, or two
    /// processes share a name. A frame of the later incarnation's own process was only late, and
    /// gets no notice.
    fn answer_past(&mut self, sender: &Sender<'_>, address: SocketAddr, io: &mut Io<'_>) {
        let Some(later) = self.replay_window.stale_incarnation(sender.id, sender.incarnation)
        else {
            return;
        };
        let known = io.peers.get(sender.id);
        let (process, heard_at) =
            known.map_or((later, address), |it| (it.process_incarnation, it.address));
        if process != sender.process_incarnation && self.is_time_to_answer_past(io.now) {
            let stale_incarnation = Body::StaleIncarnation {
                of: sender.id,
                incarnation: later.0,
                process_incarnation: process.0,
                elsewhere: Some(heard_at).filter(|it| *it != address),
            };
            io.send_to(sender.id, Route::To(address), &stale_incarnation);
        }
    }

    /// True if the next notice about an old incarnation may be sent. The limit bounds the answers
    /// that replayed frames can cause.
    fn is_time_to_answer_past(&mut self, now: Instant) -> bool {
        let is_time = self.answered_past.is_none_or(|at| now - at >= ANSWER_PAST_EVERY);
        if is_time {
            self.answered_past = Some(now);
        }
        is_time
    }

    fn heard(&mut self, heard: &Admitted<'_>, io: &mut Io<'_>) {
        let (sender, address) = (&heard.frame.sender, heard.address);
        match heard.frame.body {
            Body::Ping { challenge } => io.answer(sender.id, address, (challenge, None)),
            Body::WhoIs { whom, challenge } if whom == io.me.id => {
                io.answer(sender.id, address, (challenge, None));
            }
            Body::Pong { challenge, asks, .. } => {
                self.on_pong(sender, address, (challenge, asks), io);
            }
            Body::StaleIncarnation { of, incarnation, process_incarnation, elsewhere }
                if of == io.me.id =>
            {
                let later = (Incarnation(incarnation), Incarnation(process_incarnation));
                self.on_stale_incarnation((sender.id, address), later, elsewhere, io);
            }
            Body::Unknown { version, kind } => {
                self.skip_unknown_body(sender, (version, kind), io);
            }
            _ => {}
        }
    }

    /// Counts a body that this program does not know. Logs it once per sender, for as many senders
    /// as are remembered.
    fn skip_unknown_body(
        &mut self,
        sender: &Sender<'_>,
        (version, kind): (u8, u32),
        io: &mut Io<'_>,
    ) {
        io.emit.counters.unknown_body += 1;
        if self.unknown_bodies_of.insert(sender.id) {
            let (group, name) = (&io.config.name, sender.name);
            tracing::warn!(
                "group `{group}`: `{name}` sends frames of kind {kind}, version {version}, which this program does not know, and skips: run one version of hustings on every member"
            );
        }
    }
}

impl Component for Admission {
    fn on(&mut self, event: &Event<'_>, io: &mut Io<'_>) {
        match event {
            Event::Timeout => self.pass_challenges(io),
            Event::Heard(heard) => self.heard(heard, io),
            Event::Elected(nominee) if !self.withholds(*nominee, io) => {
                io.raise(Event::Nominated(*nominee));
            }
            Event::NomineeChanged { before: Some(before), .. } => self.replay_window.miss(*before),
            Event::Proven { id, incarnation, process, place } => {
                let sender = Sender::new("", *id, *incarnation, place.port());
                let sender = sender.with_process_incarnation(*process);
                self.replay_window.prove(io.now, &sender, 0, *place);
            }
            Event::ReportExpired { of, incarnation, since } => {
                // Frames of a process that is not proven may be recordings.
                let was_heard = io.peers.get(*of).is_some_and(|it| it.heard >= *since);
                if !(was_heard && self.is_proven(*of)) {
                    io.raise(Event::MarkDead { id: *of, incarnation: *incarnation });
                }
            }
            Event::Seek(whom) => self.seek(*whom, io),
            Event::Claim { process, place } => self.claim(*process, *place, io),
            Event::Correct { teller, place, later } if io.incarnation > *later => {
                io.send_to(*teller, Route::To(*place), &Body::Up);
            }
            _ => {}
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.challenges.due()
    }
}

/// True if a member with another name has the same identity. The two cannot be told apart, so
/// frames under the second name do not count.
fn has_another_name(sender: &Sender<'_>, io: &mut Io<'_>) -> bool {
    let context = io.context;
    let known = match sender.id == context.me.id {
        true => Some(&context.member),
        false => context.peers.get(sender.id).map(|it| &it.name),
    };
    let Some(known) = known.filter(|known| *known != sender.name) else {
        return false;
    };
    io.emit.counters.reject(Rejected::Malformed);
    if io.emit.counters.malformed.is_power_of_two() {
        let (group, name) = (&context.config.name, sender.name);
        tracing::error!(
            "group `{group}`: the names `{known}` and `{name}` have the same identity: frames of `{name}` are ignored; give one of the two another name"
        );
    }
    true
}

/// True if a sender in an old incarnation may be notified. Every member receives a broadcast: if
/// all answered, one replayed frame would draw answers from a whole fleet. Only the few seated
/// hosts answer.
fn may_answer_past(frame: &Frame<'_>, context: &Context) -> bool {
    let is_to_a_fleet = match frame.body {
        Body::CentreMessage { .. } => true,
        _ => frame.to_all && context.config.protocol.is_none(),
    };
    !is_to_a_fleet || context.is_seated
}

/// Returns the last known address of the sender's member, if a different process speaks for it at
/// `address` now.
fn where_another_process_was(
    sender: &Sender<'_>,
    address: SocketAddr,
    context: &Context,
) -> Option<SocketAddr> {
    let is_another = context.process_of(sender).is_none();
    let former = context.address_of(sender.id).filter(|_| is_another);
    former.filter(|it| *it != address)
}

/// Notifies the former address of a member that came up again elsewhere. Usually its former process
/// is gone. But if two processes share the name and do not hear each other, the first one learns
/// about it only from this notice. Until then other members would look for a voter in vain.
fn notify_former_address(
    sender: &Sender<'_>,
    address: SocketAddr,
    former: SocketAddr,
    io: &mut Io<'_>,
) {
    let stale_incarnation = Body::StaleIncarnation {
        of: sender.id,
        incarnation: sender.incarnation.0,
        process_incarnation: sender.process_incarnation.0,
        elsewhere: Some(address),
    };
    io.send_to(sender.id, Route::To(former), &stale_incarnation);
}

#[cfg(test)]
impl Admission {
    /// Returns the number of reports of a later incarnation of this member.
    pub(crate) fn outlived(&self) -> u64 {
        self.stale_incarnation.times
    }

    /// Has a member prove itself again.
    pub(crate) fn miss(&mut self, id: MemberId) {
        self.replay_window.miss(id);
    }
}
