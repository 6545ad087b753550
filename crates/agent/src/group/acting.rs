//! What a member does: carries out what its protocol and its failure detector want, and tells its user.

use std::net::SocketAddr;

use hustings_protocol::{Candidate, Instant, MemberId, Outcome, ViewChange};

use super::cause::Trigger;
use super::finding::GOLDEN;
use super::{Group, Outbox, Route};
use crate::driver::Effect;
use crate::frame::{Body, Frame, Sender};
use crate::leadership::{Mode, Peer};
use crate::membership::{Membership, MembershipEffect};

impl Group {
    /// Carries out what protocol and failure detector want done.
    pub(super) fn act(&mut self, now: Instant, out: &mut Outbox) {
        loop {
            let seat = self.seat.take_effects();
            if !self.act_on_membership(now, out) && seat.is_empty() {
                break;
            }
            for effect in seat {
                self.carry_out(now, effect, out);
            }
        }
        self.meet_leader(now);
        self.advise(now);
        self.check_listen_interval(now);
        self.give_way(now, out);
        self.look_around(now);
    }

    fn carry_out(&mut self, now: Instant, effect: Effect, out: &mut Outbox) {
        let protocol = self.config.protocol.tag();
        match effect {
            Effect::Unicast { to, message } => {
                let body = Body::Election {
                    protocol,
                    message: &message,
                };
                self.counters.election_sent += 1;
                match self.address_of(to) {
                    Some(address) if self.config.protocol.needs_links() => {
                        self.send_to(to, Route::Link(address), &body, out);
                    }
                    Some(address) => self.send_to(to, Route::To(address), &body, out),
                    None => self.counters.unsent += 1,
                }
            }
            Effect::Multicast { message } => {
                let body = Body::Election {
                    protocol,
                    message: &message,
                };
                self.counters.election_sent += 1;
                self.broadcast(now, &body, out);
                self.note_own_word(&message);
            }
            // What elections save is the number of their life, and the calendar tells that.
            Effect::Save(_) => {}
            Effect::Report(Outcome::Nominee(nominee)) => {
                if !self.withholds(now, Some(nominee)) {
                    self.publish(now, Some(nominee.id), out);
                    self.keep_in_view(nominee);
                }
            }
            Effect::Report(Outcome::Vacant | Outcome::DuplicateIdentity | Outcome::Fault(_)) => {
                self.withholds(now, None);
                self.publish(now, None, out);
            }
            Effect::Report(Outcome::Standing { .. }) => {}
            Effect::Report(
                Outcome::TenureGained { .. }
                | Outcome::TenureLost { .. }
                | Outcome::TenureRefused(_)
                | Outcome::Council(_),
            ) => {} // elections have none
            Effect::Meet(candidate) => self.meet(now, candidate),
        }
    }

    /// The protocol has heard somebody that should be in view. Whom all name is kept there by each for itself, or all
    /// views would be alike.
    pub(super) fn meet(&mut self, now: Instant, candidate: Candidate) {
        let id = candidate.id;
        let Some(Membership::Partial(circle)) = &mut self.membership else {
            return;
        };
        if let Some(peer) = self.peers.get(id).filter(|_| self.nominee != Some(id)) {
            let sender = Sender::new(&peer.name, id, peer.life, peer.address.port());
            circle.meet(now, candidate, &sender, peer.address);
        }
    }

    /// Carries out what was found out about members. Returns whether there was anything.
    fn act_on_membership(&mut self, now: Instant, out: &mut Outbox) -> bool {
        let effects = match &mut self.membership {
            Some(membership) => membership.take_effects(now),
            None => Vec::new(),
        };
        let is_any = !effects.is_empty();
        for effect in effects {
            self.carry_out_membership(now, effect, out);
        }
        is_any
    }

