//! Inbound frames: received from their sender, or relayed as gossip.
//!
//! Purpose     decides whether a frame counts, then dispatches it by its body
//! Inputs      frames that open with the group's key, with the sender's address and the channel
//! Outputs     calls of the handlers (`on_*`); notices to senders whose incarnation is over
//! Owns        nothing of its own; writes the replay window, the counters and the trigger of
//!             [`Group`]
//! Invariants  identity, proof and replay are checked here, before any handler sees the frame. A
//!             frame counts once

use std::net::{IpAddr, SocketAddr};

use hustings_protocol::tenure::Fence;
use hustings_protocol::{Duration, Instant, MemberId};

use super::cause::Trigger;
use super::{Group, Outbox, Participation, Route};
use crate::frame::{Body, Frame, Sender};
use crate::identity::Incarnation;
use crate::peer_table::Channel;
use crate::replay_window::Freshness;
use crate::seal::Rejected;

/// The shortest time between two notices that an incarnation is over.
const ANSWER_PAST_EVERY: Duration = Duration::from_millis(20);

impl Group {
    /// Handles a frame that opens with this group's key. Returns true if the frame was accepted.
    pub fn hear(
        &mut self,
        now: Instant,
        from: SocketAddr,
        channel: Channel,
        frame: &Frame<'_>,
        out: &mut Outbox,
    ) -> bool {
        self.note_time(now);
        let sender = &frame.sender;
        if self.has_another_name(sender) {
            return false;
        }
        if sender.id == self.me.id {
            self.hear_namesake(now, from, frame, out);
            return false;
        }
        if !matches!(self.participation, Participation::Active) {
            return false;
        }
        let address = SocketAddr::new(from.ip(), sender.port);
        if self.hear_the_dead(now, sender, address, out) {
            return false;
        }
        if self.hear_proof(now, address, channel, frame, out) {
            return false;
        }
        let is_unproven_link = channel == Channel::Link && self.is_unproven(now, sender);
        if self.must_prove(now, frame) || is_unproven_link {
            self.keep_waiting(now, address, channel, frame, out);
            return false;
        }
        self.hear_known(now, address, channel, frame, out)
    }

    /// Handles a frame of a process that has proven itself or need not. Returns true if the frame
    /// was accepted.
    pub(super) fn hear_known(
        &mut self,
        now: Instant,
        address: SocketAddr,
        channel: Channel,
        frame: &Frame<'_>,
        out: &mut Outbox,
    ) -> bool {
        let sender = &frame.sender;
        // A recorded call of a council must not tell where its centre is.
        if let Body::CentreMessage { at_ns, .. } = frame.body
            && !self.is_proven(sender.id)
            && !self.is_fresh(sender, at_ns)
        {
            return false;
        }
        let is_new = self.replay_window.note(sender, frame.number) == Freshness::New;
        if let Body::Lifeline = frame.body {
            // A lifeline is a connection, and its address may differ from that of the datagrams. It
            // therefore says nothing about where the sender receives.
            self.counters.heard += u64::from(is_new);
            return is_new;
        }
        // A copy by the other channel shows that this channel works. A copy from another address
        // shows nothing: any host can repeat a frame.
        let is_copy = !is_new && self.is_at(sender, address);
        // The place is the address at which the process answered a challenge, if others may have
        // repeated its frame.
        let place = match is_new {
            true => self.place_of(now, sender, address, out),
            false => address,
        };
        // Multicasts also reach the former process itself; only tell it about unicasts.
        let may_tell =
            channel != Channel::Multicast && self.may_answer_past(&frame.body, frame.to_all);
        let former = match is_new && may_tell {
            true => self.where_another_process_was(sender, place),
            false => None,
        };
        if is_new || is_copy {
            self.note_channel(now, place, channel, frame, is_new, out);
        }
        if is_copy && frame.to_all {
            self.counters.copies += 1;
            return false;
        }
        if !is_new {
            self.counters.reject(Rejected::Replayed);
            if self.may_answer_past(&frame.body, frame.to_all) {
                self.answer_past(now, sender, address, out);
            }
            return false;
        }
        self.counters.heard += 1;
        self.trigger = Trigger::Heard(sender.id);
        if let Some(former) = former {
            self.tell_the_former(sender, place, former, out);
        }
        let answers_at = match frame.body {
            Body::Ping { .. } | Body::WhoIs { .. } => address,
            _ => place,
        };
        self.take_in(now, answers_at, channel, frame, out);
        self.act(now, out);
        true
    }

