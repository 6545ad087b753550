//! What members say to each other, before it is sealed.

use std::net::SocketAddr;

use hustings_protocol::{MemberId, Merit};
use serde::{Deserialize, Serialize};

use crate::identity::Life;
use crate::seal::{OVERHEAD_BYTES, Rejected};

/// The longest datagram: it crosses any network in one piece.
pub const MOST_DATAGRAM_BYTES: usize = 1_200;

/// The longest content of a datagram.
pub const MOST_CONTENT_BYTES: usize = MOST_DATAGRAM_BYTES - OVERHEAD_BYTES;

/// The longest name of a member or group.
pub const MOST_NAME_BYTES: usize = 64;

/// One utterance of a member.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame<'a> {
    /// Which group it is meant for.
    pub group: u64,
    /// Who says it.
    pub sender: Sender<'a>,
    /// How many frames its sender has sent before it in this life.
    pub number: u64,
    /// Whether it was said to everyone, by whichever ways, or to the receiver alone.
    pub to_all: bool,
    /// What it says.
    #[serde(borrow)]
    pub body: Body<'a>,
}

/// Who says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its identity.
    pub id: MemberId,
    life: u64,
    born: u64,
    /// Where it receives unicasts and links: the port, on the address that the frame comes from.
    pub port: u16,
}

impl<'a> Sender<'a> {
    /// The member called `name`, in its present life.
    pub fn new(name: &'a str, id: MemberId, life: Life, port: u16) -> Self {
        Self {
            name,
            id,
            life: life.0,
            born: life.0,
            port,
        }
    }

    /// The same member, whose process began with the life `born`.
    pub fn born_in(self, born: Life) -> Self {
        Self {
            born: born.0,
            ..self
        }
    }

    /// Which of its lives this is.
    pub fn life(&self) -> Life {
        Life(self.life)
    }

    /// The first life of its process. It tells two that go by one name apart.
    pub fn born(&self) -> Life {
        Life(self.born)
    }
}

/// What a frame says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Body<'a> {
    /// A message of the election.
    Election {
        /// Of which protocol: members that run different ones must not take each other's messages.
        protocol: u8,
        /// The message.
        message: &'a [u8],
    },
    /// A message of tenure.
    Tenure {
        /// For whom. It may be said to all where nobody knows where that one is. The sender itself stands for all voters.
        to: MemberId,
        /// What tells the sender's list of voters from another: two lists have two majorities.
        authority: u64,
        /// The message.
        message: &'a [u8],
    },
    /// The most that I can ever have granted: said to a voter that has lost its disk.
    Granted {
        /// In this life or an earlier one.
        longest_ns: u64,
        /// The number of the question that this answers.
        question: u64,
    },
    /// What I had granted to somebody else was given up: ask again, if you wait for it.
    Freed {
        /// By whose grant, as with [`Body::Tenure`].
        authority: u64,
    },
    /// I hand my tenure to one member: whoever else waits for it, let that one be first.
    HandsOver {
        /// Who is to have it.
        to: MemberId,
        /// For so long.
        within_ns: u64,
        /// The number of mine: what that one gets has a higher one.
        fence: u64,
        /// By whose grant, as with [`Body::Tenure`].
        authority: u64,
    },
    /// I hold tenure. For people to see: no grant follows from it.
    Holds {
        /// Its number.
        fence: u64,
        /// For how long this may be believed; zero: I no longer do.
        lasts_ns: u64,
        /// What tells whoever granted it, voters or a store, from others.
        authority: u64,
    },
    /// A message of the failure detector.
    Membership(&'a [u8]),
    /// I have come up, or am still here though another came up by my name. Not to be answered, but by whoever goes by
    /// the same name.
    Up,
    /// I am here. To be answered by the failure detector.
    Hello {
        /// Whether nobody has answered yet: else only whoever does not know the sender need answer.
        alone: bool,
    },
    /// Whoever follows me, say so.
    Muster {
        /// Each at a time of its own within this span.
        within_ns: u64,
    },
    /// I follow you.
    Follow {
        /// How I compare.
        merit: Merit,
        /// The number of the frame that this answers.
        call: u64,
    },
    /// I led, and give way to another who leads.
    GiveWay,
    /// What you say is of a life of yours that is over, for all I have heard: said to whoever speaks in it, and where that
    /// one was before it spoke in a later life from elsewhere.
    Outlived {
        /// Whose life.
        of: MemberId,
        /// The later one.
        life: u64,
        /// In which life the process began that was heard in the later one, as far as I know.
        born: u64,
        /// Where that process is, if not where you are.
        elsewhere: Option<SocketAddr>,
    },
    /// I am called as you are: who was here later must go.
    Namesake {
        /// In which life your process began.
        born: u64,
        /// For how long I have been here.
        age_ns: u64,
    },
    /// The lifeline of this member broke, and nobody is where it was.
    Obituary {
        /// Who is dead.
        of: MemberId,
    },
    /// A challenge: are you there? To be answered at once.
    Knock {
        /// A random number, for the answer.
        challenge: u64,
    },
    /// The answer to a challenge: I am. Only a process that runs and has the key can give it.
    Here {
        /// The number of the challenge.
        challenge: u64,
        /// The number of the sender's first frame of the last second or two, in this life. What it said before that is past.
        since: u64,
        /// A challenge in return, if the receiver has to prove itself too.
        asks: Option<u64>,
    },
    /// Is this member there? To be answered by that one alone, as a knock is.
    Seek {
        /// Whom I have never heard.
        whom: MemberId,
        /// A random number, for the answer.
        challenge: u64,
    },
    /// This member answers nobody: take it for gone, in this life. By itself: goodbye.
    Dead {
        /// Who.
        of: MemberId,
        /// In which life; zero if it was never heard.
        life: u64,
    },
    /// I am here, whoever said otherwise; or I lead, and may be known to nobody.
    Alive {
        /// How I compare.
        merit: Merit,
    },
    /// I get no answer from this member: do you?
    Doubt {
        /// From whom.
        of: MemberId,
    },
    /// I have heard the one whom you asked about.
    Vouch {
        /// Whom.
        of: MemberId,
    },
    /// A council's centre speaks to the hosts, or to one of them.
    FromCentre {
        /// When, by my calendar: what was said long ago is a replay.
        at_ns: u64,
        /// By which rules this is to be understood: see [`Terms`](crate::council::Terms).
        terms: &'a [u8],
        /// The message.
        message: &'a [u8],
    },
    /// A host speaks to the centre of a council.
    ToCentre {
        /// The message.
        message: &'a [u8],
    },
    /// I hold a lifeline to you: the first and only frame of such a connection. It shows that the sender has the key.
    Lifeline,
}

