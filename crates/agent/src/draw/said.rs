//! What members say to each other, signed, so that nobody can deny it afterwards.
//!
//! A signature covers the sitting (its id comes of all links of the ring, to each of which both ends gave chance), who said it
//! to whom, which message on the link it is, and the head of the speaker's transcript: the hash of all that it has done so
//! far. So a member that has said anything has said what its transcript up to then is, and can show no other; and what it
//! said in one sitting says nothing in another.

use std::ops::Deref;

use hustings_protocol::wagner;
use hustings_protocol::wagner::fault::Fault;
use serde::{Deserialize, Serialize};

use super::bytes::{Bytes, Digest};
use super::keys::{PublicKey, Secret};
use super::presence::Presence;
use super::ring::Ring;
use crate::driver::encode;

/// What goes over a link, sealed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Frame {
    /// The link is up.
    Linked,
    /// So many steps away as there were such frames before, the speaker included, this member is there.
    Here(Presence),
    /// The speaker knows that the draw has begun without this link: whoever hears it is not part of it.
    Begun,
    /// A message of the protocol.
    Said(Said),
    /// What some member, not necessarily the speaker, has come to.
    Statement(Statement),
    /// The speaker was told more than it could keep: all that agrees with what it has come to, once more.
    Again,
}

/// Something that somebody has put its name to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signed<T> {
    /// What.
    pub content: T,
    /// Its signature.
    pub signature: Bytes<64>,
}

/// What members sign. A signature under one kind, or in one context, is none under another.
pub trait Matter: Serialize {
    /// What tells this kind from others.
    const KIND: &'static str;
    /// What it is said in, and not said with it.
    type Context: Serialize;
}

impl<T: Matter> Signed<T> {
    pub(super) fn sign(secret: &Secret, context: &T::Context, content: T) -> Self {
        let signature = secret.sign(&signed(context, &content));
        Self { content, signature }
    }

    /// Whether the holder of `key` signed it, in `context`.
    pub(super) fn is_by(&self, key: &PublicKey, context: &T::Context) -> bool {
        key.has_signed(&signed(context, &self.content), &self.signature)
    }
}

fn signed<T: Matter>(context: &T::Context, content: &T) -> Vec<u8> {
    encode(&(T::KIND, context, content))
}

impl<T> Deref for Signed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.content
    }
}

/// A message of the protocol, as its speaker signed it.
pub type Said = Signed<Words>;

/// A message of the protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Words {
    /// Which message on its link it is in its direction, from 1 on.
    pub number: u64,
    /// Which entry of the speaker's transcript it is, from 0 on.
    pub entry: u64,
    /// The hash of that transcript up to and with that entry.
    pub head: Digest,
    /// What was said.
    pub message: wagner::Message,
}

/// One direction of a link, in one sitting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Way {
    pub(super) sitting: Digest,
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Matter for Words {
    const KIND: &'static str = "hustings draw: said 2";
    type Context = Way;
}

/// What a member has come to, signed by it: with it, it has signed its transcript.
pub type Statement = Signed<Conclusion>;

/// What a member has come to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conclusion {
    /// Whose it is.
    pub place: u32,
    /// How many entries its transcript has before this.
    pub entry: u64,
    /// The hash of these.
    pub head: Digest,
    /// What it has come to.
    pub verdict: Verdict,
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

impl Matter for Conclusion {
    const KIND: &'static str = "hustings draw: statement 2";
    /// The sitting.
    type Context = Digest;
}

impl Statement {
    /// Whether the member that it names signed it in `sitting`, and says what a member can say: of a leader that is on the
    /// ring, or of a fault that it noticed itself.
    pub(super) fn counts(&self, ring: &Ring, sitting: Digest) -> bool {
        let makes_sense = match self.verdict {
            Verdict::Elected { leader, .. } => leader < ring.len(),
            Verdict::Fault(fault) => fault.place == self.place,
        };
        let member = ring.members.get(self.place as usize);
        makes_sense && member.is_some_and(|it| self.is_by(&it.key, &sitting))
    }
}

#[cfg(test)]
mod tests {
    use super::{Said, Way, Words};
    use crate::draw::bytes::Bytes;
    use crate::draw::keys::Secret;
    use hustings_protocol::wagner::Message;
    use hustings_protocol::wagner::flips::Flip;

    #[test]
    fn a_signature_is_for_one_sitting_one_direction_and_one_history() {
        let secret = Secret::generate().unwrap();
        let key = secret.public();
        let way = Way {
            sitting: Bytes([1; 32]),
            from: 3,
            to: 4,
        };
        let words = Words {
            number: 5,
            entry: 6,
            head: Bytes([7; 32]),
            message: Message::Flip(Flip::Heads),
        };
        let said = Said::sign(&secret, &way, words);
        assert!(said.is_by(&key, &way));
        let ways: [fn(&mut Way); 3] = [
            |it| it.sitting.0[0] ^= 1,
            |it| std::mem::swap(&mut it.from, &mut it.to),
            |it| it.to += 1,
        ];
        for change in ways {
            let mut other = way;
            change(&mut other);
            assert!(!said.is_by(&key, &other), "{other:?}");
        }
        let changes: [fn(&mut Said); 5] = [
            |it| it.content.number += 1,
            |it| it.content.entry += 1,
            |it| it.content.head.0[0] ^= 1,
            |it| it.content.message = Message::Fault,
            |it| it.signature.0[0] ^= 1,
        ];
        for change in changes {
            let mut other = said.clone();
            change(&mut other);
            assert!(!other.is_by(&key, &way), "{other:?}");
        }
    }
}
