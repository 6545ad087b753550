//! The messages between nominees and voters, and the requests to a nominee.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Saved;
use crate::{Duration, Instant, MemberId};

/// One incarnation of a member, from a start to the next. A restarted member counts as another one:
/// it does not know its earlier actions, and answers to its earlier questions are not for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BallotOwner {
    /// The member.
    pub id: MemberId,
    /// A random number, drawn at each start.
    pub number: u64,
}

/// One attempt at tenure. Counters alone order ballots: two owners have no order, so only one of
/// two ballots with the same counter can win.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ballot {
    /// Higher than any counter that its owner knew.
    pub counter: u64,
    /// The nominee that made the ballot.
    pub owner: BallotOwner,
}

/// The identification of a tenure: the counter of the ballot with which it began. A later tenure
/// has a higher fence, so a resource that has seen a fence can refuse lower ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fence(pub u64);

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The messages between nominees and voters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Asks whether the voter would promise. The voter stores nothing.
    Ask {
        /// The ballot that would be prepared.
        ballot: Ballot,
    },
    /// The voter would promise.
    Would {
        /// The ballot of the question.
        ballot: Ballot,
    },
    /// Asks the voter to promise that it grants nothing to lower ballots.
    Prepare {
        /// The ballot to promise.
        ballot: Ballot,
    },
    /// The voter promises.
    Promise {
        /// The promised ballot.
        ballot: Ballot,
    },
    /// Asks the voter to grant tenure.
    Propose {
        /// The ballot that a majority has promised.
        ballot: Ballot,
        /// The number of the proposal within this incarnation.
        number: u64,
        /// The requested length of the tenure.
        ttl: Duration,
    },
    /// The voter grants tenure.
    Grant {
        /// The ballot that is granted.
        ballot: Ballot,
        /// The number of the proposal.
        number: u64,
    },
    /// The voter refuses.
    Refusal {
        /// The ballot of the question.
        ballot: Ballot,
        /// The question.
        question: Question,
        /// The counter to beat.
        promised: u64,
        /// The reason.
        refused: Refused,
    },
    /// The nominee no longer holds: the voter may drop its grant.
    Release {
        /// The highest ballot that was proposed.
        ballot: Ballot,
    },
    /// The sender no longer holds: the receiver may take over.
    Handover {
        /// The released ballot. The receiver sends the release to the voters too, in case the first
        /// one was lost.
        released: Ballot,
    },
}

/// A question of a nominee to a voter. An answer repeats it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Question {
    /// Asks whether the voter would promise.
    Ask,
    /// Asks for a promise.
    Prepare,
    /// Asks for a grant.
    Propose {
        /// The number of the proposal.
        number: u64,
    },
}

/// The reason of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Refused {
    /// Another member holds tenure, as far as this voter knows.
    Held {
        /// The holder.
        holder: MemberId,
        /// The remaining time of its grant, unless it is renewed.
        lasts: Duration,
    },
    /// The voter restarted, and grants from before the restart may still be live.
    Quarantined {
        /// The remaining time of the quarantine.
        lasts: Duration,
    },
    /// The voter has already promised a counter at least as high.
    Outrun,
    /// The requested ttl is longer than the voter grants.
    TtlTooLong {
        /// The longest ttl that it grants.
        max_ttl: Duration,
    },
    /// The voter has lost its promises, or never had any: an operator must initialise it.
    Uninitialised,
    /// The counter is in another era, or further above the voter's promise than one step allows.
    OutOfReach {
        /// The highest counter that it may promise next.
        most: u64,
    },
}

impl Message {
    /// The question and its ballot; `None` if this message is not a question.
    pub fn question(&self) -> Option<(Ballot, Question)> {
        match *self {
            Self::Ask { ballot } => Some((ballot, Question::Ask)),
            Self::Prepare { ballot } => Some((ballot, Question::Prepare)),
            Self::Propose { ballot, number, .. } => Some((ballot, Question::Propose { number })),
            Self::Would { .. } | Self::Promise { .. } | Self::Grant { .. } => None,
            Self::Refusal { .. } | Self::Release { .. } | Self::Handover { .. } => None,
        }
    }
}

/// A conclusion of a member that seeks tenure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TenureOutcome {
    /// This member holds tenure from now on. The end changes with each renewal: call
    /// [`Tenure::holds`](super::Tenure::holds) each time that it matters.
    #[serde(rename = "TenureGained")]
    Gained {
        /// The number that a resource checks.
        fence: Fence,
    },
    /// This member's tenure has ended, by its clock or by its release.
    #[serde(rename = "TenureLost")]
    Lost {
        /// The fence of the tenure that ended.
        fence: Fence,
    },
    /// Too many voters refused this member for its attempt to succeed. The refusal is one that
    /// names a holder, if there is one.
    #[serde(rename = "TenureRefused")]
    Refused(Refused),
}

crate::kinds!(
    Ask "ask", Would "would", Prepare "prepare", Promise "promise", Propose "propose",
    Grant "grant", Refusal "refusal", Release "release", Handover "handover"
);

/// Requests that the driver may submit to a nominee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Request {
    /// This member is nominated: it tries to get tenure. A repeated request starts a new attempt at
    /// once.
    Acquire,
    /// This member is no longer nominated: it stops trying. Tenure that it holds goes on until it
    /// is released.
    Withdraw,
    /// The guarded work has stopped: the member releases its tenure.
    Release,
    /// The guarded work has stopped: the member hands its tenure over to another one.
    Transfer {
        /// The next holder.
        to: MemberId,
    },
    /// Reports whether this member can do its work. Until the first report it can. While it cannot,
    /// the member neither tries nor renews.
    Healthy(bool),
}

/// The timers of a nominee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// A new attempt is due.
    Attempt,
    /// Too few voters have answered in time.
    Answer,
    /// The renewal is due.
    Renew,
    /// Tenure has ended.
    End,
}

crate::timers!(Attempt, Answer, Renew, End);

/// The roles of a member in tenure: nominee, voter, both or neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Role {
    /// For a voter: the state that it found on its disk.
    pub votes: Option<Saved>,
    /// True if the member may hold tenure.
    pub stands: bool,
}

/// A tenure that a member holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Held {
    /// The number that a resource checks.
    pub fence: Fence,
    /// The first moment on the holder's clock at which it no longer holds.
    pub until: Instant,
}
