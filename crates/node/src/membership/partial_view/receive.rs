//! The inputs of a partial view from other members.
//!
//! Purpose     decodes and checks a message, and passes it to its state machine
//! Inputs      encoded [`ViewMessage`]s
//! Outputs     steps of shuffle, census and rumours
//! Owns        nothing of its own; it extends [`PartialView`]
//! Invariants  no entry with a tombstone, and no entry for this member, reaches the shuffle

use std::net::SocketAddr;

use hustings_protocol::shuffle::{Entries, Entry};
use hustings_protocol::{Candidate, Instant, MemberId, epidemic, shuffle};

use super::PartialView;
use super::message::{Said, ViewMessage, entries_of};
use crate::driver::decode;
use crate::frame::Sender;
use crate::membership::member_table::{MemberAddress, Source, localize, widen};
use crate::node::Event;
use crate::seal::Rejected;

impl PartialView {
    /// Handles a message from the member `sender`, which receives at `from`.
    ///
    /// # Errors
    /// If the message is malformed.
    pub(super) fn receive(
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
        let (message, rest) = decode::<ViewMessage>(bytes)?;
        if !rest.is_empty() {
            return Err(Rejected::Malformed);
        }
        self.heard_at = Some(now);
        self.places.note(sender.id, MemberAddress::of(sender, from), Source::Itself);
        let heard = self.take_in(sender, from, message);
        self.settle();
        heard
    }

    fn take_in(
        &mut self,
        sender: &Sender<'_>,
        from: SocketAddr,
        message: ViewMessage,
    ) -> Result<(), Rejected> {
        let (now, id) = (self.now, sender.id);
        match message {
            ViewMessage::Shuffle { size, mut message, places } => {
                let entries = entries_of(&mut message);
                *entries = self.introduce(entries, places, from)?;
                self.note_size(size);
                match message {
                    shuffle::Message::Offer { priority, .. } => {
                        self.take_back(Candidate { priority, id }, sender.incarnation);
                    }
                    shuffle::Message::Answer { number, .. } => self.loss.answered(id, number),
                }
                self.shuffle.hear(now, id, message);
            }
            ViewMessage::Welcome { size, priority, was_dead, entries, places } => {
                let entries = self.introduce(&entries, places, from)?;
                self.note_size(size);
                self.take_back(Candidate { priority, id }, sender.incarnation);
                self.acquaint(Candidate { priority, id });
                if was_dead {
                    self.find(Event::TakenForDead);
                }
                for entry in entries.iter() {
                    if self.shuffle.protocol.acquaintances().len() < self.room {
                        self.acquaint(entry.candidate);
                    }
                }
            }
            ViewMessage::Census(message) => self.census.hear(now, id, message),
            ViewMessage::Rumour(mut message) => {
                locate(&mut message, id, from)?;
                self.rumours.hear(now, id, message);
            }
        }
        Ok(())
    }

    /// Records the addresses of the entries that the member at `from` sent. Returns the entries
    /// that are not dead.
    fn introduce(
        &mut self,
        entries: &Entries,
        places: Vec<MemberAddress>,
        from: SocketAddr,
    ) -> Result<Entries, Rejected> {
        let is_fit = |(entry, known): (&Entry, &MemberAddress)| known.is_of(entry.candidate.id);
        if entries.len() != places.len() || !entries.iter().zip(&places).all(is_fit) {
            return Err(Rejected::Malformed);
        }
        let mut living = Entries::new();
        for (entry, known) in entries.iter().zip(places) {
            let (id, incarnation) = (entry.candidate.id, known.incarnation);
            if id == self.me.id || self.tombstones.holds(id, incarnation) {
                continue;
            }
            self.take_back(entry.candidate, incarnation);
            self.places.note(id, known.reported_from(from.ip()), Source::Hearsay);
            living.push(*entry);
        }
        Ok(living)
    }

    fn note_size(&mut self, size: Option<u64>) {
        self.reported_size = size.or(self.reported_size);
    }

    pub(super) fn acquaint(&mut self, candidate: Candidate) {
        let request = shuffle::Request::Meet(candidate);
        self.shuffle.request(self.now, request);
    }
}

/// Fills in the origin's host in a message to all that `sender`, at `from`, passes on.
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
