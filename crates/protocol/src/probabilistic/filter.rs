//! Who takes part in a round: the document's filter, H(member, initiation) x N_i < K.
//!
//! H is keyed by the group, so that no two groups draw alike, and made of whole numbers, so that it is the same on every
//! machine. The key is no secret: what keeps others out is the seal of the messages.

use crate::MemberId;
use crate::scatter::scatter;

/// What H is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Draw {
    /// Who relays.
    Relay,
    /// Who calls the next round, by the document's rule.
    Recall,
}

/// H for one round of one election, to be asked about many members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Filter(u64);

impl Filter {
    /// All initiations of one round of one election are the same: whoever called it, members draw alike.
    #[inline]
    pub(super) fn new(key: u64, sequence: u64, round: u16, draw: Draw) -> Self {
        let part = u64::from(round) << 8 | draw as u64;
        Self(scatter(scatter(key ^ scatter(sequence)) ^ part))
    }

    /// H of a member, in [0, 1), as a fraction of 2^64.
    #[inline]
    fn value(self, member: MemberId) -> u64 {
        scatter(self.0 ^ member.0)
    }

    /// Whether `member` is among the K, of N, that are expected to pass.
    #[inline]
    pub(super) fn admits(self, member: MemberId, size: u64, k: u32) -> bool {
        // The high half of the product is the whole part of H x N.
        let value = u128::from(self.value(member)) * u128::from(size);
        value >> 64 < u128::from(k)
    }

    /// The same, to be asked about many.
    #[inline]
    pub(super) fn among(self, size: u64, k: u32) -> impl Fn(MemberId) -> bool {
        // H x N < K, that is H < K / N: of whole numbers, below the quotient rounded up.
        let bound = (u128::from(k) << 64).div_ceil(u128::from(size.max(1)));
        move |member| u128::from(self.value(member)) < bound
    }

    /// The size of the smallest group of which `member` is not among the K.
    pub(super) fn least_without(self, member: MemberId, k: u32) -> u64 {
        // H x N >= K, that is N >= K / H.
        let value = u128::from(self.value(member).max(1));
        u64::try_from((u128::from(k) << 64).div_ceil(value)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::{Draw, Filter};
    use crate::MemberId;

    fn admitted(filter: Filter, size: u64, k: u32) -> usize {
        let members = (0..size).map(MemberId);
        members.filter(|&id| filter.admits(id, size, k)).count()
    }

    #[test]
    fn k_of_n_pass_on_average_with_the_spread_of_fair_coins() {
        let (size, k, rounds) = (2_000, 14, 4_000);
        let counts: Vec<f64> = (0..rounds)
            .map(|sequence| admitted(Filter::new(9, sequence, 1, Draw::Relay), size, k) as f64)
            .collect();
        let mean = counts.iter().sum::<f64>() / rounds as f64;
        let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / rounds as f64;
        // Binomial: mean 14, variance 13.9; their standard errors are 0.059 and 0.31.
        assert!((mean - 14.0).abs() < 4.5 * 0.059, "{mean}");
        assert!((variance - 13.9).abs() < 4.5 * 0.31, "{variance}");
    }

    #[test]
    fn three_ways_to_ask_have_one_answer() {
        for sequence in 0..50 {
            let filter = Filter::new(3, sequence, 2, Draw::Relay);
            for (size, k) in [
                (1, 0),
                (1, 1),
                (0, 1),
                (7, 3),
                (100, 100),
                (5_000, 40),
                (3, 9),
            ] {
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
    fn everybody_passes_when_k_is_n_and_nobody_when_it_is_nothing() {
        let filter = Filter::new(1, 2, 3, Draw::Relay);
        assert_eq!(admitted(filter, 1_000, 1_000), 1_000);
        assert_eq!(admitted(filter, 1_000, 0), 0);
    }

    #[test]
    fn key_election_round_and_purpose_each_pick_others() {
        let picked = |filter: Filter| -> Vec<u64> {
            let members = 0..5_000;
            members
                .filter(|&id| filter.admits(MemberId(id), 5_000, 20))
                .collect()
        };
        let one = picked(Filter::new(1, 1, 1, Draw::Relay));
        assert_eq!(one, picked(Filter::new(1, 1, 1, Draw::Relay)));
        for other in [
            Filter::new(2, 1, 1, Draw::Relay),
            Filter::new(1, 2, 1, Draw::Relay),
            Filter::new(1, 1, 2, Draw::Relay),
            Filter::new(1, 1, 1, Draw::Recall),
        ] {
            assert_ne!(one, picked(other));
        }
    }

    #[test]
    fn the_hash_is_the_same_on_every_machine() {
        let filter = Filter::new(42, 7, 1, Draw::Relay);
        let picked: Vec<u64> = (0..100)
            .filter(|&id| filter.admits(MemberId(id), 100, 8))
            .collect();
        assert_eq!(picked, PICKED);
    }

    /// As computed once: a change of the hash is a change of the protocol.
    const PICKED: [u64; 6] = [1, 54, 56, 79, 98, 99];
}