    fn carry_out_membership(&mut self, now: Instant, effect: MembershipEffect, out: &mut Outbox) {
        match effect {
            MembershipEffect::Send {
                receiver,
                to,
                bytes,
            } => {
                self.send_to(receiver, Route::To(to), &Body::Membership(&bytes), out);
            }
            // Who needs no view is not told: the detector errs where the protocol need not.
            MembershipEffect::Up(_) | MembershipEffect::Down(_)
                if !self.config.protocol.needs_view() => {}
            MembershipEffect::Up(candidate) => {
                self.seat.view_changed(now, ViewChange::Joined(candidate));
                if self.circle().is_some() && !self.is_in_view(candidate.id) {
                    self.forget(candidate.id); // all hear that it is back, and all views would be alike
                }
            }
            MembershipEffect::Down(id) => {
                self.mortality.departed();
                self.trigger = Trigger::Down(id);
                self.seat.view_changed(now, ViewChange::Left(id));
            }
            MembershipEffect::Met(candidate) => self.seat.count(ViewChange::Joined(candidate)),
            MembershipEffect::Forgotten(id) => self.forget(id),
            MembershipEffect::WasDead => self.tell_that_it_is_back(now, out),
            MembershipEffect::Heard {
                origin,
                host,
                content,
            } => self.hear_rumour(now, origin, host, &content, out),
        }
    }

    pub(super) fn address_of(&self, id: MemberId) -> Option<SocketAddr> {
        let heard = self.peers.get(id).map(|peer| peer.address);
        heard.or_else(|| self.membership.as_ref()?.address_of(id))
    }

    /// Whether it is one of `few`, on average, of all members that it knows of, itself included. Each `occasion` draws
    /// others.
    pub(super) fn is_drawn(&self, few: u64, occasion: u64) -> bool {
        let members = self.membership.iter().flat_map(Membership::addresses);
        let lot = (self.me.id.0 ^ occasion).wrapping_mul(GOLDEN) >> 32;
        lot % (members.count() as u64 + 1) < few
    }

    /// Sends to everyone who can be reached.
    pub(super) fn broadcast(&mut self, now: Instant, body: &Body<'_>, out: &mut Outbox) {
        self.note_time(now);
        if self.circle().is_some_and(|it| !it.is_alone()) {
            self.broadcast_to_many(now, body, out);
            return;
        }
        let members = self.membership.iter().flat_map(Membership::addresses);
        // Who has just come up may be known to nobody yet, but wants an answer.
        let newcomers = self.peers.reached_by_unicast(now);
        let is_rare = !self.is_nominee()
            && !self.config.protocol.is_for_many()
            && !matches!(body, Body::FromCentre { .. });
        let routes = self.reach.routes(members.chain(newcomers), is_rare);
        self.frame(body, true);
        self.dispatch(None, &routes, out);
    }

    /// Sends to everyone where nobody knows all: by multicast, and from each to a few others where some may be missed by
    /// it.
    fn broadcast_to_many(&mut self, now: Instant, body: &Body<'_>, out: &mut Outbox) {
        self.frame(body, true);
        if self.reach.may_miss_some() {
            let content = self.content.clone();
            if let Some(circle) = self.circle_mut() {
                circle.say_to_all(now, content);
            }
        }
        if let Some(multicast) = self.reach.multicast() {
            self.dispatch(None, &[Route::Multicast(multicast)], out);
        }
        self.act_on_membership(now, out);
    }

    /// Sends what was framed last by all of these: the same frame, so that whoever gets it twice takes it once.
    fn dispatch(&mut self, receiver: Option<MemberId>, routes: &[Route], out: &mut Outbox) {
        if let Some((first, others)) = routes.split_first()
            && let Some(frame) = self.seal(receiver)
        {
            self.counters.sent += routes.len() as u64;
            out.extend(others.iter().map(|route| (self.id, *route, frame.clone())));
            out.push((self.id, *first, frame));
        }
    }

    /// Sends to the member that is there, whichever it is.
    pub(crate) fn send(&mut self, route: Route, body: &Body<'_>, out: &mut Outbox) {
        self.frame(body, false);
        self.dispatch(None, &[route], out);
    }

    /// Sends to the member `receiver` alone: no other member takes the frame for its own, whoever passes it on.
    pub(crate) fn send_to(
        &mut self,
        receiver: MemberId,
        route: Route,
        body: &Body<'_>,
        out: &mut Outbox,
    ) {
        self.frame(body, false);
        self.dispatch(Some(receiver), &[route], out);
    }

