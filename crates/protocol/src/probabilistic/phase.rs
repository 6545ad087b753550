//! The phase of a member in a round, and the decisions that it has received.

use super::relay::Relay;
use crate::{Candidate, Instant};

/// The phase of a member.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing to do: no round is known, or the last one is over.
    #[default]
    Resting,
    /// Called the round, or received the call, and takes part once all members have received it.
    Called,
    /// Does not relay, or has relayed: waits for decisions.
    Listening,
    /// Relays. Few members do: their data is behind a pointer.
    Relaying(Box<Relay>),
    /// Missed the initiation, and has received a decision.
    Overhearing,
    /// Found that the round has failed, and calls the next one, unless another member does so
    /// first.
    Recalling { until: Instant },
    /// Has reason to call an election, and does so, unless another member calls first.
    Calling,
    /// The last round failed. `would_recall`: by the rule this member would have called another
    /// one.
    GivenUp { would_recall: bool },
}

impl Phase {
    /// True if the member takes part in no round.
    pub(super) fn is_idle(&self) -> bool {
        match self {
            Self::Resting | Self::Recalling { .. } | Self::Calling | Self::GivenUp { .. } => true,
            Self::Called | Self::Listening | Self::Relaying(_) | Self::Overhearing => false,
        }
    }
}

/// The decisions of a round that a member has received.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Decisions {
    #[default]
    Nothing,
    One(Candidate),
    Several,
}

impl Decisions {
    #[inline]
    pub(super) fn hear(&mut self, choice: Candidate) {
        *self = match *self {
            Self::Nothing => Self::One(choice),
            Self::One(other) if other.id == choice.id => Self::One(other),
            Self::One(_) | Self::Several => Self::Several,
        };
    }
}
