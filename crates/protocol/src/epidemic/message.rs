//! The messages of the epidemic multicast.

use serde::{Deserialize, Serialize};

use crate::{Duration, MemberId};

/// The greatest number of identifiers in a digest or solicitation, which fit into a datagram.
pub const MOST_NAMED: usize = 48;

/// The identifier of a multicast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Id {
    /// The member that sent it.
    pub origin: MemberId,
    /// The incarnation of that member.
    pub incarnation: u64,
    /// The sequence number in that incarnation.
    pub number: u32,
}

/// The messages of the epidemic multicast.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message<M> {
    /// A multicast to pass on.
    Rumour {
        /// The multicast.
        id: Id,
        /// The time since it was sent, without message delays.
        age: Duration,
        /// The number of hops left.
        hops: u8,
        /// The content.
        payload: M,
    },
    /// Lists multicasts that the sender has.
    Digest {
        /// The multicasts.
        ids: Vec<Id>,
    },
    /// Asks for multicasts that the sender misses.
    Solicitation {
        /// The multicasts.
        ids: Vec<Id>,
    },
    /// Answers a solicitation.
    Repair {
        /// The multicast.
        id: Id,
        /// The time since it was sent, without message delays.
        age: Duration,
        /// The content.
        payload: M,
    },
}

crate::kinds!(<M> Rumour "rumour", Digest "digest", Solicitation "solicitation", Repair "repair");
