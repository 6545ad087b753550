//! Where a member stands in a round, and what it has heard of it.

use super::relay::Relay;
use crate::{Candidate, Instant};

/// What a member waits for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing is to be done: no round has been heard of, or the last one is over.
    #[default]
    Resting,
    /// It called the round, or was called, and takes part when all have heard of it.
    Called,
    /// It heard of the round but does not relay, or has relayed: it waits for decisions.
    Listening,
    /// Few do: what they know is behind a pointer.
    Relaying(Box<Relay>),
    /// It missed the initiation, and has heard a decision.
    Overhearing,
    /// It found that the round has failed, and is going to call the next, unless somebody else does before.
    Recalling { until: Instant },
    /// It has reason to call an election, and is going to, unless somebody else does.
    Calling,
    /// The last round failed. By the rule it would have called another one, if so.
    GivenUp { would_recall: bool },
}

impl Phase {
    /// Whether it takes part in no round.
    pub(super) fn is_idle(&self) -> bool {
        match self {
            Self::Resting | Self::Recalling { .. } | Self::Calling | Self::GivenUp { .. } => true,
            Self::Called | Self::Listening | Self::Relaying(_) | Self::Overhearing => false,
        }
    }
}

/// The decisions of a round that a member has heard of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Heard {
    #[default]
    Nothing,
    One(Candidate),
    Several,
}

impl Heard {
    #[inline]
    pub(super) fn hear(&mut self, choice: Candidate) {
        *self = match *self {
            Self::Nothing => Self::One(choice),
            Self::One(other) if other.id == choice.id => Self::One(other),
            Self::One(_) | Self::Several => Self::Several,
        };
    }
}
