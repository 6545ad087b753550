//! The candidates, and the one ordering that decides between two of them.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A member's identity, unique in its group. The ring protocols run on the cyclic order of
/// identities.
///
/// In JSON an identity is written as a string; a number is read too: see [`exact`](crate::exact).
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct MemberId(#[serde(with = "crate::exact")] pub u64);

/// A member's priority: any number that an application chooses, greater is better. The rule "the
/// greatest id wins" in papers is a priority equal to the identity.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Priority(pub u64);

/// A member that could lead.
///
/// `a > b` reads *a is the better candidate*: greater priority wins, ties go to the lower identity.
/// No two members compare equal, so every group has exactly one best candidate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Candidate {
    /// The priority.
    #[serde(alias = "merit")]
    pub priority: Priority,
    /// The identity.
    pub id: MemberId,
}

impl Candidate {
    /// A candidate that is better than all members: no member has this identity and priority.
    pub(crate) const BEYOND_ALL: Self = Self::new(0, u64::MAX);

    /// The candidate `id` with priority `priority`.
    pub const fn new(id: u64, priority: u64) -> Self {
        Self { priority: Priority(priority), id: MemberId(id) }
    }
}

impl Ord for Candidate {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        // One comparison of 128 bits. The identities are exchanged, so that the lower one ranks
        // higher.
        let wide = |high: Priority, low: MemberId| u128::from(high.0) << 64 | u128::from(low.0);
        wide(self.priority, other.id).cmp(&wide(other.priority, self.id))
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
    fn greater_priority_wins_and_ties_go_to_the_lower_identity() {
        assert!(Candidate::new(9, 2) > Candidate::new(1, 1));
        assert!(Candidate::new(1, 2) > Candidate::new(9, 2));
        assert!(Candidate::new(3, 5) == Candidate::new(3, 5));
    }
}
