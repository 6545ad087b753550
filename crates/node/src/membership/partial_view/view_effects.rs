//! The outputs of the state machines of a partial view.
//!
//! Purpose     turns the effects of shuffle, census and rumours into [`MembershipEffect`]s
//! Inputs      the state machines, after each input
//! Outputs     messages with addresses; members that entered or left the view
//! Owns        nothing of its own; it extends [`PartialView`]
//! Invariants  `known` equals the shuffle's acquaintances that have an address and no tombstone

use hustings_protocol::epidemic::Delivery;
use hustings_protocol::shuffle::{self, Entries, Entry, MOST_EXCHANGED};
use hustings_protocol::{Candidate, MemberId, ViewChange};

use super::message::{ViewMessage, entries_of};
use super::{PLACES_IN_VIEWS, PartialView};
use crate::driver::{Effect, ElectionDriver, encode};
use crate::membership::MembershipEffect;
use crate::membership::member_table::MemberAddress;
use crate::node::Event;

impl PartialView {
    /// Carries out the effects of the state machines.
    pub(super) fn settle(&mut self) {
        self.look_at_view();
        if self.census.protocol.takes_in(self.now, self.census.config()) {
            self.arrivals = 0; // the count includes all newcomers
        }
        for effect in self.shuffle.take_effects() {
            if let Effect::Unicast { to, message } = effect
                && let Ok(message) = postcard::from_bytes(&message)
            {
                self.say(to, message);
            }
        }
        for effect in self.census.take_effects() {
            if let Effect::Unicast { to, message } = effect
                && let Ok(message) = postcard::from_bytes(&message)
            {
                self.send(to, &ViewMessage::Census(message));
            }
        }
        for effect in self.rumours.take_effects() {
            if let Effect::Unicast { to, message } = effect
                && let Ok(message) = postcard::from_bytes(&message)
            {
                self.send(to, &ViewMessage::Rumour(message));
            }
        }
        for Delivery { origin, payload } in self.rumours.protocol.take_delivered() {
            let (host, content) = (payload.ip.to_canonical(), payload.content);
            let rumour = Event::Rumour { origin, host, content };
            self.effects.push(MembershipEffect::Finding(rumour));
        }
        let (known, most) = (&self.known, self.room * PLACES_IN_VIEWS);
        let is_known = |id: MemberId| known.binary_search_by_key(&id, |it| it.id).is_ok();
        self.places.tidy(most, is_known);
    }

    /// Reports the members that entered or left the view.
    fn look_at_view(&mut self) {
        let listed = self.shuffle.protocol.acquaintances().iter();
        let is_reachable = |id: MemberId| {
            let known = self.places.get(id);
            known.is_some_and(|it| !self.tombstones.holds(id, it.incarnation))
        };
        let now_known = listed.map(|it| it.candidate).filter(|it| is_reachable(it.id));
        let now_known: Vec<Candidate> = now_known.collect();
        if now_known == self.known {
            return;
        }
        let before = std::mem::replace(&mut self.known, now_known);
        let gone = before.iter().map(|it| it.id).filter(|id| !self.has(*id));
        for id in gone.collect::<Vec<_>>() {
            self.census.count(ViewChange::Left(id));
            self.rumours.count(ViewChange::Left(id));
            self.find(Event::MemberForgotten(id));
        }
        let is_new = |it: &&Candidate| !before.contains(it);
        let met: Vec<Candidate> = self.known.iter().filter(is_new).copied().collect();
        for candidate in met {
            self.census.count(ViewChange::Joined(candidate));
            self.rumours.count(ViewChange::Joined(candidate));
            self.find(Event::MemberMet(candidate));
        }
        if self.known.len() > self.most_known {
            self.most_known = self.known.len();
            self.grown_at = self.now;
        }
    }

    /// Sends a message of the shuffle, with the addresses of its entries.
    fn say(&mut self, to: MemberId, mut message: shuffle::Message) {
        if let shuffle::Message::Offer { number, .. } = message {
            self.loss.asked(to, number);
        }
        let entries = entries_of(&mut message);
        let (placed, places) = self.with_places(*entries);
        *entries = placed;
        let message = ViewMessage::Shuffle { size: self.size(), message, places };
        self.send(to, &message);
    }

    /// The entries whose addresses are known, and the addresses.
    pub(super) fn with_places(&self, entries: Entries) -> (Entries, Vec<MemberAddress>) {
        let placed = entries.iter().filter_map(|entry| {
            let known = self.places.get(entry.candidate.id)?;
            Some((*entry, known.clone()))
        });
        let (entries, places): (Vec<Entry>, Vec<MemberAddress>) = placed.unzip();
        (entries.into_iter().take(MOST_EXCHANGED).collect(), places)
    }

    pub(super) fn find(&mut self, event: Event<'static>) {
        self.effects.push(MembershipEffect::Finding(event));
    }

    pub(super) fn send(&mut self, to: MemberId, message: &ViewMessage) {
        let receiver = to;
        if let Some(to) = self.places.address_of(receiver) {
            let bytes = encode(message);
            self.effects.push(MembershipEffect::Send { receiver, to, bytes });
        }
    }
}
