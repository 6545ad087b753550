//! The messages between members with partial views.
//!
//! Purpose     the wire format of shuffle, census and rumour messages, with addresses
//! Invariants  `places` has one address for each entry, in the same order

use std::net::Ipv6Addr;

use hustings_protocol::shuffle::Entries;
use hustings_protocol::{Priority, census, epidemic, shuffle};
use serde::{Deserialize, Serialize};

use crate::membership::member_table::MemberAddress;

/// A message between members with partial views.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum ViewMessage {
    /// An exchange of entries.
    Shuffle {
        /// The sender's estimate of the group's size.
        size: Option<u64>,
        /// The message of the shuffle.
        message: shuffle::Message,
        /// The addresses of its entries, in the same order.
        places: Vec<MemberAddress>,
    },
    /// The answer to a greeting: the sender and some members for the receiver's view.
    Welcome {
        /// The sender's estimate of the group's size.
        size: Option<u64>,
        /// The sender's priority.
        priority: Priority,
        /// True if the sender has a tombstone for an earlier incarnation of the receiver. Other
        /// members have one too, then.
        was_dead: bool,
        /// Some members of the sender's view.
        entries: Entries,
        /// Their addresses, in the same order.
        places: Vec<MemberAddress>,
    },
    /// A message of the census.
    Census(census::Message),
    /// A message to all members, or a message about which members have it.
    Rumour(epidemic::Message<Said>),
}

/// The entries of a message of the shuffle.
pub(super) fn entries_of(message: &mut shuffle::Message) -> &mut Entries {
    match message {
        shuffle::Message::Offer { entries, .. } | shuffle::Message::Answer { entries, .. } => {
            entries
        }
    }
}

/// A message to all members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Said {
    /// The address of the origin's host. The first receiver fills it in.
    pub(super) ip: Ipv6Addr,
    /// The content of a frame.
    pub(super) content: Vec<u8>,
}