    /// Returns the address of a process whose frame came from `address`. If the process has not
    /// answered a challenge there, it is challenged, and the place where it answered before counts.
    fn place_of(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        address: SocketAddr,
        out: &mut Outbox,
    ) -> SocketAddr {
        let is_there = self.replay_window.is_proven_at(sender, address);
        if is_there && self.replay_window.is_renewal_due(sender.id, now) {
            self.challenge_place(now, sender, address, out);
        }
        let proven = self.replay_window.place_of(sender.id);
        match proven.filter(|_| self.is_strict() && !is_there) {
            None => address,
            Some(proven) => {
                self.challenge_place(now, sender, address, out);
                let known = self.peer_table.get(sender.id);
                let known =
                    known.filter(|it| it.process_incarnation == sender.process_incarnation());
                known.map_or(proven, |it| it.address)
            }
        }
    }

    /// True if a member with another name has the same identity. The two cannot be told apart, so
    /// frames under the second name do not count.
    fn has_another_name(&mut self, sender: &Sender<'_>) -> bool {
        let known = match sender.id == self.me.id {
            true => Some(&self.member),
            false => self.peer_table.get(sender.id).map(|it| &it.name),
        };
        let Some(known) = known.filter(|known| *known != sender.name) else {
            return false;
        };
        self.counters.reject(Rejected::Malformed);
        if self.counters.malformed.is_power_of_two() {
            tracing::error!(
                "group `{}`: the names `{known}` and `{}` have the same identity: what `{}` says does not count; give one of the two another name",
                self.config.name,
                sender.name,
                sender.name
            );
        }
        true
    }

