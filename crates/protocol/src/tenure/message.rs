//! What nominees and voters say to each other, and what a nominee is asked by whoever runs it.

use serde::{Deserialize, Serialize};

use super::{Ballot, Fence, Saved};
use crate::{Duration, Instant, MemberId};

/// What nominees and voters say to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Would you promise? Nothing is stored.
    Ask {
        /// What would be prepared.
        ballot: Ballot,
    },
    /// I would.
    Would {
        /// What was asked about.
        ballot: Ballot,
    },
    /// Promise to grant nothing to lower ballots.
    Prepare {
        /// What is to be promised.
        ballot: Ballot,
    },
    /// I promise.
    Promise {
        /// What is promised.
        ballot: Ballot,
    },
    /// Grant me tenure.
    Propose {
        /// What a majority has promised.
        ballot: Ballot,
        /// Which proposal of this incarnation it is.
        number: u64,
        /// For how long.
        ttl: Duration,
    },
    /// I grant it.
    Grant {
        /// Of whom.
        ballot: Ballot,
        /// Of which proposal.
        number: u64,
    },
    /// I do not.
    Refusal {
        /// Whom.
        ballot: Ballot,
        /// What was asked.
        question: Question,
        /// The counter to beat.
        promised: u64,
        /// Why.
        refused: Refused,
    },
    /// I hold no longer: drop your grant.
    Release {
        /// The highest ballot that was proposed.
        ballot: Ballot,
    },
    /// I hold no longer: you do, if you can.
    Handover {
        /// What was released. Whoever is told tells the voters too, in case they were not.
        released: Ballot,
    },
}

/// What a nominee can ask a voter, and what an answer is an answer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Question {
    /// Whether it would promise.
    Ask,
    /// To promise.
    Prepare,
    /// To grant.
    Propose {
        /// Which proposal.
        number: u64,
    },
}

/// Why a voter refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Refused {
    /// Somebody else holds tenure, for all this voter knows.
    Held {
        /// Who.
        holder: MemberId,
        /// For how long its grant lasts, unless it is renewed.
        lasts: Duration,
    },
    /// It restarted, and what it granted before may still last.
    Quarantined {
        /// For how long.
        lasts: Duration,
    },
    /// It promised as high a counter already.
    Outrun,
    /// It never grants so much.
    TtlTooLong {
        /// What it grants at most.
        max_ttl: Duration,
    },
    /// It has lost what it promised, or never had it: initialise it on purpose.
    Uninitialised,
    /// The counter is further above its promise than the voter may go in one step, or in another era.
    OutOfReach {
        /// The highest counter that it may promise next.
        most: u64,
    },
}

impl Message {
    /// What a nominee asks a voter with it, and for which ballot; none if it is no question.
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

impl crate::Message for Message {
    const KINDS: &'static [&'static str] = &[
        "ask", "would", "prepare", "promise", "propose", "grant", "refusal", "release", "handover",
    ];

    fn kind(&self) -> usize {
        match self {
            Self::Ask { .. } => 0,
            Self::Would { .. } => 1,
            Self::Prepare { .. } => 2,
            Self::Promise { .. } => 3,
            Self::Propose { .. } => 4,
            Self::Grant { .. } => 5,
            Self::Refusal { .. } => 6,
            Self::Release { .. } => 7,
            Self::Handover { .. } => 8,
        }
    }
}

/// What whoever runs a nominee may ask of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Request {
    /// This member is nominated: get tenure. Asked once more, it tries again at once.
    Acquire,
    /// It is nominated no longer: it stops trying. Tenure that it holds goes on until it is released.
    Withdraw,
    /// The guarded work has stopped: give tenure up.
    Release,
    /// The guarded work has stopped: give tenure up for another member.
    Transfer {
        /// For whom.
        to: MemberId,
    },
    /// Whether this member can do its work; until it is told it can. While it cannot, it neither tries
    /// nor renews.
    Healthy(bool),
}

/// What a nominee waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// It is time for a new attempt.
    Attempt,
    /// Too few have answered.
    Answer,
    /// It is time to renew.
    Renew,
    /// Tenure has ended.
    End,
}

impl crate::Timer for Timer {
    const ALL: &'static [Self] = &[Self::Attempt, Self::Answer, Self::Renew, Self::End];

    fn index(self) -> usize {
        self as usize
    }
}

/// What part a member takes in tenure: either, both or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Role {
    /// As a voter: what it finds on its disk.
    pub votes: Option<Saved>,
    /// Whether it may hold tenure.
    pub stands: bool,
}

/// A tenure that a member holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Held {
    /// The number that a resource checks.
    pub fence: Fence,
    /// The first moment on the holder's clock at which it does not hold any more.
    pub until: Instant,
}
