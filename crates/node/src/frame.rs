//! The messages between members, before they are sealed.
//!
//! Purpose     the plain content of a datagram, of a link's frame, or of a lifeline's first frame
//! Inputs      bytes that [`seal`](crate::seal) has authenticated
//! Outputs     a [`Frame`], or [`Rejected::Malformed`]
//! Owns        nothing; a frame borrows from the bytes that it was decoded from
//! Invariants  a decoded frame has a sender with a permitted name that matches its identity;
//!             no bytes follow the body
//!
//! The layout of a frame, in [postcard](https://postcard.jamesmunns.com/wire-format) encoding:
//!
//! | Field | Purpose |
//! |---|---|
//! | group, sender, number, to_all | the head of every frame, the same in all versions of the body |
//! | body version | [`BODY_VERSION`]; a receiver skips a body of another version |
//! | body length | bytes of the body, so that a receiver can skip it |
//! | body | the kind as a number, then the fields of that kind |
//!
//! A later version of the program may add kinds, and may add fields at the end of a kind. A
//! receiver skips both: an unknown kind becomes [`Body::Unknown`], and the bytes after the last
//! known field are ignored.

use std::net::SocketAddr;

use hustings_protocol::{MemberId, Priority};
use serde::{Deserialize, Serialize};

use crate::driver::{decode, encode};
use crate::identity::Incarnation;
use crate::seal::{OVERHEAD_BYTES, Rejected};

/// The longest datagram. Every usual network carries 1,200 bytes without fragmentation.
pub const MOST_DATAGRAM_BYTES: usize = 1_200;

/// The longest content of a datagram.
pub const MOST_CONTENT_BYTES: usize = MOST_DATAGRAM_BYTES - OVERHEAD_BYTES;

/// The longest name of a member or group.
pub use hustings_protocol::names::MOST_NAME_BYTES;

/// The version of the bodies that this program writes and reads.
pub const BODY_VERSION: u8 = 1;

/// One message of a member.
#[derive(Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The identity of the group that the frame is meant for.
    pub group: u64,
    /// The member that sent the frame.
    pub sender: Sender<'a>,
    /// The number of frames that the sender sent before this one in its incarnation.
    pub number: u64,
    /// True if the frame was sent to all members, over any channel; false if it was sent to the
    /// receiver alone.
    pub to_all: bool,
    /// The message.
    pub body: Body<'a>,
}

/// A frame as it is encoded: the body is in an envelope of version and length.
#[derive(Serialize, Deserialize)]
struct Envelope<'a> {
    group: u64,
    #[serde(borrow)]
    sender: Sender<'a>,
    number: u64,
    to_all: bool,
    body_version: u8,
    body: &'a [u8],
}

/// The sender of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender<'a> {
    /// The member's name.
    pub name: &'a str,
    /// The member's identity.
    pub id: MemberId,
    /// The member's current incarnation.
    pub incarnation: Incarnation,
    /// The first incarnation of the member's process. It distinguishes two processes that use one
    /// name.
    pub process_incarnation: Incarnation,
    /// The port at which the member receives unicasts and links. Its address is the frame's source
    /// address.
    pub port: u16,
}

impl<'a> Sender<'a> {
    /// The sender `name` whose process began with `incarnation`.
    pub fn new(name: &'a str, id: MemberId, incarnation: Incarnation, port: u16) -> Self {
        Self { name, id, incarnation, process_incarnation: incarnation, port }
    }

    /// The same sender, with a process that began with `process_incarnation`.
    pub fn with_process_incarnation(self, process_incarnation: Incarnation) -> Self {
        Self { process_incarnation, ..self }
    }
}