impl<'a> Frame<'a> {
    /// Writes it to `content`, which is emptied first.
    pub fn encode(&self, content: &mut Vec<u8>) {
        content.clear();
        // Writing to memory of our own plain types cannot fail.
        if let Ok(bytes) = postcard::to_extend(self, std::mem::take(content)) {
            *content = bytes;
        }
    }

    /// Reads it.
    ///
    /// # Errors
    /// If it is not what a member would say.
    pub fn decode(content: &'a [u8]) -> Result<Self, Rejected> {
        let (frame, rest) =
            postcard::take_from_bytes::<Self>(content).map_err(|_| Rejected::Malformed)?;
        let name = frame.sender.name;
        let is_fit = rest.is_empty()
            && crate::identity::is_name(name)
            && crate::identity::member_id(name) == frame.sender.id;
        match is_fit {
            true => Ok(frame),
            false => Err(Rejected::Malformed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Body, Frame, Sender};
    use crate::identity::{Life, member_id};
    use crate::seal::Rejected;

    #[test]
    fn what_is_written_can_be_read_and_nothing_else() {
        let frame = Frame {
            group: 7,
            sender: Sender::new("a", member_id("a"), Life(1), 7400),
            number: 3,
            to_all: true,
            body: Body::Election {
                protocol: 1,
                message: b"I lead",
            },
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
    fn a_name_that_no_member_may_have_is_not_let_in() {
        for name in ["a\u{1b}[2J", "a\nb", "a b", "a`; leads", ""] {
            let frame = Frame {
                group: 7,
                sender: Sender::new(name, member_id(name), Life(1), 7400),
                number: 0,
                to_all: true,
                body: Body::Up,
            };
            let mut content = Vec::new();
            frame.encode(&mut content);
            assert_eq!(
                Frame::decode(&content),
                Err(Rejected::Malformed),
                "{name:?}"
            );
        }
    }

    #[test]
    fn a_name_and_an_identity_that_do_not_match_are_not_a_member() {
        let frame = Frame {
            group: 7,
            sender: Sender::new("a", member_id("b"), Life(1), 7400),
            number: 0,
            to_all: true,
            body: Body::Hello { alone: true },
        };
        let mut content = Vec::new();
        frame.encode(&mut content);
        assert_eq!(Frame::decode(&content), Err(Rejected::Malformed));
    }
}
