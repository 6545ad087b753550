//! What the others of a circle say.

use std::net::SocketAddr;

use hustings_protocol::shuffle::Entry;
use hustings_protocol::{Candidate, Instant, MemberId, epidemic, shuffle};

use super::Circle;
use super::word::{Entries, Said, Word};
use crate::frame::Sender;
use crate::membership::MembershipEffect;
use crate::membership::place::{Place, Source, localize, widen};
use crate::seal::Rejected;

impl Circle {
    /// A word arrived from the member `sender`, which receives at `from`.
    ///
    /// # Errors
    /// If it is not what a member would say.
    pub(in crate::membership) fn hear(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        from: SocketAddr,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        self.now = now;
        if self.is_gone {
            return Ok(());
        }
        let (word, rest) =
            postcard::take_from_bytes::<Word>(bytes).map_err(|_| Rejected::Malformed)?;
        if !rest.is_empty() {
            return Err(Rejected::Malformed);
        }
        self.heard_at = Some(now);
        self.places
            .note(sender.id, Place::of(sender, from), Source::Itself);
        let heard = self.take_in(sender, from, word);
        self.settle();
        heard
    }

    fn take_in(
        &mut self,
        sender: &Sender<'_>,
        from: SocketAddr,
        word: Word,
    ) -> Result<(), Rejected> {
        let now = self.now;
        match word {
            Word::Shuffle {
                size,
                message:
                    shuffle::Message::Offer {
                        number,
                        merit,
                        entries,
                    },
                places,
            } => {
                let entries = self.introduce(&entries, places, from)?;
                self.hear_size(size);
                let id = sender.id;
                self.take_back(Candidate { merit, id }, sender.life());
                let message = shuffle::Message::Offer {
                    number,
                    merit,
                    entries,
                };
                self.shuffle.hear(now, id, message);
            }
            Word::Shuffle {
                size,
                message: shuffle::Message::Answer { number, entries },
                places,
            } => {
                let entries = self.introduce(&entries, places, from)?;
                self.hear_size(size);
                self.loss.answered(sender.id, number);
                let message = shuffle::Message::Answer { number, entries };
                self.shuffle.hear(now, sender.id, message);
            }
            Word::Welcome {
                size,
                merit,
                was_dead,
                entries,
                places,
            } => {
                let entries = self.introduce(&entries, places, from)?;
                self.hear_size(size);
                let id = sender.id;
                self.take_back(Candidate { merit, id }, sender.life());
                self.acquaint(Candidate { merit, id });
                if was_dead {
                    self.effects.push(MembershipEffect::WasDead);
                }
                for entry in entries.iter() {
                    if self.shuffle.protocol().acquaintances().len() < self.room {
                        self.acquaint(entry.candidate);
                    }
                }
            }
            Word::Census(message) => self.census.hear(now, sender.id, message),
            Word::Rumour(mut message) => {
                locate(&mut message, sender.id, from)?;
                self.rumours.hear(now, sender.id, message);
            }
        }
        Ok(())
    }

    /// Takes note of where those are whom the member at `from` tells of. Returns those of them that live.
    fn introduce(
        &mut self,
        entries: &Entries,
        places: Vec<Place>,
        from: SocketAddr,
    ) -> Result<Entries, Rejected> {
        let is_fit = |(entry, place): (Entry, &Place)| place.is_of(entry.candidate.id);
        if entries.len() != places.len() || !entries.iter().zip(&places).all(is_fit) {
            return Err(Rejected::Malformed);
        }
        let mut living = Entries::NONE;
        for (entry, place) in entries.iter().zip(places) {
            let (id, life) = (entry.candidate.id, place.life());
            if id == self.me.id || self.graves.holds(id, life) {
                continue;
            }
            self.take_back(entry.candidate, life);
            self.places
                .note(id, place.told_from(from.ip()), Source::Hearsay);
            living.push(entry);
        }
        Ok(living)
    }

    fn hear_size(&mut self, size: Option<u64>) {
        self.told_size = size.or(self.told_size);
    }

    pub(super) fn acquaint(&mut self, candidate: Candidate) {
        let request = shuffle::Request::Meet(candidate);
        self.shuffle.request(self.now, request);
    }
}

/// Fills in, in what the member `sender` at `from` passes on, where that was said.
fn locate(
    message: &mut epidemic::Message<Said>,
    sender: MemberId,
    from: SocketAddr,
) -> Result<(), Rejected> {
    let (epidemic::Message::Rumour { id, payload, .. }
    | epidemic::Message::Repair { id, payload, .. }) = message
    else {
        return Ok(());
    };
    match (payload.ip.is_unspecified(), id.origin == sender) {
        (_, true) => payload.ip = widen(from.ip()),
        (false, false) => localize(&mut payload.ip, widen(from.ip())),
        (true, false) => return Err(Rejected::Malformed),
    }
    Ok(())
}
