//! Who could lead, and the one ordering that decides between two.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::exact;

/// A member's identity, unique in its group. The cyclic order of identities is the ring on which
/// the ring protocols run.
///
/// In JSON it is a string, and a number is read too: see [`exact`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId(pub u64);

impl Serialize for MemberId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        exact::serialize(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for MemberId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        exact::deserialize(deserializer).map(Self)
    }
}

/// How well a member would lead: anything an application can put into a number, greater is
/// better. What papers call "the greatest id wins" is a merit equal to the identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Merit(pub u64);

/// A member that could lead.
///
/// `a > b` reads *a is the better candidate*: greater merit wins, ties go to the lower identity.
/// No two members compare equal, so every group has exactly one best candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Candidate {
    /// How well it would lead.
    pub merit: Merit,
    /// Who it is.
    pub id: MemberId,
}

impl Candidate {
    /// Better than all others, and nobody: no member has this identity and merit.
    pub(crate) const BEYOND_ALL: Self = Self::new(0, u64::MAX);

    /// The candidate `id` of merit `merit`.
    pub const fn new(id: u64, merit: u64) -> Self {
        Self {
            merit: Merit(merit),
            id: MemberId(id),
        }
    }
}

impl Ord for Candidate {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        // One comparison of 128 bits. With the identities exchanged the lower one counts more.
        let wide = |high: Merit, low: MemberId| u128::from(high.0) << 64 | u128::from(low.0);
        wide(self.merit, other.id).cmp(&wide(other.merit, self.id))
    }
}

impl PartialOrd for Candidate {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for MemberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Candidate;

    #[test]
    fn greater_merit_wins_and_ties_go_to_the_lower_identity() {
        assert!(Candidate::new(9, 2) > Candidate::new(1, 1));
        assert!(Candidate::new(1, 2) > Candidate::new(9, 2));
        assert!(Candidate::new(3, 5) == Candidate::new(3, 5));
    }
}
