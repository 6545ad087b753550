//! What members say to each other, signed, so that nobody can deny it afterwards.
//!
//! A signature covers the draw (by the ring's digest), the link (by its session, to which both ends gave chance), who said it
//! to whom, which message on the link it is, and the head of the speaker's transcript: the hash of all that it has done so
//! far. So a member that has said anything has said what its transcript up to then is, and can show no other.

use hustings_protocol::wagner;
use hustings_protocol::wagner::fault::Fault;
use serde::{Deserialize, Serialize};

use super::bytes::{Bytes, Digest};
use super::keys::{PublicKey, Secret};
use super::ring::Ring;
use crate::driver::encode;

/// What goes over a link, sealed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Frame {
    /// So many members on the other side of the speaker, itself included, are there.
    Ready(u32),
    /// A message of the protocol.
    Said(Said),
    /// What some member, not necessarily the speaker, has come to.
    Statement(Statement),
}

/// A message of the protocol, as its speaker signed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Said {
    /// Which message on its link it is in its direction, from 1 on.
    pub number: u64,
    /// Which entry of the speaker's transcript it is, from 0 on.
    pub entry: u64,
    /// The hash of that transcript up to and with that entry.
    pub head: Digest,
    /// What was said.
    pub message: wagner::Message,
    /// The speaker's.
    pub signature: Bytes<64>,
}

/// One direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) ring: Digest,
    pub(super) session: Digest,
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Said {
    pub(super) fn sign(
        secret: &Secret,
        way: &Way,
        (number, entry, head): (u64, u64, Digest),
        message: wagner::Message,
    ) -> Self {
        let mut said = Self {
            number,
            entry,
            head,
            message,
            signature: Bytes([0; 64]),
        };
        said.signature = secret.sign(&said.signed(way));
        said
    }

    /// Whether the holder of `key` said it on `way`.
    pub(super) fn is_signed(&self, key: &PublicKey, way: &Way) -> bool {
        key.has_signed(&self.signed(way), &self.signature)
    }

    fn signed(&self, way: &Way) -> Vec<u8> {
        encode(&(
            "hustings draw: said 1",
            (way.ring, way.session, way.from, way.to),
            (self.number, self.entry, self.head, self.message),
        ))
    }
}

/// What a member has come to, signed by it: with it, it has signed its transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Whose it is.
    pub place: u32,
    /// How many entries its transcript has before this.
    pub entry: u64,
    /// The hash of these.
    pub head: Digest,
    /// What it has come to.
    pub verdict: Verdict,
    /// Its signature.
    pub signature: Bytes<64>,
}

/// What a member has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It has seen somebody elected.
    Elected {
        /// The place of the leader.
        leader: u32,
        /// How many messages on each link in each direction that took.
        messages: u64,
    },
    /// It knows of a fault.
    Fault(Fault),
}

impl Statement {
    pub(super) fn sign(
        secret: &Secret,
        ring: Digest,
        place: u32,
        (entry, head): (u64, Digest),
        verdict: Verdict,
    ) -> Self {
        let mut statement = Self {
            place,
            entry,
            head,
            verdict,
            signature: Bytes([0; 64]),
        };
        statement.signature = secret.sign(&statement.signed(ring));
        statement
    }

    /// Whether the member that it names signed it, for the draw on `ring`, whose digest is given, and says what a member can
    /// say: of a leader that is on the ring, or of a fault that it noticed itself.
    pub(super) fn is_signed(&self, ring: &Ring, digest: Digest) -> bool {
        let makes_sense = match self.verdict {
            Verdict::Elected { leader, .. } => leader < ring.len(),
            Verdict::Fault(fault) => fault.place == self.place,
        };
        let member = ring.members.get(self.place as usize);
        makes_sense
            && member.is_some_and(|it| it.key.has_signed(&self.signed(digest), &self.signature))
    }

    fn signed(&self, ring: Digest) -> Vec<u8> {
        encode(&(
            "hustings draw: statement 1",
            (ring, self.place, self.entry, self.head, self.verdict),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::{Said, Way};
    use crate::draw::bytes::Bytes;
    use crate::draw::keys::Secret;
    use hustings_protocol::wagner::Message;
    use hustings_protocol::wagner::flips::Flip;

    #[test]
    fn a_signature_is_for_one_draw_one_link_one_direction_and_one_history() {
        let secret = Secret::generate().unwrap();
        let key = secret.public();
        let way = Way {
            ring: Bytes([1; 32]),
            session: Bytes([2; 32]),
            from: 3,
            to: 4,
        };
        let heads = Message::Flip(Flip::Heads);
        let said = Said::sign(&secret, &way, (5, 6, Bytes([7; 32])), heads);
        assert!(said.is_signed(&key, &way));
        let ways: [fn(&mut Way); 4] = [
            |it| it.ring.0[0] ^= 1,
            |it| it.session.0[0] ^= 1,
            |it| std::mem::swap(&mut it.from, &mut it.to),
            |it| it.to += 1,
        ];
        for change in ways {
            let mut other = way;
            change(&mut other);
            assert!(!said.is_signed(&key, &other), "{other:?}");
        }
        let changes: [fn(&mut Said); 5] = [
            |it| it.number += 1,
            |it| it.entry += 1,
            |it| it.head.0[0] ^= 1,
            |it| it.message = Message::Fault,
            |it| it.signature.0[0] ^= 1,
        ];
        for change in changes {
            let mut other = said.clone();
            change(&mut other);
            assert!(!other.is_signed(&key, &way), "{other:?}");
        }
    }
}
