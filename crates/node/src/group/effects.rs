//! Effects: carries out what the protocol and the failure detector request.
//!
//! Purpose     turns effects into frames, and a new nominee into a published leadership
//! Inputs      effects of the election driver and of the membership
//! Outputs     sealed frames in the outbox, the leadership watch channel
//! Owns        nothing of its own; writes the nominee, its address and the frame number of
//!             [`Group`]
//! Invariants  every frame has its own number. The copies of one frame on several routes are
//!             identical, so a receiver accepts it once

use std::net::SocketAddr;

use hustings_protocol::{Candidate, ElectionOutcome, Instant, MemberId, ViewChange};

use super::cause::Trigger;
use super::discovery::GOLDEN;
use super::{Group, Outbox, Route};
use crate::driver::Effect;
use crate::frame::{Body, Frame, Sender};
use crate::leadership::{Mode, Peer};
use crate::membership::{Membership, MembershipEffect};

impl Group {
    /// Carries out the effects of the protocol and of the failure detector until there are no more.
    pub(super) fn act(&mut self, now: Instant, out: &mut Outbox) {
        loop {
            let election = self.election.take_effects();
            if !self.act_on_membership(now, out) && election.is_empty() {
                break;
            }
            for effect in election {
                self.carry_out(now, effect, out);
            }
        }
        self.meet_leader(now);
        self.hint(now);
        self.check_listen_interval(now);
        self.give_way(now, out);
        self.look_around(now);
    }

    fn carry_out(&mut self, now: Instant, effect: Effect, out: &mut Outbox) {
        let protocol = self.config.protocol.tag();
        match effect {
            Effect::Unicast { to, message } => {
                let body = Body::Election { protocol, message: &message };
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
                let body = Body::Election { protocol, message: &message };
                self.counters.election_sent += 1;
                self.broadcast(now, &body, out);
                self.note_own_word(&message);
            }
            // Elections save only their incarnation number, and the calendar provides that.
            Effect::Save(_) => {}
            Effect::Report(ElectionOutcome::Nominee(nominee)) => {
                if !self.withholds(now, Some(nominee)) {
                    self.publish(now, Some(nominee.id), out);
                    self.keep_in_view(nominee);
                }
            }
            Effect::Report(ElectionOutcome::Vacant | ElectionOutcome::DuplicateIdentity) => {
                self.withholds(now, None);
                self.publish(now, None, out);
            }
            Effect::Report(ElectionOutcome::Standing { .. }) => {}
            Effect::Meet(candidate) => self.meet(now, candidate),
        }
    }

    /// Puts a member into the partial view, because the protocol received a message of it. The
    /// nominee is left out: every member keeps it in view separately, and all partial views would
    /// become alike.
    pub(super) fn meet(&mut self, now: Instant, candidate: Candidate) {
        let id = candidate.id;
        let Some(Membership::Partial(partial_view)) = &mut self.membership else {
            return;
        };
        if let Some(peer) = self.peer_table.get(id).filter(|_| self.nominee != Some(id)) {
            let sender = Sender::new(&peer.name, id, peer.incarnation, peer.address.port());
            partial_view.meet(now, candidate, &sender, peer.address);
        }
    }

