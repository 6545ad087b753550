//! How many representatives there may be, and what a count of replies means for that.

/// `[L..U]`: from so many to so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seats {
    /// `L`: at least so many. One or more.
    pub least: u32,
    /// `U`: at most so many.
    pub most: u32,
}

/// What the centre makes of a count.
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

    /// Whether so many are a council.
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
