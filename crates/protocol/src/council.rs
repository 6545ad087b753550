//! Council election: between `L` and `U` representatives out of any number of hosts, without a
//! storm of replies.
//!
//! Source    Raz, Shavitt and Zhang, "Distributed Council Election"; Bolot, Turletti and Wakeman's
//!           masks for comparison. Leases, top-ups, seats by priority and by class, and coins that
//!           can be checked are ours
//! Assumes   one centre that reaches the hosts by multicast, and hosts that answer by unicast
//!           within `round`. The centre is trusted; no other process can pretend to be it. Both may
//!           crash; messages may be lost, late, duplicated or overtaken. With leases: clocks of
//!           about the same rate
//! Promises  the centre's council has between `L` and `U` seats, or the centre reports that it has
//!           fallen short. With leases at most `U` hosts ever believe that they are seated,
//!           whatever is lost and whichever process restarts; the seat of a crashed holder is
//!           filled again. No host replies twice to one feedback, or to an old or invalid one. A
//!           restarted centre knows nothing, and begins with the highest estimate
//!           likely, not certain: the rounds and replies of the paper (`hustings_theory::council`)
//! Messages  feedback (the centre to all, each round), reply (to the centre); seat (to each elected
//!           host); standing (to all, each beat) and present (its answer, by seated hosts);
//!           farewell (to the centre)
//!
//! The modules follow the paper:
//!
//! - [`WireBits`] is the feedback, [`Candidacy`] the memory of a host during an election.
//! - `host.rs` has the host's actions (Figs. 3, 8, 12), `election.rs` the centre's steps from one
//!   count to the next (Figs. 4, 9, 13, 16), [`Estimate`] the search without a known `n`.
//! - `seat_table.rs` has the table of seats, `class_election.rs` the rounds and beats of one class,
//!   `centre.rs` those of all classes, `round_timeout.rs` the length of rounds, `priority_search.rs`
//!   seats by priority.
//! - `calls.rs` has the replies that hosts can give; [`audit`](audit()) and [`replay`](replay())
//!   check that no host was favoured.
//!
//! Seats by class are one election for each class ([`Config::chambers`]).
//!
//! Differences from the paper's figures:
//!
//! - Feedbacks are numbered, and a host that has missed one sits out until a reset.
//! - Fig. 13 must keep the smallest count above `U`, not the last, to match equations (8) and (9).
//! - The centre names the elected hosts: hosts whose replies were lost are active too, and would
//!   consider themselves elected.

mod audit;
mod call;
mod calls;
mod candidacy;
mod centre;
mod class_election;
mod coin;
mod config;
mod election;
mod estimate;
mod host;
pub mod keyed;
mod message;
mod priority_search;
mod replay;
mod round_timeout;
mod seat_table;
mod wire_bits;

pub use audit::{Cause, Dispute, Late, Round, Voice, audit, audit_first, audit_later};
pub use candidacy::{Candidacy, Memory};
pub use centre::Centre;
pub use coin::{Coin, Draws};
pub use config::{
    Algorithm, Chamber, Config, Knowledge, Lease, MOST_DEPTH, MOST_SEATS, Pick, Refill, Reset,
    Search, Seats,
};
pub use estimate::{Estimate, MOST_STEPS};
pub use host::Host;
pub use message::{
    Change, CouncilOutcome, Feedback, Message, Reply, Request, Seat, SeatClaim, Size, Standing,
    Timer,
};
pub use replay::{Elected, Replay, next_call, replay};
pub use seat_table::Holder;
pub use wire_bits::WireBits;

use serde::{Deserialize, Serialize};

use crate::{Input, Io, Protocol};

/// One member: the centre, or a host.
#[derive(Debug, Clone)]
pub enum Council {
    /// The process that calls.
    Centre(Box<Centre>),
    /// A process that is called.
    Host(Host),
}

/// The state that a centre must not forget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedSession {
    /// The number of its last session.
    pub session: u64,
}

impl Council {
    /// A centre that is not started yet. Its session must have a greater number than any before.
    /// The driver chooses `session`, for example from the time of day; the saved number counts too.
    pub fn centre(session: u64, saved: Option<SavedSession>) -> Self {
        Self::Centre(Box::new(Centre::new(session, saved)))
    }

    /// A host of a class; classes are numbered from 0.
    pub fn host(class: u16) -> Self {
        Self::Host(Host::new(class))
    }

    /// The centre, if this member is one.
    pub fn as_centre(&self) -> Option<&Centre> {
        match self {
            Self::Centre(centre) => Some(centre),
            Self::Host(_) => None,
        }
    }

    /// The host, if this member is one.
    pub fn as_host(&self) -> Option<&Host> {
        match self {
            Self::Host(host) => Some(host),
            Self::Centre(_) => None,
        }
    }
}

impl Protocol for Council {
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Durable = SavedSession;
    type Outcome = CouncilOutcome;
    type Request = Request;

    #[inline]
    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        match self {
            Self::Host(host) => match input {
                Input::Message { from, message } => host.on_message(from, message, io),
                Input::Start => host.on_start(io),
                Input::Timer(Timer::LeaseDue) => host.on_lease_due(io),
                Input::Timer(Timer::RoundDue | Timer::BeatDue) => {} // a timer of the centre
                Input::Leave => host.on_leave(io),
                Input::ViewChanged(_) => {} // hosts know the centre by its messages
                Input::Request(Request::Members { .. }) => {} // for the centre
            },
            Self::Centre(centre) => match input {
                Input::Message { from, message } => centre.on_message(from, message, io),
                Input::Start => centre.on_start(io),
                Input::Timer(Timer::RoundDue) => centre.on_round_due(io),
                Input::Timer(Timer::BeatDue) => centre.on_beat_due(io),
                Input::Timer(Timer::LeaseDue) => {} // a timer of hosts
                Input::Leave => centre.on_leave(io),
                Input::ViewChanged(_) => {} // leases show which hosts are gone
                Input::Request(request) => centre.on_request(request),
            },
        }
    }
}
