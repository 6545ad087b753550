//! What the members of a circle say to each other.

use std::net::Ipv6Addr;

use hustings_protocol::few::Few;
use hustings_protocol::shuffle::{Entry, MOST_EXCHANGED};
use hustings_protocol::{Merit, census, epidemic, shuffle};
use serde::{Deserialize, Serialize};

use crate::membership::place::Place;

/// What members tell of others.
pub(super) type Entries = Few<Entry, MOST_EXCHANGED>;

/// What the members of a circle say to each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Word {
    /// An exchange of acquaintances.
    Shuffle {
        /// How large the sender holds the group to be.
        size: Option<u64>,
        /// What it says.
        message: shuffle::Message,
        /// Where those are whom it tells of, in that order.
        places: Vec<Place>,
    },
    /// To who said hello: take me and these.
    Welcome {
        /// How large the sender holds the group to be.
        size: Option<u64>,
        /// The sender's merit.
        merit: Merit,
        /// Whether who said hello is dead, in an earlier life, as far as the sender has heard: so have others.
        was_dead: bool,
        /// Some of whom it knows.
        entries: Entries,
        /// Where those are, in that order.
        places: Vec<Place>,
    },
    /// A count of the group.
    Census(census::Message),
    /// What somebody said to all, or who has it.
    Rumour(epidemic::Message<Said>),
}

/// What somebody said to all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Said {
    /// On which host; filled in by who hears it first.
    pub(super) ip: Ipv6Addr,
    /// A frame's content.
    pub(super) content: Vec<u8>,
}
