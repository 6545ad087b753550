//! What members of the announce family say to each other.

use serde::{Deserialize, Serialize};

use super::Takeover;
use crate::{Candidate, MemberId};

/// What somebody who announces itself claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Who it is, with the merit that counts.
    pub candidate: Candidate,
    /// How often it has come up: an announcement from before its last restart is stale.
    pub incarnation: u32,
    /// Whether it has led unchallenged long enough to stay where leaders are not unseated.
    pub established: bool,
    /// If so, how many members it knows to be there, itself included: of two that lead, as after a cut
    /// has healed, the one with more members behind it stays.
    pub backing: u16,
}

impl Claim {
    /// What claims are compared by.
    #[inline]
    pub(super) fn rank(&self, takeover: Takeover) -> (bool, u16, Candidate) {
        match takeover {
            Takeover::Never => (self.established, self.backing, self.candidate),
            Takeover::ByTheBetter => (false, 0, self.candidate),
        }
    }
}

/// What members say to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// I lead.
    Announcement {
        /// Who I am.
        claim: Claim,
        /// How many announcements I have made since I came up, this one included.
        beat: u32,
        /// How often I would say goodbye, by what I know now of the loss; 255: or more.
        byes: u8,
    },
    /// Who leads?
    Query,
    /// I lead no longer.
    Bye {
        /// How often I have come up.
        incarnation: u32,
    },
    /// One of those who lead would say goodbye too rarely for me to hear it.
    Complaint {
        /// Who.
        about: MemberId,
        /// How often would do.
        byes: u8,
    },
}

impl crate::Message for Message {
    const KINDS: &'static [&'static str] = &["announcement", "query", "bye", "complaint"];

    #[inline]
    fn kind(&self) -> usize {
        match self {
            Self::Announcement { .. } => 0,
            Self::Query => 1,
            Self::Bye { .. } => 2,
            Self::Complaint { .. } => 3,
        }
    }

    #[inline]
    fn weight(&self) -> Option<Candidate> {
        match self {
            Self::Announcement { claim, .. } => Some(claim.candidate),
            Self::Query | Self::Bye { .. } | Self::Complaint { .. } => None,
        }
    }

    fn backing(&self) -> Option<u16> {
        match self {
            Self::Announcement { claim, .. } => claim.established.then_some(claim.backing),
            Self::Query | Self::Bye { .. } | Self::Complaint { .. } => None,
        }
    }
}