    /// Dispatches a new frame to its handler.
    fn take_in(
        &mut self,
        now: Instant,
        address: SocketAddr,
        channel: Channel,
        frame: &Frame<'_>,
        out: &mut Outbox,
    ) {
        let sender = &frame.sender;
        match frame.body {
            Body::Election { .. } if self.config.protocol.is_none() => {} // no election here
            Body::Election { protocol, .. } if protocol != self.config.protocol.tag() => {
                self.hear_other_protocol(sender, address);
            }
            Body::Election { .. } if !self.may_elect() => {} // it asks once it may
            Body::Election { message, .. } => self.on_election(now, sender.id, message, out),
            Body::Tenure { to, authority, message } => {
                if !self.shares_authority(sender, authority) {
                    self.hear_another_list((sender, address), message, out);
                }
                // Otherwise the message is for a member that the sender is looking for. A message
                // that a member addresses to itself is for every voter.
                if to == self.me.id || to == sender.id {
                    self.on_tenure(now, sender, authority, message, out);
                }
            }
            Body::Granted { longest_ns, question } => {
                self.on_granted(sender.id, question, Duration(longest_ns));
            }
            Body::Released { authority } => {
                if self.shares_authority(sender, authority) {
                    self.on_released(now, out);
                }
            }
            Body::Transfer { to, within_ns, fence, authority } => {
                if self.shares_authority(sender, authority) {
                    let within = Duration(within_ns);
                    self.on_transfer(now, (to, within), Fence(fence), out);
                }
            }
            Body::Holds { fence, lasts_ns, authority } => {
                if self.shares_authority(sender, authority) {
                    let store = &self.tenure.authority;
                    store.hear_fence(sender.id, authority, Fence(fence), lasts_ns > 0);
                    if self.refuses_far_fence(sender.id, Fence(fence)) {
                        return;
                    }
                    self.on_holds(now, sender.id, fence, Duration(lasts_ns));
                    self.yield_to_fence(now, sender.id, Fence(fence), out);
                    self.note_transferee(now, sender.id, Fence(fence), out);
                    self.on_transfer_taken(now, sender.id, Fence(fence), out);
                } else {
                    self.tell_of_another_list(sender.name, Some(fence), lasts_ns > 0);
                    if lasts_ns > 0 {
                        self.note_other_holder(now, sender);
                    }
                }
            }
            Body::Membership(bytes) => self.hear_membership(now, sender, address, bytes, out),
            Body::Hello { alone } => {
                self.on_hello(now, (sender, address, channel), alone, out);
                self.tell_newcomer(sender.id, address, out);
            }
            Body::CountFollowers { within_ns } => {
                self.on_count_followers(now, sender.id, frame.number, Duration(within_ns));
            }
            Body::Yield => self.on_give_way(now, sender.id),
            Body::Follows { priority, call } => self.on_follow(sender.id, priority, call),
            Body::Obituary { of } => self.doubted = Some(of), // the event loop checks
            Body::Ping { challenge } => self.answer(sender.id, address, (challenge, None), out),
            Body::WhoIs { whom, challenge } => {
                if whom == self.me.id {
                    self.answer(sender.id, address, (challenge, None), out);
                }
            }
            Body::Pong { challenge, asks, .. } => {
                self.on_pong(now, sender, address, (challenge, asks), out);
            }
            Body::Up => self.tell_newcomer(sender.id, address, out),
            Body::StaleIncarnation { of, incarnation, process_incarnation, elsewhere } => {
                if of == self.me.id {
                    let later = (Incarnation(incarnation), Incarnation(process_incarnation));
                    self.on_stale_incarnation(now, (sender.id, address), later, elsewhere, out);
                }
            }
            Body::DuplicateName { .. } => {} // not this member's name
            Body::Dead { of, incarnation } => {
                self.on_dead(now, sender, of, Incarnation(incarnation), out);
            }
            Body::Alive { priority } => self.on_alive(now, sender, address, priority),
            Body::IndirectProbe { of } => {
                self.on_indirect_probe(now, (sender.id, address), of, out);
            }
            Body::IndirectAck { of } => self.on_indirect_ack(now, of),
            Body::CentreMessage { at_ns, terms, message } => {
                self.on_centre(now, sender, (at_ns, terms, message), out);
            }
            Body::HostMessage { message } => self.on_host(now, sender, message, out),
            Body::Lifeline => {} // `hear_known` handled it
            Body::Unknown { version, kind } => self.skip_unknown_body(sender, version, kind),
        }
    }

    /// Notifies a sender that its incarnation is over, at most once per [`ANSWER_PAST_EVERY`]. The
    /// frame may be a replay, or the sender's calendar was set back before a restart, or two
    /// processes share a name. A frame of the later incarnation's own process was only late, and
    /// gets no notice.
    fn answer_past(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        address: SocketAddr,
        out: &mut Outbox,
    ) {
        let Some(later) = self.replay_window.stale_incarnation(sender.id, sender.incarnation())
        else {
            return;
        };
        let known = self.peer_table.get(sender.id);
        let (process_incarnation, heard_at) =
            known.map_or((later, address), |it| (it.process_incarnation, it.address));
        if process_incarnation != sender.process_incarnation() && self.is_time_to_answer_past(now) {
            let stale_incarnation = Body::StaleIncarnation {
                of: sender.id,
                incarnation: later.0,
                process_incarnation: process_incarnation.0,
                elsewhere: Some(heard_at).filter(|it| *it != address),
            };
            self.send_to(sender.id, Route::To(address), &stale_incarnation, out);
        }
    }

    /// Returns the last known address of the sender's member, if a different process speaks for it
    /// at `address` now.
    fn where_another_process_was(
        &self,
        sender: &Sender<'_>,
        address: SocketAddr,
    ) -> Option<SocketAddr> {
        let known = self.peer_table.get(sender.id);
        let is_another =
            known.is_none_or(|it| it.process_incarnation != sender.process_incarnation());
        let former = self.address_of(sender.id).filter(|_| is_another);
        former.filter(|it| *it != address)
    }