/// The message in a frame. The variants are in the first person: "I" is the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Body<'a> {
    /// A message of the election.
    Election {
        /// The tag of the protocol. Members that run different protocols must ignore each other's
        /// messages.
        protocol: u8,
        /// The encoded message.
        message: &'a [u8],
    },
    /// A message of tenure.
    Tenure {
        /// The receiver. The frame may go to all members if the receiver's address is unknown. The
        /// sender's own identity stands for all voters.
        to: MemberId,
        /// The identity of the sender's list of voters. Two different lists have two majorities.
        authority: u64,
        /// The encoded message.
        message: &'a [u8],
    },
    /// The longest tenure that I can ever have granted. Sent to a voter that has lost its disk.
    Granted {
        /// The length of that tenure, over this incarnation and all earlier ones.
        longest_ns: u64,
        /// The number of the question that this answers.
        question: u64,
    },
    /// A member gave up the tenure that I had granted. If you wait for it, ask again.
    Released {
        /// The identity of the authority, as in [`Body::Tenure`].
        authority: u64,
    },
    /// I transfer my tenure to one member. All other waiting members should let it go first.
    Transfer {
        /// The transferee.
        to: MemberId,
        /// The time for which other members should hold back.
        within_ns: u64,
        /// The fence of my tenure. The transferee's fence will be higher.
        fence: u64,
        /// The identity of the authority, as in [`Body::Tenure`].
        authority: u64,
    },
    /// I hold tenure. For display and for detecting conflicts: no grant follows from it.
    Holds {
        /// The fence of my tenure.
        fence: u64,
        /// The time for which receivers may believe this. Zero means that I no longer hold tenure.
        lasts_ns: u64,
        /// The identity of the authority that granted it: a list of voters, or a store.
        authority: u64,
    },
    /// A message of the failure detector.
    Membership(&'a [u8]),
    /// I have started, or I am still here although another process started with my name. Only a
    /// process with the same name answers.
    Up,
    /// I am here. The failure detector answers.
    Hello {
        /// True if no member has answered yet. If false, only members that do not know the sender
        /// need answer.
        alone: bool,
    },
    /// Asks all followers of the sender to reply with [`Body::Follows`].
    CountFollowers {
        /// The span within which each follower replies, at a random time.
        within_ns: u64,
    },
    /// I follow you.
    Follows {
        /// The follower's priority.
        priority: Priority,
        /// The number of the frame that this answers.
        call: u64,
    },
    /// I led, and give way to another leader.
    Yield,
    /// The frame that I received is from an incarnation of yours that has ended, as far as I know.
    /// Sent to the process that uses the old incarnation. If the later incarnation was received
    /// from another address, also sent to the member's previous address.
    StaleIncarnation {
        /// The member.
        of: MemberId,
        /// Its later incarnation.
        incarnation: u64,
        /// The first incarnation of the process that uses the later incarnation, as far as I know.
        process_incarnation: u64,
        /// The address of that process, if it is not yours.
        elsewhere: Option<SocketAddr>,
    },
    /// I have the same name as you. The process that started later must stop.
    DuplicateName {
        /// The first incarnation of your process.
        process_incarnation: u64,
        /// The time for which I have been running.
        age_ns: u64,
    },
    /// The lifeline to this member broke, and no process listens at its address any more.
    Obituary {
        /// The dead member.
        of: MemberId,
    },
    /// A challenge: answer at once with [`Body::Pong`].
    Ping {
        /// A random number, to be repeated in the answer.
        challenge: u64,
    },
    /// The answer to a challenge. Only a running process that has the key can give it.
    Pong {
        /// The number from the challenge.
        challenge: u64,
        /// The number of the first frame that the sender sent in the last second or two of this
        /// incarnation. Receivers discard frames with lower numbers as old.
        since: u64,
        /// A challenge in return, if the receiver has to prove itself too.
        asks: Option<u64>,
    },
    /// Asks whether this member is there. Only that member answers, with [`Body::Pong`].
    WhoIs {
        /// The member, of which I have never received a frame.
        whom: MemberId,
        /// A random number, to be repeated in the answer.
        challenge: u64,
    },
    /// This member does not answer: treat it as gone, in the given incarnation. Sent by the member
    /// itself, it means that the member leaves.
    Dead {
        /// The member.
        of: MemberId,
        /// Its incarnation; zero if no frame of it was ever received.
        incarnation: u64,
    },
    /// I am alive, despite a report to the contrary; or I lead, and other members may not know me.
    Alive {
        /// The sender's priority.
        priority: Priority,
    },
    /// I get no answer from this member: have you received anything from it?
    IndirectProbe {
        /// The member.
        of: MemberId,
    },
    /// I have received a frame from the member that you asked about.
    IndirectAck {
        /// The member.
        of: MemberId,
    },
    /// A message from a council's centre to all hosts, or to one.
    CentreMessage {
        /// The send time by the centre's calendar. Hosts discard an old message as a replay.
        at_ns: u64,
        /// The rules under which the message is to be read: see [`Terms`](crate::council::Terms).
        terms: &'a [u8],
        /// The encoded message.
        message: &'a [u8],
    },
    /// A message from a host to the centre of a council.
    HostMessage {
        /// The encoded message.
        message: &'a [u8],
    },
    /// The first and only frame of a lifeline, a connection that stays open. It proves that the
    /// sender has the key.
    Lifeline,
    /// A body that this version of the program does not know. It is never sent.
    #[serde(skip)]
    Unknown {
        /// The version of the body.
        version: u8,
        /// The number of its kind.
        kind: u32,
    },
}

impl<'a> Body<'a> {
    /// The number of kinds that this program knows: kinds are numbered from 0 in the order of
    /// declaration.
    const KINDS: u32 = 25;

    fn decode(version: u8, bytes: &'a [u8]) -> Result<Self, Rejected> {
        let (kind, _) = decode::<u32>(bytes)?;
        if version != BODY_VERSION || kind >= Self::KINDS {
            return Ok(Self::Unknown { version, kind });
        }
        let (body, _later_fields) = decode(bytes)?;
        Ok(body)
    }
}

