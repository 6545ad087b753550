//! The messages of the announce family.

use serde::{Deserialize, Serialize};

use super::Takeover;
use crate::{Candidate, MemberId};

/// The claim of a member that announces itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The member, with its effective priority.
    pub candidate: Candidate,
    /// Greater after each start of the member: an announcement from before its last start is stale.
    pub incarnation: u32,
    /// True if the member has led unchallenged for long enough to keep its place against a better
    /// newcomer.
    pub established: bool,
    /// For an established leader: the number of members that it knows to be up, itself included. If
    /// two leaders meet after a partition, the one with more followers stays.
    #[serde(alias = "backing")]
    pub follower_count: u16,
}

impl Claim {
    /// The key by which claims are compared.
    #[inline]
    pub(super) fn rank(&self, takeover: Takeover) -> (bool, u16, Candidate) {
        match takeover {
            Takeover::Never => (self.established, self.follower_count, self.candidate),
            Takeover::ByTheBetter => (false, 0, self.candidate),
        }
    }
}

/// The messages of the announce family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// The sender leads.
    Announcement {
        /// The sender's claim.
        claim: Claim,
        /// The number of announcements since the sender's start, this one included.
        beat: u32,
        /// The number of goodbyes that the sender would send, by its present knowledge of the loss;
        /// 255 stands for 255 or more.
        byes: u8,
    },
    /// The sender asks which member leads.
    Query,
    /// The sender no longer leads.
    Bye {
        /// The incarnation of the sender.
        incarnation: u32,
    },
    /// A leader promises too few goodbyes for the sender to receive one.
    Complaint {
        /// The leader.
        about: MemberId,
        /// The number of goodbyes that would be enough.
        byes: u8,
    },
}

crate::kinds!(Announcement "announcement", Query "query", Bye "bye", Complaint "complaint");

impl Message {
    /// The announcement number `beat` of a member without incarnations, followers and goodbyes.
    pub(crate) fn plain(candidate: Candidate, beat: u32) -> Self {
        let claim = Claim { candidate, incarnation: 1, established: false, follower_count: 0 };
        Self::Announcement { claim, beat, byes: 0 }
    }

    /// The candidate that an announcement names.
    #[inline]
    pub(crate) fn announced(&self) -> Option<Candidate> {
        match self {
            Self::Announcement { claim, .. } => Some(claim.candidate),
            Self::Query | Self::Bye { .. } | Self::Complaint { .. } => None,
        }
    }

    /// For an announcement of an established leader: the number of members that it knows to follow
    /// it, itself included. Two such leaders meet only after a partition has healed.
    pub fn follower_count(&self) -> Option<u16> {
        match self {
            Self::Announcement { claim, .. } => claim.established.then_some(claim.follower_count),
            Self::Query | Self::Bye { .. } | Self::Complaint { .. } => None,
        }
    }
}
