//! What members say to each other.

use serde::{Deserialize, Serialize};

use crate::{Duration, MemberId};

/// The most that a digest names, and that are asked for at once: what fits into a datagram.
pub const MOST_NAMED: usize = 48;

/// Which multicast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Id {
    /// Who said it.
    pub origin: MemberId,
    /// In which of its lives.
    pub life: u64,
    /// As the how manieth of that life.
    pub number: u32,
}

/// What members say to each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message<M> {
    /// This was said: pass it on.
    Rumour {
        /// Which multicast.
        id: Id,
        /// How long ago it was said, not counting what messages took.
        age: Duration,
        /// How often it may be passed on still.
        hops: u8,
        /// What was said.
        payload: M,
    },
    /// I have these.
    Digest {
        /// Which.
        ids: Vec<Id>,
    },
    /// Of these I have none.
    Solicitation {
        /// Which.
        ids: Vec<Id>,
    },
    /// You asked for this.
    Repair {
        /// Which multicast.
        id: Id,
        /// How long ago it was said, not counting what messages took.
        age: Duration,
        /// What was said.
        payload: M,
    },
}

impl<M> Message<M> {
    /// The place of [`Message::Rumour`] among the kinds.
    pub const RUMOUR: usize = 0;
    /// The place of [`Message::Digest`] among the kinds.
    pub const DIGEST: usize = 1;
    /// The place of [`Message::Solicitation`] among the kinds.
    pub const SOLICITATION: usize = 2;
    /// The place of [`Message::Repair`] among the kinds.
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
