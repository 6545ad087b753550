//! What members say to each other.

use serde::{Deserialize, Serialize};

use crate::{Candidate, Duration, Merit};

/// A round of an election: the later one counts. Whoever calls the same round names the same.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Round {
    /// Which election: greater than that of any that its caller knows.
    pub sequence: u64,
    /// Which round of it, from 1.
    pub number: u16,
}

/// What members say to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// A round begins. To everyone.
    Initiation {
        /// Which.
        round: Round,
        /// How many are expected to relay.
        k: u32,
        /// Those who hear of it begin so much later: by then all have, whoever it was that they heard it from.
        after: Duration,
    },
    /// Of all that I know, or have heard of, this is the best. Between two that relay, or, to be found by others that
    /// relay, to everyone.
    Preference {
        /// In which round.
        round: Round,
        /// Who.
        choice: Candidate,
        /// The merit of whoever says so, by which it may become known.
        merit: Merit,
    },
    /// We who relay have chosen. To everyone.
    Decision {
        /// In which round.
        round: Round,
        /// How many were expected to relay.
        k: u32,
        /// Whom.
        choice: Candidate,
    },
    /// I am new here: who leads? To a few.
    Question,
    /// I lead: do you say so too? To one.
    Check {
        /// In which round I was elected.
        round: Round,
        /// How well I lead.
        merit: Merit,
    },
    /// As far as I know, this one leads. To who asked.
    Answer {
        /// In which round it was elected.
        round: Round,
        /// Who.
        leader: Candidate,
    },
}

impl Message {
    /// The place of [`Message::Initiation`] among the kinds.
    pub const INITIATION: usize = 0;
    /// The place of [`Message::Preference`] among the kinds.
    pub const PREFERENCE: usize = 1;
    /// The place of [`Message::Decision`] among the kinds.
    pub const DECISION: usize = 2;
}

impl crate::Message for Message {
    const KINDS: &'static [&'static str] = &[
        "initiation",
        "preference",
        "decision",
        "question",
        "check",
        "answer",
    ];

    #[inline]
    fn kind(&self) -> usize {
        match self {
            Self::Initiation { .. } => Self::INITIATION,
            Self::Preference { .. } => Self::PREFERENCE,
            Self::Decision { .. } => Self::DECISION,
            Self::Question => 3,
            Self::Check { .. } => 4,
            Self::Answer { .. } => 5,
        }
    }
}
