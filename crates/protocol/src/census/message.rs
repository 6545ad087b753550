//! The messages of a count, and the shares that they carry.

use serde::{Deserialize, Serialize};

use crate::{Duration, MemberId};

/// A count of the group. A later count supersedes an earlier one; of two with the same number, the
/// one whose caller has the greater identity counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Count {
    /// Greater than that of any count that its caller knows.
    pub number: u64,
    /// The member that called the count.
    pub caller: MemberId,
}

/// A part of the sum, and of the weight by which it is divided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The part of the sum over all members, in which each member is 1.
    pub value: f64,
    /// The part of the weight, which is 1 in total.
    pub weight: f64,
}

impl Share {
    /// The greatest value in a group with identities of 64 bits.
    const MOST: f64 = 18_446_744_073_709_551_616.0;

    /// True if a member can have this share: any sum of possible shares is a finite number.
    pub(super) fn is_possible(self) -> bool {
        (0.0..=Self::MOST).contains(&self.value) && (0.0..=1.0).contains(&self.weight)
    }

    pub(super) fn add(&mut self, other: Self) {
        self.value += other.value;
        self.weight += other.weight;
    }

    /// Halves this share and returns the other half.
    pub(super) fn split(&mut self) -> Self {
        self.value /= 2.0;
        self.weight /= 2.0;
        *self
    }
}

/// The messages of a count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Message {
    /// Carries a share.
    Parcel {
        /// The count.
        count: Count,
        /// The time since the count was called, without message delays.
        age: Duration,
        /// A random number. The sender and this number identify a repeated parcel.
        number: u32,
        /// The share.
        share: Share,
    },
    /// Confirms a parcel.
    Receipt {
        /// The parcel's number.
        number: u32,
    },
}

crate::kinds!(Parcel "parcel", Receipt "receipt");
