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

impl<M> Message<M> {
    /// The index of [`Message::Rumour`] among the kinds.
    pub const RUMOUR: usize = 0;
    /// The index of [`Message::Digest`] among the kinds.
    pub const DIGEST: usize = 1;
    /// The index of [`Message::Solicitation`] among the kinds.
    pub const SOLICITATION: usize = 2;
    /// The index of [`Message::Repair`] among the kinds.
    pub const REPAIR: usize = 3;
}

impl<M: Clone> crate::Message for Message<M> {
    const KINDS: &'static [&'static str] = &["rumour", "digest", "solicitation", "repair"];

    #[inline]
    fn kind(&self) -> usize {
        match self {
            Self::Rumour { .. } => Self::RUMOUR,
            Self::Digest { .. } => Self::DIGEST,
            Self::Solicitation { .. } => Self::SOLICITATION,
            Self::Repair { .. } => Self::REPAIR,
        }
    }
}
