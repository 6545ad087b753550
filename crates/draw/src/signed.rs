//! Signed messages between members. A member cannot deny a message afterwards.
//!
//! A signature covers:
//! - the session, whose id is derived from all links of the ring (both ends of a link contribute
//!   randomness to it),
//! - the sender and the receiver,
//! - the message's number on its link,
//! - the head of the sender's transcript, which is the hash of everything it has done up to then.
//!
//! With each message a member therefore commits to its transcript up to that entry and can show no
//! other. A message signed in one session is not valid in another.

use std::ops::Deref;

use hustings_protocol::wagner::fault::Fault;
use hustings_protocol::wagner::{self, DrawOutcome};
use serde::{Deserialize, Serialize};

use super::attestation::Attestation;
use super::bytes::{Bytes, Digest, encode};
use super::keys::{PublicKey, Secret};
use super::ring::{self, Ring};

/// A frame sent over an encrypted link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Frame {
    /// The handshake is complete.
    Linked,
    /// Another member is present. The n-th such frame on a link is about the member n steps away,
    /// the sender being the first.
    Here(Attestation),
    /// The draw has begun without this link. The receiver takes no part in it.
    Begun,
    /// A protocol message.
    SignedMessage(SignedMessage),
    /// The conclusion of a member, which need not be the sender.
    Statement(Statement),
    /// A request to resend all statements that agree with the sender's verdict. The sender had
    /// received more than it could keep.
    Again,
}

/// A value with its author's signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Signed<T> {
    /// The signed value.
    pub(super) content: T,
    /// The signature over the content, its kind and its context.
    pub(super) signature: Bytes<64>,
}

/// A kind of content that members sign. A signature for one kind or context is invalid for any
/// other.
pub(super) trait Matter: Serialize {
    /// The domain-separation string of this kind.
    const KIND: &'static str;
    /// The context, which is covered by the signature but not sent with the content.
    type Context: Serialize;
}

impl<T: Matter> Signed<T> {
    pub(super) fn sign(secret: &Secret, context: &T::Context, content: T) -> Self {
        let signature = secret.sign(&signed(context, &content));
        Self { content, signature }
    }

    /// True if the holder of `key` signed the content in `context`.
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

/// A protocol message with its sender's signature.
pub(super) type SignedMessage = Signed<NumberedMessage>;

/// A protocol message and its position on its link and in the sender's transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NumberedMessage {
    /// The number of the message on its link in its direction, counted from 1.
    pub(super) number: u64,
    /// The index of its entry in the sender's transcript, counted from 0.
    pub(super) entry: u64,
    /// The hash of that transcript up to and including the entry.
    pub(super) head: Digest,
    /// The protocol message.
    pub(super) message: wagner::Message,
}

/// The position of the last message received on one side. Numbers have no gaps, and entries rise.
#[derive(Debug, Default)]
pub(super) struct LastHeard {
    pub(super) number: u64,
    entry: Option<u64>,
}

impl LastHeard {
    pub(super) fn is_before(&self, signed: &SignedMessage) -> bool {
        signed.number == self.number + 1 && self.entry.is_none_or(|it| it < signed.entry)
    }

    pub(super) fn advance(&mut self, signed: &SignedMessage) {
        (self.number, self.entry) = (signed.number, Some(signed.entry));
    }
}

/// One direction of a link in one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct LinkDirection {
    pub(super) session: Digest,
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Matter for NumberedMessage {
    const KIND: &'static str = "hustings draw: said 2";
    type Context = LinkDirection;
}

/// A member's conclusion with its signature. It also signs the member's transcript.
pub(super) type Statement = Signed<Conclusion>;

/// A member's conclusion at the end of its part in a draw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Conclusion {
    /// The place of the member that signs.
    pub(super) place: u32,
    /// The number of entries in its transcript before this one.
    pub(super) entry: u64,
    /// The hash of the entries before this one.
    pub(super) head: Digest,
    /// The verdict.
    pub(super) verdict: Verdict,
}

/// The result that a member reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    /// The member has seen a leader elected.
    Elected {
        /// The place of the leader.
        leader: u32,
        /// The number of messages that it took, for each link and direction.
        messages: u64,
    },
    /// The member knows of a fault.
    Fault(Fault),
}

impl Verdict {
    /// The verdict that follows from an outcome of the protocol, for a member that has sent
    /// `messages` to its left.
    pub(super) fn of(outcome: DrawOutcome, messages: u64) -> Option<Self> {
        match outcome {
            DrawOutcome::Nominee(leader) => {
                Some(Self::Elected { leader: ring::place(leader.id), messages })
            }
            DrawOutcome::Fault(fault) => Some(Self::Fault(fault)),
            DrawOutcome::Standing { .. } | DrawOutcome::Vacant => None,
        }
    }
}

impl Matter for Conclusion {
    const KIND: &'static str = "hustings draw: statement 2";
    /// The id of the session.
    type Context = Digest;
}

impl Statement {
    /// True if the statement is valid: the member that it names signed it in `session`, and the
    /// verdict is possible. A leader must be on the ring, and a fault must be one that the member
    /// noticed itself.
    pub(super) fn counts(&self, ring: &Ring, session: Digest) -> bool {
        let makes_sense = match self.verdict {
            Verdict::Elected { leader, .. } => leader < ring.len(),
            Verdict::Fault(fault) => fault.place == self.place,
        };
        let member = ring.members.get(self.place as usize);
        makes_sense && member.is_some_and(|it| self.is_by(&it.key, &session))
    }
}

#[cfg(test)]
mod tests {
    use super::{LinkDirection, NumberedMessage, SignedMessage};
    use crate::bytes::Bytes;
    use crate::keys::Secret;
    use hustings_protocol::wagner::Message;
    use hustings_protocol::wagner::flips::Flip;

    #[test]
    fn signature_binds_session_direction_and_history() {
        let secret = Secret::generate().unwrap();
        let key = secret.public();
        let way = LinkDirection { session: Bytes([1; 32]), from: 3, to: 4 };
        let numbered = NumberedMessage {
            number: 5,
            entry: 6,
            head: Bytes([7; 32]),
            message: Message::Flip(Flip::Heads),
        };
        let signed = SignedMessage::sign(&secret, &way, numbered);
        assert!(signed.is_by(&key, &way));
        let ways: [fn(&mut LinkDirection); 3] = [
            |it| it.session.0[0] ^= 1,
            |it| std::mem::swap(&mut it.from, &mut it.to),
            |it| it.to += 1,
        ];
        for change in ways {
            let mut other = way;
            change(&mut other);
            assert!(!signed.is_by(&key, &other), "{other:?}");
        }
        let changes: [fn(&mut SignedMessage); 5] = [
            |it| it.content.number += 1,
            |it| it.content.entry += 1,
            |it| it.content.head.0[0] ^= 1,
            |it| it.content.message = Message::Fault,
            |it| it.signature.0[0] ^= 1,
        ];
        for change in changes {
            let mut other = signed.clone();
            change(&mut other);
            assert!(!other.is_by(&key, &way), "{other:?}");
        }
    }
}
