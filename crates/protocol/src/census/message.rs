//! What members say to each other, and what they pass on.

use serde::{Deserialize, Serialize};

use crate::{Duration, MemberId};

/// A count of the group: the later one counts, and of two with the same number that of the caller of greater identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Count {
    /// Greater than that of any that its caller knows.
    pub number: u64,
    /// Who called it.
    pub caller: MemberId,
}

/// What a member has, or passes on: so much of the sum, and of the weight that it is to be divided by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// Of the sum over all members, in which each is 1.
    pub value: f64,
    /// Of the weight, which is 1 in all.
    pub weight: f64,
}

impl Share {
    /// More than this no member has of a group with identities of 64 bits.
    const MOST: f64 = 18_446_744_073_709_551_616.0;

    /// Whether a member can have it: no sum of such shares is anything but a finite number.
    pub(super) fn is_possible(self) -> bool {
        (0.0..=Self::MOST).contains(&self.value) && (0.0..=1.0).contains(&self.weight)
    }

    pub(super) fn add(&mut self, other: Self) {
        self.value += other.value;
        self.weight += other.weight;
    }

    /// Takes half of it away.
    pub(super) fn split(&mut self) -> Self {
        self.value /= 2.0;
        self.weight /= 2.0;
        *self
    }
}

/// What members say to each other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Message {
    /// Take this.
    Parcel {
        /// Of which count.
        count: Count,
        /// How long ago that was called, not counting what messages took.
        age: Duration,
        /// Drawn at random: by it and the sender a parcel that comes again is known.
        number: u32,
        /// What is in it.
        share: Share,
    },
    /// I have it.
    Receipt {
        /// The parcel's number.
        number: u32,
    },
}

impl crate::Message for Message {
    const KINDS: &'static [&'static str] = &["parcel", "receipt"];

    #[inline]
    fn kind(&self) -> usize {
        match self {
            Self::Parcel { .. } => 0,
            Self::Receipt { .. } => 1,
        }
    }
}
