//! What a member does, or waits for.

use super::Probabilistic;
use super::relay::Relay;
use crate::{Candidate, Duration, Instant, Io};

/// What it does, or waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing is to be done: no round has been heard of, or the last one is over. From then on whom it elected is
    /// established, and what is heard of that election is not of that one.
    Resting { established: Instant },
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
    /// So it is, and it has asked others first: it has heard nothing, and may be new to a group that has a leader.
    Asking { until: Instant },
    /// It has reason to call an election, and is going to, unless somebody else does.
    Calling,
    /// The last round failed. By the rule it would have called another one, if so.
    GivenUp { would_recall: bool },
}

impl Default for Phase {
    fn default() -> Self {
        let established = Instant::START;
        Self::Resting { established }
    }
}

impl Phase {
    /// After a round that was over so long ago.
    #[inline]
    pub(super) fn resting(ago: Duration, io: &impl Io<Probabilistic>) -> Self {
        let then = io.now() + io.config().probation();
        let established = Instant(then.0.saturating_sub(ago.0));
        Self::Resting { established }
    }
}

/// The decisions of a round that it has heard of.
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