    /// Carries out the effects of the membership. Returns true if there were any.
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
            MembershipEffect::Send { receiver, to, bytes } => {
                self.send_to(receiver, Route::To(to), &Body::Membership(&bytes), out);
            }
            // A protocol without a view ignores the failure detector, which may be wrong about a
            // member.
            MembershipEffect::Up(_) | MembershipEffect::Down(_)
                if !self.config.protocol.needs_view() => {}
            MembershipEffect::Up(candidate) => {
                self.election.view_changed(now, ViewChange::Joined(candidate));
                if self.partial_view().is_some() && !self.is_in_view(candidate.id) {
                    // all members learn that it is back, and all partial views would become alike
                    self.forget(candidate.id);
                }
            }
            MembershipEffect::Down(id) => {
                self.churn_estimate.departed();
                self.trigger = Trigger::Down(id);
                self.election.view_changed(now, ViewChange::Left(id));
            }
            MembershipEffect::Met(candidate) => self.election.count(ViewChange::Joined(candidate)),
            MembershipEffect::Forgotten(id) => self.forget(id),
            MembershipEffect::WasDead => self.tell_that_it_is_back(now, out),
            MembershipEffect::Heard { origin, host, content } => {
                self.hear_rumour(now, origin, host, &content, out);
            }
        }
    }

    pub(super) fn address_of(&self, id: MemberId) -> Option<SocketAddr> {
        let heard = self.peer_table.get(id).map(|peer| peer.address);
        heard.or_else(|| self.membership.as_ref()?.address_of(id))
    }

    /// Draws about `few` of all known members, including this one. Returns true if this member is
    /// drawn. Each `occasion` draws other members.
    pub(super) fn is_drawn(&self, few: u64, occasion: u64) -> bool {
        let members = self.membership.iter().flat_map(Membership::addresses);
        let lot = (self.me.id.0 ^ occasion).wrapping_mul(GOLDEN) >> 32;
        lot % (members.count() as u64 + 1) < few
    }

    /// Sends a frame to every member that can be reached.
    pub(super) fn broadcast(&mut self, now: Instant, body: &Body<'_>, out: &mut Outbox) {
        self.note_time(now);
        if self.partial_view().is_some_and(|it| !it.is_alone()) {
            self.broadcast_to_many(now, body, out);
            return;
        }
        let members = self.membership.iter().flat_map(Membership::addresses);
        // A newcomer may be in no view yet, but needs an answer.
        let newcomers = self.peer_table.reached_by_unicast(now);
        let is_rare = !self.is_nominee()
            && !self.config.protocol.is_for_many()
            && !matches!(body, Body::CentreMessage { .. });
        let routes = self.multicast_probe.routes(members.chain(newcomers), is_rare);
        self.frame(body, true);
        self.dispatch(None, &routes, out);
    }

    /// Sends a frame to all members of a group with partial views: by multicast and, if multicast
    /// may miss some members, by gossip.
    fn broadcast_to_many(&mut self, now: Instant, body: &Body<'_>, out: &mut Outbox) {
        self.frame(body, true);
        if self.multicast_probe.may_miss_some() {
            let content = self.content.clone();
            if let Some(partial_view) = self.partial_view_mut() {
                partial_view.say_to_all(now, content);
            }
        }
        if let Some(multicast) = self.multicast_probe.multicast() {
            self.dispatch(None, &[Route::Multicast(multicast)], out);
        }
        self.act_on_membership(now, out);
    }

    /// Sends the last encoded frame on all of `routes`. It is the same frame, so a receiver that
    /// gets it twice accepts it once.
    fn dispatch(&mut self, receiver: Option<MemberId>, routes: &[Route], out: &mut Outbox) {
        if let Some((first, others)) = routes.split_first()
            && let Some(frame) = self.seal(receiver)
        {
            self.counters.sent += routes.len() as u64;
            out.extend(others.iter().map(|route| (self.id, *route, frame.clone())));
            out.push((self.id, *first, frame));
        }
    }

    /// Sends a frame to an address, for any member that receives there.
    pub(crate) fn send(&mut self, route: Route, body: &Body<'_>, out: &mut Outbox) {
        self.frame(body, false);
        self.dispatch(None, &[route], out);
    }

    /// Sends a frame to the member `receiver` alone. No other member accepts the frame, even if a
    /// third party forwards it.
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

    /// Returns the sealed frame that opens a lifeline to `leader`.
    pub fn lifeline_hello(&mut self, leader: MemberId) -> Option<Vec<u8>> {
        self.frame(&Body::Lifeline, false);
        self.seal(Some(leader))
    }

    /// Encodes a frame under the next number.
    pub(super) fn frame(&mut self, body: &Body<'_>, to_all: bool) {
        let frame = Frame {
            group: self.id,
            sender: Sender::new(&self.member, self.me.id, self.incarnation, self.port)
                .with_process_incarnation(self.process_incarnation),
            number: self.number,
            to_all,
            body: *body,
        };
        frame.encode(&mut self.content);
        self.number += 1;
    }

    /// Seals the last encoded frame, for `receiver` alone or for every member. Each frame gets a
    /// new random nonce.
    pub(super) fn seal(&mut self, receiver: Option<MemberId>) -> Option<Vec<u8>> {
        let Some(nonce) = self.entropy.draw() else {
            self.counters.unsent += 1;
            tracing::error!("cannot seal a frame: the operating system has no randomness to give");
            return None;
        };
        let mut sealed = Vec::new();
        self.keyring.seal(&nonce, receiver, &self.content, &mut sealed);
        Some(sealed)
    }

    /// Handles a change of the nominee.
    pub(super) fn publish(&mut self, now: Instant, nominee: Option<MemberId>, out: &mut Outbox) {
        if nominee == self.nominee {
            return;
        }
        let (was_named, before) = (self.is_nominee(), self.nominee);
        self.nominee = nominee;
        if let Some(before) = before {
            self.replay_window.miss(before);
        }
        self.nominee_at = nominee.and_then(|id| self.describe(id).address);
        self.watch_isolation(now);
        if let Some(nominee) = nominee {
            self.doubt_holder(nominee);
        }
        self.end_merge_round();
        self.tell(now);
        if self.is_nominee() != was_named {
            self.nominate(now, self.is_nominee(), out);
        }
        self.restart_leader_probe(now, before, out);
    }

    /// Publishes the leadership, if it has changed.
    pub(super) fn tell(&mut self, now: Instant) {
        let me = self.me.id;
        let own = self.tenure.fence().map(|fence| (me, fence));
        let holder = own.or_else(|| self.tenure.holder());
        let leader = holder.map(|(id, _)| id).or(self.nominee);
        let fence = holder.map(|(_, fence)| fence.0);
        let leads = match self.tenure.mode() {
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
            true => Peer { name: self.member.clone(), id, address: None },
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

    /// Completes the published leader with its name and address, once they are known. The election
    /// may name a member before any frame of it has arrived. This is no change of leader.
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
        self.join_leader_probe(now);
    }

    pub(super) fn describe(&self, id: MemberId) -> Peer {
        let known = self.peer_table.describe(id);
        match &self.membership {
            Some(membership) if known.address.is_none() => membership.describe(id).unwrap_or(known),
            Some(_) | None => known,
        }
    }
}
