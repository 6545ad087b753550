//! The messages between the centre and the hosts.
//!
//! No message contains a probability: `c` is configured, and hosts divide. Every message contains
//! the session, whose number is greater than that of any session before, and the numbers of its
//! subject. So receivers recognise old messages.

use serde::{Deserialize, Serialize};

use super::coin::Draws;
use crate::{Candidate, Duration, MemberId, Priority};

/// The messages between the centre and the hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// The number of replies, and the call to draw. From the centre to all.
    Feedback(Feedback),
    /// The host has drawn a yes. To the centre.
    Reply(Reply),
    /// The host is seated. From the centre to one host.
    Seat(Seat),
    /// The heartbeat: the seats that stand. From the centre to all.
    Standing(Standing),
    /// The host holds its seat. To the centre.
    Present(SeatClaim),
    /// The host gives up its seat. To the centre.
    Farewell(SeatClaim),
}

/// The centre's message at the beginning of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feedback {
    /// The session.
    #[serde(with = "crate::exact")]
    pub session: u64,
    /// The class of hosts that is called.
    pub class: u16,
    /// The number of the round in its session and class, from 1, consecutive.
    pub round: u32,
    /// The round after which the called hosts were active; 0 for all. Either the round before, or
    /// the one that a reset goes back to.
    pub base: u32,
    /// The number of hosts that are seated and stay: they do not draw. 0: none are, and a host that
    /// holds a seat has lost it.
    pub seated: u16,
    /// The content of the paper's feedback: see [`WireBits`](super::WireBits).
    pub word: u64,
    /// The threshold: only hosts at least as good draw.
    pub floor: Option<Candidate>,
}

/// A host's reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The session.
    pub session: u64,
    /// The class.
    pub class: u16,
    /// The round.
    pub round: u32,
    /// The coins that were a yes.
    pub draws: Draws,
    /// The number by which it drew: the centre's, or a greater one if it has missed calls.
    pub number: u32,
    /// The priority of the host.
    #[serde(alias = "merit")]
    pub priority: Priority,
    /// The remaining time of seats that an earlier session gave, as far as this host knows.
    pub former: Duration,
}

/// A seat that is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    /// The session.
    pub session: u64,
    /// The class.
    pub class: u16,
    /// The host that is seated. Any other host ignores the message, which may be a repeated one.
    pub host: MemberId,
    /// The round in which the host was elected.
    pub round: u32,
    /// The place, an index into [`Standing::places`].
    pub place: u8,
    /// The number of the heartbeat after which the seat was given.
    pub beat: u32,
}

/// A heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// The session.
    pub session: u64,
    /// The class.
    pub class: u16,
    /// The number of this heartbeat: later ones have greater numbers.
    pub beat: u32,
    /// One bit for each place that is taken. A host in any other place has lost it.
    pub places: u128,
}

/// A seat, in a message of its holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatClaim {
    /// The session.
    pub session: u64,
    /// The class.
    pub class: u16,
    /// The place.
    pub place: u8,
}

/// A conclusion of the centre or of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CouncilOutcome {
    /// The centre opens a round of an election.
    Standing {
        /// The number of the round.
        round: u32,
    },
    /// A council has changed, or this host's part in it.
    Council(Change),
}

crate::kinds!(
    Feedback "feedback", Reply "reply", Seat "seat", Standing "standing", Present "present", Farewell "farewell"
);

/// The timers of the centre and the hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// The centre: the time for the replies of a round is over.
    RoundDue,
    /// The centre: the next heartbeat is due.
    BeatDue,
    /// A seated host: the lease is over without a message of the centre.
    LeaseDue,
}

crate::timers!(RoundDue, BeatDue, LeaseDue);

/// Requests that the driver may submit to a centre.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Sets the number of hosts in a class.
    Members {
        /// The class.
        class: u16,
        /// The number of hosts.
        number: u32,
    },
}

/// A change of the council, as a member reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// This host represents the others from now on.
    Seated {
        /// Its place.
        place: u8,
    },
    /// This host no longer represents the others.
    Unseated,
    /// The centre has a council; [`Centre::seats`](super::Centre::seats) lists it.
    Filled(Size),
    /// The centre's council has fewer seats than it must have.
    Short(Size),
}

/// The size of a council, as the centre reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// The class of hosts.
    pub class: u16,
    /// The number of filled seats.
    pub seats: u32,
    /// Grows with each change.
    pub version: u32,
}
