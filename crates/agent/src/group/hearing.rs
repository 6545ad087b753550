//! What a member hears: from others themselves, and what others pass on.

use std::net::{IpAddr, SocketAddr};

use hustings_protocol::tenure::Fence;
use hustings_protocol::{Duration, Instant, MemberId};

use super::cause::Trigger;
use super::{Group, Outbox, Route, Standing};
use crate::frame::{Body, Frame, Sender};
use crate::identity::Life;
use crate::peers::Way;
use crate::replay::Novelty;
use crate::seal::Rejected;

/// How often whoever speaks in a life that is over is told so.
const ANSWER_PAST_EVERY: Duration = Duration::from_millis(20);

impl Group {
    /// A frame arrived that opens with this group's key.
    pub(crate) fn hear(
        &mut self,
        now: Instant,
        from: SocketAddr,
        way: Way,
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
        if !matches!(self.standing, Standing::Partaking) {
            return false;
        }
        let address = SocketAddr::new(from.ip(), sender.port);
        if self.hear_the_dead(now, sender, address, out) {
            return false;
        }
        if self.hear_proof(now, address, way, frame, out) {
            return false;
        }
        match self.must_prove(now, frame) {
            true => {
                self.keep_waiting(now, address, way, frame, out);
                false
            }
            false => self.hear_known(now, address, way, frame, out),
        }
    }

    /// A frame arrived of a process that need not prove itself, or has done so. Returns whether it was let in.
    pub(super) fn hear_known(
        &mut self,
        now: Instant,
        address: SocketAddr,
        way: Way,
        frame: &Frame<'_>,
        out: &mut Outbox,
    ) -> bool {
        let sender = &frame.sender;
        let is_new = self.replays.note(sender, frame.number) == Novelty::New;
        if let Body::Lifeline = frame.body {
            // It comes by a connection, whose address may be another than that of datagrams: nothing is learnt from it.
            self.counters.heard += u64::from(is_new);
            return is_new;
        }
        // A copy that came by the other way tells of that way. One from elsewhere tells nothing: anybody
        // can repeat what a member said.
        let is_copy = !is_new && self.is_at(sender, address);
        // Where the process is: where it has answered a challenge, if others may have repeated what it says.
        let place = match is_new {
            true => self.place_of(now, sender, address, out),
            false => address,
        };
        // What all hear that one hears too, and need not be told by all.
        let may_tell = way != Way::Multicast && self.may_answer_past(&frame.body, frame.to_all);
        let former = match is_new && may_tell {
            true => self.where_another_process_was(sender, place),
            false => None,
        };
        if is_new || is_copy {
            self.note_way(now, place, way, frame, is_new, out);
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
            Body::Knock { .. } | Body::Seek { .. } => address,
            _ => place,
        };
        self.take_in(now, answers_at, way, frame, out);
        self.act(now, out);
        true
    }

    /// Where a process is that was heard at `address`. If it has not answered a challenge there it is challenged, and is
    /// where it has answered before.
    fn place_of(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        address: SocketAddr,
        out: &mut Outbox,
    ) -> SocketAddr {
        let is_there = self.replays.is_proven_at(sender, address);
        if is_there && self.replays.is_renewal_due(sender.id, now) {
            self.challenge_place(now, sender, address, out);
        }
        let proven = self.replays.place_of(sender.id);
        match proven.filter(|_| self.is_strict() && !is_there) {
            None => address,
            Some(proven) => {
                self.challenge_place(now, sender, address, out);
                let known = self.peers.get(sender.id);
                let known = known.filter(|it| it.born == sender.born());
                known.map_or(proven, |it| it.address)
            }
        }
    }