    /// A sealed frame for the beginning of a lifeline to `leader`.
    pub(crate) fn lifeline_hello(&mut self, leader: MemberId) -> Option<Vec<u8>> {
        self.frame(&Body::Lifeline, false);
        self.seal(Some(leader))
    }

    /// Writes a frame, under the next number.
    pub(super) fn frame(&mut self, body: &Body<'_>, to_all: bool) {
        let frame = Frame {
            group: self.id,
            sender: Sender::new(&self.member, self.me.id, self.life, self.port).born_in(self.born),
            number: self.number,
            to_all,
            body: *body,
        };
        frame.encode(&mut self.content);
        self.number += 1;
    }

    /// Seals the frame that was written last, for `receiver` alone or for every member that gets it. The nonce is drawn
    /// anew for each frame.
    pub(super) fn seal(&mut self, receiver: Option<MemberId>) -> Option<Vec<u8>> {
        let Some(nonce) = self.entropy.draw() else {
            self.counters.unsent += 1;
            tracing::error!("cannot seal a frame: the operating system has no randomness to give");
            return None;
        };
        let mut sealed = Vec::new();
        self.keyring
            .seal(&nonce, receiver, &self.content, &mut sealed);
        Some(sealed)
    }

    /// The election names somebody, or nobody.
    pub(super) fn publish(&mut self, now: Instant, nominee: Option<MemberId>, out: &mut Outbox) {
        if nominee == self.nominee {
            return;
        }
        let (was_named, before) = (self.is_nominee(), self.nominee);
        self.nominee = nominee;
        if let Some(before) = before {
            self.replays.miss(before);
        }
        self.nominee_at = nominee.and_then(|id| self.describe(id).address);
        self.look_after_contact(now);
        if let Some(nominee) = nominee {
            self.doubt_holder(nominee);
        }
        self.end_contest();
        self.tell(now);
        if self.is_nominee() != was_named {
            self.nominate(now, self.is_nominee(), out);
        }
        self.look_out_anew(now, before, out);
    }

    /// Tells the user who leads, if that is news.
    pub(super) fn tell(&mut self, now: Instant) {
        let me = self.me.id;
        let own = self.tenancy.fence().map(|fence| (me, fence));
        let holder = own.or_else(|| self.tenancy.holder());
        let leader = holder.map(|(id, _)| id).or(self.nominee);
        let fence = holder.map(|(_, fence)| fence.0);
        let leads = match self.tenancy.mode() {
            Mode::Advisory => leader == Some(me),
            Mode::Fenced => own.is_some(),
        };
        {
            let known = self.leadership.borrow();
            let known_leader = known.leader.as_ref().map(|it| it.id);
            if (known_leader, known.leads, known.fence) == (leader, leads, fence) {
                return;
            }
        }
        let cause = self.cause(now, leader, fence);
        let leader = leader.map(|id| match id == me {
            true => Peer {
                name: self.member.clone(),
                id,
                address: None,
            },
            false => self.describe(id),
        });
        self.leadership.send_modify(|known| {
            known.leads = leads;
            known.leader = leader;
            known.fence = fence;
            known.since = now;
            known.changes += 1;
            known.cause = cause;
        });
    }

    /// Who was told of a leader that it had never heard of knows at last who and where that is. It is no other leader
    /// than before.
    fn meet_leader(&mut self, now: Instant) {
        let unmet = self.nominee.filter(|_| self.nominee_at.is_none());
        let Some(leader) = unmet.filter(|id| *id != self.me.id) else {
            return;
        };
        let peer = self.describe(leader);
        if peer.address.is_none() {
            return;
        }
        self.nominee_at = peer.address;
        self.leadership.send_if_modified(|known| {
            let unmet = known.leader.as_mut().filter(|it| it.id == leader);
            unmet.is_some_and(|known| std::mem::replace(known, peer.clone()) != peer)
        });
        self.look_out_as_others(now);
    }

    pub(super) fn describe(&self, id: MemberId) -> Peer {
        let known = self.peers.describe(id);
        match &self.membership {
            Some(membership) if known.address.is_none() => membership.describe(id).unwrap_or(known),
            Some(_) | None => known,
        }
    }
}