    /// Notifies the former address of a member that came up again elsewhere. Usually its former
    /// process is gone. But if two processes share the name and do not hear each other, the first
    /// one learns about it only from this notice. Until then other members would look for a voter
    /// in vain.
    fn tell_the_former(
        &mut self,
        sender: &Sender<'_>,
        address: SocketAddr,
        former: SocketAddr,
        out: &mut Outbox,
    ) {
        let stale_incarnation = Body::StaleIncarnation {
            of: sender.id,
            incarnation: sender.incarnation().0,
            process_incarnation: sender.process_incarnation().0,
            elsewhere: Some(address),
        };
        self.send_to(sender.id, Route::To(former), &stale_incarnation, out);
    }

    /// True if the next notice about an old incarnation may be sent. The limit bounds the answers
    /// that replayed frames can cause.
    pub(super) fn is_time_to_answer_past(&mut self, now: Instant) -> bool {
        let is_time = |at: Instant| now - at >= ANSWER_PAST_EVERY;
        let is_time = self.answered_past.is_none_or(is_time);
        if is_time {
            self.answered_past = Some(now);
        }
        is_time
    }

    /// Counts a body that this program does not know. Logs it once per sender, for as many senders as are remembered.
    fn skip_unknown_body(&mut self, sender: &Sender<'_>, version: u8, kind: u32) {
        self.counters.unknown_body += 1;
        if self.unknown_bodies_of.insert(sender.id) {
            tracing::warn!(
                "group `{}`: `{}` sends frames of kind {kind}, version {version}, which this program does not know: they are skipped; run one version of hustings on every member",
                self.config.name,
                sender.name
            );
        }
    }

    /// Warns that a member runs another protocol: the two cannot elect a leader together.
    fn hear_other_protocol(&mut self, sender: &Sender<'_>, address: SocketAddr) {
        self.counters.other_protocol += 1;
        if self.counters.other_protocol.is_power_of_two() {
            tracing::warn!(
                "group `{}`: `{}` at {address} runs another protocol than {}: neither understands the other; give all members the same",
                self.config.name,
                sender.name,
                self.config.protocol.name()
            );
        }
    }

    /// True if the sender is known at `address` in this incarnation.
    fn is_at(&self, sender: &Sender<'_>, address: SocketAddr) -> bool {
        let known = self.peer_table.get(sender.id);
        known
            .is_some_and(|peer| peer.address == address && peer.incarnation == sender.incarnation())
    }

    /// Handles a broadcast that other members relayed. The seal proves that each relay is a member
    /// of the group, but a member can relay anything under another member's name.
    pub(super) fn hear_rumour(
        &mut self,
        now: Instant,
        origin: MemberId,
        host: IpAddr,
        content: &[u8],
        out: &mut Outbox,
    ) {
        let frame = match Frame::decode(content) {
            Ok(frame) if frame.group == self.id && frame.sender.id == origin => frame,
            Ok(_) | Err(_) => {
                self.counters.reject(Rejected::Malformed);
                return;
            }
        };
        let sender = &frame.sender;
        let address = SocketAddr::new(host, sender.port);
        let is_own = sender.id == self.me.id;
        if is_own || !matches!(self.participation, Participation::Active) {
            return;
        }
        if self.hear_the_dead(now, sender, address, out) {
            return;
        }
        if self.has_another_name(sender) {
            return;
        }
        if self.must_prove(now, &frame) {
            self.keep_waiting(now, address, Channel::Unicast, &frame, out);
            return;
        }
        match self.replay_window.note(sender, frame.number) {
            // Gossip counts once, at any age.
            Freshness::New | Freshness::TooOld => {}
            Freshness::Heard => {
                self.note_channel(now, address, Channel::Unicast, &frame, false, out);
                self.counters.copies += 1;
                return;
            }
            Freshness::StaleIncarnation => return,
        }
        self.note_channel(now, address, Channel::Unicast, &frame, true, out);
        self.counters.heard += 1;
        self.trigger = Trigger::Heard(sender.id);
        self.take_in(now, address, Channel::Unicast, &frame, out);
    }
}
