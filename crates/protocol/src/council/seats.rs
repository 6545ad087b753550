//! The allowed number of representatives, and the meaning of a count of replies.

/// `[L..U]`: the allowed number of seats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seats {
    /// `L`: the least number of seats. At least 1.
    pub least: u32,
    /// `U`: the greatest number of seats.
    pub most: u32,
}

/// The centre's verdict on a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Fewer than `L`.
    Undershoot,
    /// From `L` to `U`.
    Council,
    /// More than `U`.
    Overshoot,
}

impl Seats {
    /// From `least` to `most`.
    pub const fn new(least: u32, most: u32) -> Self {
        Self { least, most }
    }

    /// True if `number` seats are a council.
    pub fn contain(self, number: u32) -> bool {
        (self.least..=self.most).contains(&number)
    }

    pub(super) fn verdict(self, count: u32) -> Verdict {
        if count < self.least {
            Verdict::Undershoot
        } else if count <= self.most {
            Verdict::Council
        } else {
            Verdict::Overshoot
        }
    }
}