    /// Whether a member of another name has the same identity: then the two cannot be told apart, and what is said under
    /// the second name does not count.
    fn has_another_name(&mut self, sender: &Sender<'_>) -> bool {
        let known = match sender.id == self.me.id {
            true => Some(&self.member),
            false => self.peers.get(sender.id).map(|it| &it.name),
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

    /// A member said something that was not heard before.
    fn take_in(
        &mut self,
        now: Instant,
        address: SocketAddr,
        way: Way,
        frame: &Frame<'_>,
        out: &mut Outbox,
    ) {
        let sender = &frame.sender;
        match frame.body {
            Body::Election { .. } if self.config.protocol.is_none() => {} // none of its business
            Body::Election { protocol, .. } if protocol != self.config.protocol.tag() => {
                self.hear_other_protocol(sender, address);
            }
            Body::Election { .. } if !self.may_elect() => {} // it asks, once it may
            Body::Election { message, .. } => self.on_election(now, sender.id, message, out),
            Body::Tenure {
                to,
                authority,
                message,
            } => {
                if !self.shares_authority(sender, authority) {
                    self.hear_another_list((sender, address), message, out);
                }
                // Else for another one, who is looked for. What a member asks itself before all it asks every voter.
                if to == self.me.id || to == sender.id {
                    self.on_tenure(now, sender, authority, message, out);
                }
            }
            Body::Granted {
                longest_ns,
                question,
            } => self.on_granted(sender.id, question, Duration(longest_ns)),
            Body::Freed { authority } => {
                if self.shares_authority(sender, authority) {
                    self.on_freed(now, out);
                }
            }
            Body::HandsOver {
                to,
                within_ns,
                fence,
                authority,
            } => {
                if self.shares_authority(sender, authority) {
                    let within = Duration(within_ns);
                    self.on_hands_over(now, (to, within), Fence(fence), out);
                }
            }
            Body::Holds {
                fence,
                lasts_ns,
                authority,
            } => {
                if self.shares_authority(sender, authority) {
                    let store = &self.tenancy.authority;
                    store.hear_fence(sender.id, authority, Fence(fence), lasts_ns > 0);
                    self.on_holds(now, sender.id, fence, Duration(lasts_ns));
                    self.yield_to_fence(now, sender.id, Fence(fence), out);
                    self.note_heir(now, sender.id, Fence(fence), out);
                    self.on_inherited(now, sender.id, Fence(fence), out);
                } else {
                    self.tell_of_another_list(sender.name, Some(fence), lasts_ns > 0);
                    if lasts_ns > 0 {
                        self.note_other_holder(now, sender);
                    }
                }
            }
            Body::Membership(bytes) => self.hear_membership(now, sender, address, bytes, out),
            Body::Hello { alone } => {
                self.on_hello(now, (sender, address, way), alone, out);
                self.tell_newcomer(sender.id, address, out);
            }
            Body::Muster { within_ns } => {
                self.on_muster(now, sender.id, frame.number, Duration(within_ns));
            }
            Body::GiveWay => self.on_give_way(now, sender.id),
            Body::Follow { merit, call } => self.on_follow(sender.id, merit, call),
            Body::Obituary { of } => self.doubted = Some(of), // the loop sees to it
            Body::Knock { challenge } => self.answer(sender.id, address, (challenge, None), out),
            Body::Seek { whom, challenge } => {
                if whom == self.me.id {
                    self.answer(sender.id, address, (challenge, None), out);
                }
            }
            Body::Here {
                challenge, asks, ..
            } => self.on_here(now, sender, address, (challenge, asks), out),
            Body::Up => self.tell_newcomer(sender.id, address, out),
            Body::Outlived {
                of,
                life,
                born,
                elsewhere,
            } => {
                if of == self.me.id {
                    let later = (Life(life), Life(born));
                    self.on_outlived(now, (sender.id, address), later, elsewhere, out);
                }
            }
            Body::Namesake { .. } => {} // not of our name
            Body::Dead { of, life } => self.on_dead(now, sender, of, Life(life), out),
            Body::Alive { merit } => self.on_alive(now, sender, address, merit),
            Body::Doubt { of } => self.on_doubt(now, (sender.id, address), of, out),
            Body::Vouch { of } => self.on_vouch(now, of),
            Body::FromCentre {
                at_ns,
                terms,
                message,
            } => self.on_centre(now, sender, (at_ns, terms, message), out),
            Body::ToCentre { message } => self.on_host(now, sender, message, out),
            Body::Lifeline => {} // `hear` sees to it
        }
    }

    /// Somebody speaks in a life that is over: a replay, a member whose calendar was set back before it came up again, or
    /// one of two that go by one name. It is told, now and then. What its own process said before it began its later life
    /// was only late.
    fn answer_past(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        address: SocketAddr,
        out: &mut Outbox,
    ) {
        let Some(later) = self.replays.outlived(sender.id, sender.life()) else {
            return;
        };
        let known = self.peers.get(sender.id);
        let (born, heard_at) = known.map_or((later, address), |it| (it.born, it.address));
        if born != sender.born() && self.is_time_to_answer_past(now) {
            let outlived = Body::Outlived {
                of: sender.id,
                life: later.0,
                born: born.0,
                elsewhere: Some(heard_at).filter(|it| *it != address),
            };
            self.send_to(sender.id, Route::To(address), &outlived, out);
        }
    }

    /// Where this member was, as far as is known, if it speaks at `address` as another process.
    fn where_another_process_was(
        &self,
        sender: &Sender<'_>,
        address: SocketAddr,
    ) -> Option<SocketAddr> {
        let known = self.peers.get(sender.id);
        let is_another = known.is_none_or(|it| it.born != sender.born());
        let former = self.address_of(sender.id).filter(|_| is_another);
        former.filter(|it| *it != address)
    }

    /// A member came up anew, and elsewhere. As a rule its process before that is gone. But if two go by its name, and
    /// neither hears the other, whoever was here first learns of it only so; and before that a voter is looked for in vain.
    fn tell_the_former(
        &mut self,
        sender: &Sender<'_>,
        address: SocketAddr,
        former: SocketAddr,
        out: &mut Outbox,
    ) {
        let outlived = Body::Outlived {
            of: sender.id,
            life: sender.life().0,
            born: sender.born().0,
            elsewhere: Some(address),
        };
        self.send_to(sender.id, Route::To(former), &outlived, out);
    }

    /// Whether it may tell somebody again that its life is over: what is replayed draws no more answers than that.
    pub(super) fn is_time_to_answer_past(&mut self, now: Instant) -> bool {
        let is_time = |at: Instant| now - at >= ANSWER_PAST_EVERY;
        let is_time = self.answered_past.is_none_or(is_time);
        if is_time {
            self.answered_past = Some(now);
        }
        is_time
    }

    /// Members that run different protocols cannot elect anybody together.
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

    /// Whether a member is known to be at `address` in this life.
    fn is_at(&self, sender: &Sender<'_>, address: SocketAddr) -> bool {
        let known = self.peers.get(sender.id);
        known.is_some_and(|peer| peer.address == address && peer.life == sender.life())
    }

    /// Somebody said something to all, which others have passed on. Each was known to be a member of the group, by its
    /// seal: whoever is in the group can say anything in another's name.
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
        if is_own || !matches!(self.standing, Standing::Partaking) {
            return;
        }
        if self.hear_the_dead(now, sender, address, out) {
            return;
        }
        if self.has_another_name(sender) {
            return;
        }
        if self.must_prove(now, &frame) {
            self.keep_waiting(now, address, Way::Unicast, &frame, out);
            return;
        }
        match self.replays.note(sender, frame.number) {
            // A rumour is heard once, however old it is.
            Novelty::New | Novelty::TooOld => {}
            Novelty::Heard => {
                self.note_way(now, address, Way::Unicast, &frame, false, out);
                self.counters.copies += 1;
                return;
            }
            Novelty::Outlived => return,
        }
        self.note_way(now, address, Way::Unicast, &frame, true, out);
        self.counters.heard += 1;
        self.trigger = Trigger::Heard(sender.id);
        self.take_in(now, address, Way::Unicast, &frame, out);
    }
}
