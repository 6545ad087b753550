//! Council election: from `L` to `U` representatives out of any number of hosts, without a storm of replies.
//!
//! Source    Raz, Shavitt and Zhang, "Distributed Council Election"; Bolot, Turletti and Wakeman's masks for comparison.
//!           Leases, top-ups, seats by merit and by class, and coins that can be checked are ours
//! Assumes   one centre that reaches the hosts by multicast, and hosts that answer by unicast within `round`. The centre is
//!           trusted; who claims to be it must not be able to lie about who it is. Both may crash; messages may be lost,
//!           late, doubled or overtaken. With leases: clocks of about the same rate
//! Promises  the centre's council has from `L` to `U` seats, or it says that it has fallen short. With leases no more than `U`
//!           hosts ever believe to be seated, whatever is lost and whoever restarts; a seat whose holder crashed is
//!           filled again. Nobody replies twice to one feedback, nor to an old one, nor to one that makes no sense; a
//!           centre that comes up again knows nothing, and begins with the highest estimate
//!           likely, not certain: the rounds and replies of the paper (`hustings_theory::council`)
//! Messages  feedback (the centre to all, each round), reply (to the centre); seat (to each that is elected); standing (to all,
//!           each beat) and present (its answer, by those who are seated); farewell (to the centre)
//!
//! It reads as the paper does: [`Content`] is the feedback, [`Candidacy`] what a host remembers of an election, `host.rs` what it does (Figs. 3, 8,
//! 12), `election.rs` how the centre goes on from a count (Figs. 4, 9, 13, 16), [`Estimate`] what it does without knowing
//! `n`. Around that: `bench.rs` has the seats, `house.rs` the rounds and beats of one class, `centre.rs` those of all, `pace.rs` how long rounds
//! last, `climb.rs` seats by merit, `calls.rs` the replies that hosts can give, [`audit`](audit()) and [`course`](course()) the proof that nobody was favoured. Seats by class are one election for
//! each ([`Config::chambers`]).
//!
//! What differs from the paper's figures: feedbacks are numbered, and a host that has missed one sits out until a reset.
//! Fig. 13 must keep the smallest count above `U`, not the last, to be what equations (8) and (9) describe. And the
//! elected are told by name: those whose replies were lost are active too, and would take themselves for elected.

mod audit;
mod bench;
mod call;
mod calls;
mod candidacy;
mod centre;
mod climb;
mod coin;
mod config;
mod content;
mod course;
mod election;
mod estimate;
mod evidence;
mod host;
mod house;
pub mod keyed;
mod message;
mod pace;
mod seats;

pub use audit::{Cause, Dispute, Late, Round, Voice, audit, audit_first, audit_later};
pub use candidacy::{Candidacy, Memory};
pub use centre::{Centre, Holder};
pub use coin::{Coin, Draws};
pub use config::{
    Algorithm, Chamber, Config, Knowledge, Lease, MOST_DEPTH, MOST_SEATS, Pick, Refill, Reset,
    Search,
};
pub use content::Content;
pub use course::{Course, Elected, course, next_call};
pub use estimate::{Estimate, MOST_STEPS};
pub use host::Host;
pub use message::{Change, Feedback, Held, Message, Reply, Request, Seat, Size, Standing, Timer};
pub use seats::Seats;

use serde::{Deserialize, Serialize};

use crate::{Input, Io, Protocol};

/// One member: the centre, or a host.
#[derive(Debug, Clone)]
pub enum Council {
    /// Who calls.
    Centre(Box<Centre>),
    /// Who is called.
    Host(Host),
}

/// What a centre must not forget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saved {
    /// The number of its last session.
    pub session: u64,
}

impl Council {
    /// A centre that is not started yet. Its session must have a greater number than any before: `session` is from whoever runs
    /// it, such as the time of day; what it has saved itself counts too.
    pub fn centre(session: u64, saved: Option<Saved>) -> Self {
        Self::Centre(Box::new(Centre::new(session, saved)))
    }

    /// A host of a class, the first of which is 0.
    pub fn host(class: u16) -> Self {
        Self::Host(Host::new(class))
    }

    /// The centre, if it is one.
    pub fn as_centre(&self) -> Option<&Centre> {
        match self {
            Self::Centre(centre) => Some(centre),
            Self::Host(_) => None,
        }
    }

    /// The host, if it is one.
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
    type Durable = Saved;
    type Request = Request;

    #[inline]
    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        match self {
            Self::Host(host) => match input {
                Input::Message { from, message } => host.on_message(from, message, io),
                Input::Start => host.on_start(io),
                Input::Timer(Timer::LeaseDue) => host.on_lease_due(io),
                Input::Timer(Timer::RoundDue | Timer::BeatDue) => {} // the centre's
                Input::Leave => host.on_leave(io),
                Input::ViewChanged(_) => {} // hosts know the centre by its messages
                Input::Request(Request::Members { .. }) => {} // for the centre
            },
            Self::Centre(centre) => match input {
                Input::Message { from, message } => centre.on_message(from, message, io),
                Input::Start => centre.on_start(io),
                Input::Timer(Timer::RoundDue) => centre.on_round_due(io),
                Input::Timer(Timer::BeatDue) => centre.on_beat_due(io),
                Input::Timer(Timer::LeaseDue) => {} // a host's
                Input::Leave => centre.on_leave(io),
                Input::ViewChanged(_) => {} // leases tell who is gone
                Input::Request(request) => centre.on_request(request),
            },
        }
    }
}
