//! The profile of a storm.

/// The profile of a storm. Most storms have all kinds of faults. But a defect that needs one
/// particular order of a few messages is seldom seen if other faults interfere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Season {
    /// Any fault may hit any member.
    Any,
    /// A few nominees come and go, voters lose their disks while promises are in flight, and there
    /// are no other faults.
    LostDisks,
}

impl Season {
    pub(super) fn of(seed: u64) -> Self {
        match seed % 5 {
            0 => Self::LostDisks,
            _ => Self::Any,
        }
    }
}