impl<'a> Frame<'a> {
    /// Clears `content` and writes the frame to it.
    pub fn encode(&self, content: &mut Vec<u8>) {
        content.clear();
        let body = encode(&self.body);
        let envelope = Envelope {
            group: self.group,
            sender: self.sender,
            number: self.number,
            to_all: self.to_all,
            body_version: BODY_VERSION,
            body: &body,
        };
        // Writing plain types of this program to memory cannot fail.
        if let Ok(bytes) = postcard::to_extend(&envelope, std::mem::take(content)) {
            *content = bytes;
        }
    }

    /// Reads a frame.
    ///
    /// # Errors
    /// [`Rejected::Malformed`] if the bytes are not exactly one frame, or if the sender's name is
    /// not permitted or does not match its identity.
    pub fn decode(content: &'a [u8]) -> Result<Self, Rejected> {
        let (envelope, rest) = decode::<Envelope<'a>>(content)?;
        let name = envelope.sender.name;
        let is_fit = rest.is_empty()
            && crate::identity::is_name(name)
            && crate::identity::member_id(name) == envelope.sender.id;
        if !is_fit {
            return Err(Rejected::Malformed);
        }
        Ok(Self {
            group: envelope.group,
            sender: envelope.sender,
            number: envelope.number,
            to_all: envelope.to_all,
            body: Body::decode(envelope.body_version, envelope.body)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{BODY_VERSION, Body, Envelope, Frame, Sender};
    use crate::identity::{Incarnation, member_id};
    use crate::seal::Rejected;

    #[test]
    fn only_a_complete_frame_decodes() {
        let frame = Frame {
            group: 7,
            sender: Sender::new("a", member_id("a"), Incarnation(1), 7400),
            number: 3,
            to_all: true,
            body: Body::Election { protocol: 1, message: b"I lead" },
        };
        let mut content = Vec::new();
        frame.encode(&mut content);
        assert_eq!(Frame::decode(&content), Ok(frame));
        for length in 0..content.len() {
            let cut = &content[..length];
            assert_eq!(Frame::decode(cut), Err(Rejected::Malformed), "{length}");
        }
        content.push(0);
        assert_eq!(Frame::decode(&content), Err(Rejected::Malformed));
    }

    #[test]
    fn frame_with_forbidden_name_is_refused() {
        for name in ["a\u{1b}[2J", "a\nb", "a b", "a`; leads", ""] {
            let frame = Frame {
                group: 7,
                sender: Sender::new(name, member_id(name), Incarnation(1), 7400),
                number: 0,
                to_all: true,
                body: Body::Up,
            };
            let mut content = Vec::new();
            frame.encode(&mut content);
            assert_eq!(Frame::decode(&content), Err(Rejected::Malformed), "{name:?}");
        }
    }

    #[test]
    fn frame_with_mismatched_name_and_identity_is_refused() {
        let frame = Frame {
            group: 7,
            sender: Sender::new("a", member_id("b"), Incarnation(1), 7400),
            number: 0,
            to_all: true,
            body: Body::Hello { alone: true },
        };
        let mut content = Vec::new();
        frame.encode(&mut content);
        assert_eq!(Frame::decode(&content), Err(Rejected::Malformed));
    }

    /// The content of a frame with any body.
    fn with_body(body_version: u8, body: &[u8]) -> Vec<u8> {
        let envelope = Envelope {
            group: 7,
            sender: Sender::new("a", member_id("a"), Incarnation(1), 7400),
            number: 0,
            to_all: false,
            body_version,
            body,
        };
        postcard::to_allocvec(&envelope).expect("it is written")
    }

    #[test]
    fn unknown_kinds_and_versions_are_skipped() {
        let last = postcard::to_allocvec(&Body::Lifeline).expect("it is written");
        assert_eq!(last, [(Body::KINDS - 1) as u8], "the last known kind");
        let (kind, later) = (Body::KINDS, BODY_VERSION + 1);
        let unknown = |version, kind| Ok(Body::Unknown { version, kind });
        let cases = [
            (BODY_VERSION, &last[..], Ok(Body::Lifeline)),
            (BODY_VERSION, &[kind as u8, 1, 2, 3], unknown(BODY_VERSION, kind)),
            (later, &last, unknown(later, kind - 1)),
            (BODY_VERSION, &[], Err(Rejected::Malformed)),
        ];
        for (version, body, expected) in cases {
            let content = with_body(version, body);
            assert_eq!(Frame::decode(&content).map(|it| it.body), expected);
        }
    }

    #[test]
    fn fields_that_a_later_version_appends_are_ignored() {
        let mut body = postcard::to_allocvec(&Body::Hello { alone: true }).expect("it is written");
        body.extend([9, 9]);
        let content = with_body(BODY_VERSION, &body);
        let read = Frame::decode(&content).map(|it| it.body);
        assert_eq!(read, Ok(Body::Hello { alone: true }));
    }
}
