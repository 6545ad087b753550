//! The messages of the probabilistic election.

use serde::{Deserialize, Serialize};

use crate::{Candidate, Duration, Priority};

/// A round of an election. A later round supersedes an earlier one. All callers of the same round
/// use the same numbers.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct RoundId {
    /// The number of the election: greater than that of any that its caller knows.
    pub sequence: u64,
    /// The number of the round in the election, from 1.
    pub number: u16,
}

/// The messages of the probabilistic election.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// A round begins. To all members.
    Initiation {
        /// The round.
        round: RoundId,
        /// The expected number of relaying members.
        k: u32,
        /// The time after which receivers begin: by then the calls of all callers have arrived
        /// everywhere.
        after: Duration,
    },
    /// The best candidate that the sender knows. Between two relaying members, or to all members so
    /// that other relaying members find the sender.
    Preference {
        /// The round.
        round: RoundId,
        /// The candidate.
        choice: Candidate,
        /// The priority of the sender, so that receivers may add it to their views.
        #[serde(alias = "merit")]
        priority: Priority,
    },
    /// The choice of a relaying member. To all members.
    Decision {
        /// The round.
        round: RoundId,
        /// The expected number of relaying members.
        k: u32,
        /// The chosen leader.
        choice: Candidate,
    },
    /// The sender is new and asks for the leader. To a few members.
    Question,
    /// The sender leads, and asks whether the receiver names it too. To one member.
    Check {
        /// The round in which the sender was elected.
        round: RoundId,
        /// The priority of the sender.
        #[serde(alias = "merit")]
        priority: Priority,
    },
    /// The leader, as far as the sender knows. To the member that asked.
    Answer {
        /// The round in which the leader was elected.
        round: RoundId,
        /// The leader.
        leader: Candidate,
    },
}

impl Message {
    /// The index of [`Message::Initiation`] among the kinds.
    pub const INITIATION: usize = 0;
}

crate::kinds!(
    Initiation "initiation", Preference "preference", Decision "decision", Question "question", Check "check", Answer "answer"
);
