//! What kind of storm a seed is.

/// Most storms bring anything. But what is wrong in one order of a few messages only, among many, is seldom seen where other
/// strikes break them up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Season {
    /// Anything may strike anybody.
    Any,
    /// A few nominees come and go, voters lose their disks while promises are on their way, and nothing else happens.
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
