//! What the machines of a circle want sent, and what they found out.

use hustings_protocol::epidemic::Delivery;
use hustings_protocol::shuffle::{self, Entry, MOST_EXCHANGED};
use hustings_protocol::{Candidate, MemberId, ViewChange};

use super::word::{Entries, Word};
use super::{Circle, PLACES_IN_VIEWS};
use crate::driver::{Effect, Seat, encode};
use crate::membership::MembershipEffect;
use crate::membership::place::Place;

impl Circle {
    /// Carries out what the machines want.
    pub(super) fn settle(&mut self) {
        self.look_at_view();
        if self
            .census
            .protocol()
            .takes_in(self.now, self.census.config())
        {
            self.arrivals = 0; // whoever has come so far is counted, whoever called the count
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
                self.send(to, &Word::Census(message));
            }
        }
        for effect in self.rumours.take_effects() {
            if let Effect::Unicast { to, message } = effect
                && let Ok(message) = postcard::from_bytes(&message)
            {
                self.send(to, &Word::Rumour(message));
            }
        }
        for Delivery { origin, payload } in self.rumours.protocol_mut().take_delivered() {
            self.effects.push(MembershipEffect::Heard {
                origin,
                host: payload.ip.to_canonical(),
                content: payload.content,
            });
        }
        let (known, most) = (&self.known, self.room * PLACES_IN_VIEWS);
        let is_known = |id: MemberId| known.binary_search_by_key(&id, |it| it.id).is_ok();
        self.places.tidy(most, is_known);
    }

    /// Tells everybody else here whom it knows, if that has changed.
    fn look_at_view(&mut self) {
        let listed = self.shuffle.protocol().acquaintances().iter();
        let lives = |id: MemberId| {
            let place = self.places.get(id);
            place.is_some_and(|it| !self.graves.holds(id, it.life()))
        };
        let now_known = listed.map(|it| it.candidate).filter(|it| lives(it.id));
        let now_known: Vec<Candidate> = now_known.collect();
        if now_known == self.known {
            return;
        }
        let before = std::mem::replace(&mut self.known, now_known);
        let gone = before.iter().map(|it| it.id).filter(|id| !self.has(*id));
        for id in gone.collect::<Vec<_>>() {
            self.census.count(ViewChange::Left(id));
            self.rumours.count(ViewChange::Left(id));
            self.effects.push(MembershipEffect::Forgotten(id));
        }
        let is_new = |it: &&Candidate| !before.contains(it);
        let met: Vec<Candidate> = self.known.iter().filter(is_new).copied().collect();
        for candidate in met {
            self.census.count(ViewChange::Joined(candidate));
            self.rumours.count(ViewChange::Joined(candidate));
            self.effects.push(MembershipEffect::Met(candidate));
        }
        if self.known.len() > self.most_known {
            self.most_known = self.known.len();
            self.grown_at = self.now;
        }
    }

    /// Says something of the shuffle, and where those are whom it tells of.
    fn say(&mut self, to: MemberId, message: shuffle::Message) {
        let (message, places) = match message {
            shuffle::Message::Offer {
                number,
                merit,
                entries,
            } => {
                self.loss.asked(to, number);
                let (entries, places) = self.with_places(entries);
                (
                    shuffle::Message::Offer {
                        number,
                        merit,
                        entries,
                    },
                    places,
                )
            }
            shuffle::Message::Answer { number, entries } => {
                let (entries, places) = self.with_places(entries);
                (shuffle::Message::Answer { number, entries }, places)
            }
        };
        let word = Word::Shuffle {
            size: self.size(),
            message,
            places,
        };
        self.send(to, &word);
    }

    /// Those of them of whom it can be told where they are.
    pub(super) fn with_places(&self, entries: Entries) -> (Entries, Vec<Place>) {
        let placed = entries.iter().filter_map(|entry| {
            let place = self.places.get(entry.candidate.id)?;
            Some((entry, place.clone()))
        });
        let (entries, places): (Vec<Entry>, Vec<Place>) = placed.unzip();
        (entries.into_iter().take(MOST_EXCHANGED).collect(), places)
    }

    pub(super) fn send(&mut self, to: MemberId, word: &Word) {
        let receiver = to;
        if let Some(to) = self.places.address_of(receiver) {
            let bytes = encode(word);
            let send = MembershipEffect::Send {
                receiver,
                to,
                bytes,
            };
            self.effects.push(send);
        }
    }
}
