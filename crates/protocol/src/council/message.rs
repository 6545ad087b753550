//! What the centre and the hosts say to each other.
//!
//! No message carries a probability: `c` is configured, and hosts divide. All name the session, a number greater than that of
//! any session before, and what they are about by number, so that whatever is old is known to be.

use serde::{Deserialize, Serialize};

use super::coin::Draws;
use crate::{Candidate, Duration, MemberId, Merit};

/// What the centre and the hosts say to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// So many have replied: draw. From the centre to all.
    Feedback(Feedback),
    /// I have drawn a yes. To the centre.
    Reply(Reply),
    /// You are seated. From the centre to one host.
    Seat(Seat),
    /// These seats stand. From the centre to all.
    Standing(Standing),
    /// I hold my seat. To the centre.
    Present(Held),
    /// I give up my seat. To the centre.
    Farewell(Held),
}

/// The centre's word at the beginning of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feedback {
    /// In which session.
    #[serde(with = "crate::exact")]
    pub session: u64,
    /// To which class of hosts.
    pub class: u16,
    /// Which round of its session and class, from 1 on, one after the other.
    pub round: u32,
    /// Those draw who were active after this round; 0: all. The round before, or what a reset goes back to.
    pub base: u32,
    /// How many are seated, and stay: they do not draw. 0: none are, whoever holds a seat has lost it.
    pub seated: u16,
    /// What the paper's feedback has: see [`Content`](super::Content).
    pub word: u64,
    /// Only hosts as good as this draw.
    pub floor: Option<Candidate>,
}

/// A host's reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// In which session.
    pub session: u64,
    /// Of which class.
    pub class: u16,
    /// In which round.
    pub round: u32,
    /// Which of its coins said yes.
    pub draws: Draws,
    /// By which number it drew: the centre's, or a greater one if it has missed calls.
    pub number: u32,
    /// How good the host is.
    pub merit: Merit,
    /// How long seats may last yet that an earlier session gave, as far as this host knows.
    pub former: Duration,
}

/// A seat that is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    /// In which session.
    pub session: u64,
    /// Of which class.
    pub class: u16,
    /// To whom. Whoever else hears it, as somebody repeats it, is not meant.
    pub host: MemberId,
    /// The round in which it was elected.
    pub round: u32,
    /// Which one, of those that [`Standing::places`] tells of.
    pub place: u8,
    /// The number of the heartbeat after which it was given.
    pub beat: u32,
}

/// A heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// In which session.
    pub session: u64,
    /// Of which class.
    pub class: u16,
    /// The number of this heartbeat: later ones have greater.
    pub beat: u32,
    /// A bit for each place that is taken. Who holds another has lost it.
    pub places: u128,
}

/// A seat that its holder speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// In which session.
    pub session: u64,
    /// Of which class.
    pub class: u16,
    /// Which one.
    pub place: u8,
}

impl Message {
    /// The place of [`Message::Feedback`] among the kinds.
    pub const FEEDBACK: usize = 0;
    /// The place of [`Message::Reply`] among the kinds.
    pub const REPLY: usize = 1;
}

impl crate::Message for Message {
    const KINDS: &'static [&'static str] = &[
        "feedback", "reply", "seat", "standing", "present", "farewell",
    ];

    #[inline]
    fn kind(&self) -> usize {
        match self {
            Self::Feedback(_) => Self::FEEDBACK,
            Self::Reply(_) => Self::REPLY,
            Self::Seat(_) => 2,
            Self::Standing(_) => 3,
            Self::Present(_) => 4,
            Self::Farewell(_) => 5,
        }
    }
}

/// What a member waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// The centre: the replies of a round are in.
    RoundDue,
    /// The centre: the next heartbeat.
    BeatDue,
    /// A host that is seated: it has not heard the centre for too long.
    LeaseDue,
}

impl crate::Timer for Timer {
    const ALL: &'static [Self] = &[Self::RoundDue, Self::BeatDue, Self::LeaseDue];

    #[inline]
    fn index(self) -> usize {
        self as usize
    }
}

/// What may be asked of a centre.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// There are so many hosts in a class, as somebody has found out.
    Members {
        /// The class.
        class: u16,
        /// How many.
        number: u32,
    },
}

/// What a member reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// This host represents the others from now on.
    Seated {
        /// In which place.
        place: u8,
    },
    /// It does so no more.
    Unseated,
    /// The centre has a council; who it is [`Centre::seats`](super::Centre::seats) tells.
    Filled(Size),
    /// The centre's council has fewer seats than it must have.
    Short(Size),
}

/// A council, as the centre reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Of which class of hosts.
    pub class: u16,
    /// How many seats are filled.
    pub seats: u32,
    /// Greater each time that it changes.
    pub version: u32,
}
