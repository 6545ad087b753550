//! The messages of the shuffle.

use serde::{Deserialize, Serialize};

use crate::inline_vec::InlineVec;
use crate::{Candidate, Duration, Priority};

/// The greatest number of entries in a message.
pub const MOST_EXCHANGED: usize = 8;

/// An entry about a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The member, with its priority.
    pub candidate: Candidate,
    /// The time since the member itself reported this.
    pub age: Duration,
}

/// The messages of the shuffle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// Offers the sender and some entries, and asks for as many.
    Offer {
        /// The number of the offer at its sender.
        number: u32,
        /// The sender's priority.
        #[serde(alias = "merit")]
        priority: Priority,
        /// Some of the members that the sender knows.
        entries: InlineVec<Entry, MOST_EXCHANGED>,
    },
    /// Answers an offer.
    Answer {
        /// The number of the offer.
        number: u32,
        /// Some of the members that the sender knows.
        entries: InlineVec<Entry, MOST_EXCHANGED>,
    },
}

impl crate::Message for Message {
    const KINDS: &'static [&'static str] = &["offer", "answer"];

    #[inline]
    fn kind(&self) -> usize {
        match self {
            Self::Offer { .. } => 0,
            Self::Answer { .. } => 1,
        }
    }
}
