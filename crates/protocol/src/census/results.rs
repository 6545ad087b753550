//! The results of the last counts.

use tinyvec::ArrayVec;

use super::Share;

/// The greatest number of counts that are kept.
pub const MOST_KEPT: usize = 8;

/// The results of the last counts, the latest first.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Results {
    /// The inverses of the sizes, which are proportional to the weight. A count that goes wrong has
    /// lost weight. One without any weight would make a mean of sizes infinite, but is only one of
    /// several in a mean of inverses.
    inverses: ArrayVec<[f64; MOST_KEPT]>,
}

impl Results {
    /// Enters the result of a count, unless no weight has reached this member. Keeps `kept` results
    /// in total.
    pub(super) fn enter(&mut self, share: Share, kept: usize) {
        let inverse = share.weight / share.value;
        if inverse.is_finite() && inverse > 0.0 {
            let earlier = self.inverses.into_iter().take(kept.clamp(1, MOST_KEPT) - 1);
            self.inverses = [inverse].into_iter().chain(earlier).collect();
        }
    }

    /// The size of the group.
    pub(super) fn size(&self) -> Option<u64> {
        let counts = self.inverses.len() as f64;
        let sum = self.inverses.iter().sum::<f64>();
        // A float-to-integer cast saturates.
        (counts > 0.0).then(|| ((counts / sum).round() as u64).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::{Results, Share};

    fn enter(results: &mut Results, value: f64, weight: f64) {
        results.enter(Share { value, weight }, 2);
    }

    #[test]
    fn inverses_are_averaged_over_the_last_counts() {
        let mut results = Results::default();
        assert_eq!(results.size(), None);
        enter(&mut results, 7.0, 0.5);
        assert_eq!(results.size(), Some(14));
        enter(&mut results, 100.0, 1.0);
        enter(&mut results, 300.0, 1.0);
        assert_eq!(results.size(), Some(150));
    }

    #[test]
    fn impossible_shares_give_no_size_and_extreme_ones_saturate() {
        let mut results = Results::default();
        for (value, weight) in [(1.0, 0.0), (0.0, 0.0), (0.0, 1.0), (f64::NAN, 1.0)] {
            enter(&mut results, value, weight);
            assert_eq!(results.size(), None, "{value} / {weight}");
        }
        enter(&mut results, 1e-300, 1.0);
        assert_eq!(results.size(), Some(1));
        let mut results = Results::default();
        enter(&mut results, 1e19, 1e-300);
        assert_eq!(results.size(), Some(u64::MAX));
    }
}
