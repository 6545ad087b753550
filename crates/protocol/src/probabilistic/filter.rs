//! The members that take part in a round: the paper's filter, H(member, initiation) x N_i < K.
//!
//! H is keyed by the group, so that two groups pick different members. It uses integers only, so
//! that it is the same on every machine. The key is no secret: the seal of the messages keeps
//! strangers out.

use crate::MemberId;
use crate::mix64::mix64;

/// The purpose for which H picks members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DrawPurpose {
    /// The members that relay.
    Relay,
    /// The members that call the next round, by the paper's rule.
    Recall,
}

/// H for one round of one election, evaluated for many members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Filter(u64);

impl Filter {
    /// All initiations of one round of one election give the same filter, no matter which member
    /// called.
    #[inline]
    pub(super) fn new(key: u64, sequence: u64, round: u16, draw: DrawPurpose) -> Self {
        let part = u64::from(round) << 8 | draw as u64;
        Self(mix64(mix64(key ^ mix64(sequence)) ^ part))
    }

    /// H of a member, in [0, 1), as a fraction of 2^64.
    #[inline]
    fn value(self, member: MemberId) -> u64 {
        mix64(self.0 ^ member.0)
    }

    /// True if `member` is among the K of N members that are expected to pass.
    #[inline]
    pub(super) fn admits(self, member: MemberId, size: u64, k: u32) -> bool {
        // The high half of the product is the integer part of H x N.
        let value = u128::from(self.value(member)) * u128::from(size);
        value >> 64 < u128::from(k)
    }

    /// The same predicate, prepared for many members.
    #[inline]
    pub(super) fn among(self, size: u64, k: u32) -> impl Fn(MemberId) -> bool {
        // H x N < K means H < K / N; for integers, H is below the quotient rounded up.
        let bound = (u128::from(k) << 64).div_ceil(u128::from(size.max(1)));
        move |member| u128::from(self.value(member)) < bound
    }

    /// The least group size for which `member` does not pass.
    pub(super) fn least_without(self, member: MemberId, k: u32) -> u64 {
        // H x N >= K means N >= K / H.
        let value = u128::from(self.value(member).max(1));
        u64::try_from((u128::from(k) << 64).div_ceil(value)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::{DrawPurpose, Filter};
    use crate::MemberId;

    fn admitted(filter: Filter, size: u64, k: u32) -> usize {
        let members = (0..size).map(MemberId);
        members.filter(|&id| filter.admits(id, size, k)).count()
    }

    #[test]
    fn k_of_n_members_pass_with_binomial_mean_and_variance() {
        let (size, k, rounds) = (2_000, 14, 4_000);
        let counts: Vec<f64> = (0..rounds)
            .map(|sequence| {
                admitted(Filter::new(9, sequence, 1, DrawPurpose::Relay), size, k) as f64
            })
            .collect();
        let mean = counts.iter().sum::<f64>() / rounds as f64;
        let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / rounds as f64;
        // Binomial: mean 14, variance 13.9; their standard errors are 0.059 and 0.31.
        assert!((mean - 14.0).abs() < 4.5 * 0.059, "{mean}");
        assert!((variance - 13.9).abs() < 4.5 * 0.31, "{variance}");
    }

    #[test]
    fn the_three_forms_of_the_predicate_agree() {
        for sequence in 0..50 {
            let filter = Filter::new(3, sequence, 2, DrawPurpose::Relay);
            for (size, k) in [(1, 0), (1, 1), (0, 1), (7, 3), (100, 100), (5_000, 40), (3, 9)] {
                let among = filter.among(size, k);
                for member in (0..200).map(MemberId) {
                    let admits = filter.admits(member, size, k);
                    assert_eq!(among(member), admits, "{member:?} of {size}");
                    assert_eq!(size < filter.least_without(member, k), admits, "{member:?}");
                }
            }
            for member in (0..200).map(MemberId) {
                let least = filter.least_without(member, 7);
                assert!(filter.admits(member, least - 1, 7) && !filter.admits(member, least, 7));
            }
        }
    }

    #[test]
    fn all_members_pass_for_k_equal_n_and_none_for_k_zero() {
        let filter = Filter::new(1, 2, 3, DrawPurpose::Relay);
        assert_eq!(admitted(filter, 1_000, 1_000), 1_000);
        assert_eq!(admitted(filter, 1_000, 0), 0);
    }

    #[test]
    fn another_key_election_round_or_purpose_picks_other_members() {
        let picked = |filter: Filter| -> Vec<u64> {
            let members = 0..5_000;
            members.filter(|&id| filter.admits(MemberId(id), 5_000, 20)).collect()
        };
        let one = picked(Filter::new(1, 1, 1, DrawPurpose::Relay));
        assert_eq!(one, picked(Filter::new(1, 1, 1, DrawPurpose::Relay)));
        for other in [
            Filter::new(2, 1, 1, DrawPurpose::Relay),
            Filter::new(1, 2, 1, DrawPurpose::Relay),
            Filter::new(1, 1, 2, DrawPurpose::Relay),
            Filter::new(1, 1, 1, DrawPurpose::Recall),
        ] {
            assert_ne!(one, picked(other));
        }
    }

    #[test]
    fn the_hash_picks_the_recorded_members() {
        let filter = Filter::new(42, 7, 1, DrawPurpose::Relay);
        let picked: Vec<u64> = (0..100).filter(|&id| filter.admits(MemberId(id), 100, 8)).collect();
        assert_eq!(picked, PICKED);
    }

    /// Computed once: a change of the hash is a change of the protocol.
    const PICKED: [u64; 6] = [1, 54, 56, 79, 98, 99];
}
