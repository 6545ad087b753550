//! What members say to each other.

use serde::{Deserialize, Serialize};

use crate::few::Few;
use crate::{Candidate, Duration, Merit};

/// The most entries that a message has.
pub const MOST_EXCHANGED: usize = 8;

/// What is told of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Who, and with which merit.
    pub candidate: Candidate,
    /// How long ago it said so itself.
    pub age: Duration,
}

/// What members say to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// Take me and these, and give me as many.
    Offer {
        /// Which offer of its sender this is.
        number: u32,
        /// The sender's merit.
        merit: Merit,
        /// Some of whom it knows.
        entries: Few<Entry, MOST_EXCHANGED>,
    },
    /// Take these.
    Answer {
        /// To which offer.
        number: u32,
        /// Some of whom its sender knows.
        entries: Few<Entry, MOST_EXCHANGED>,
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
