//! The measured loss, and the number of copies of a message that must arrive.

/// A member's estimate of the loss between its leaders and itself, from the numbers of the
/// announcements received. The recent past has the most weight.
///
/// There is one estimate for all leaders: with k leaders it is the average, and it outlasts a
/// change of leaders, so that a new leader is judged by the loss of earlier ones.
///
/// The estimate also determines the number of goodbyes, and there all members need the same rule
/// (`farewell`): a member that measures would complain every T_A about a leader with a fixed number
/// that is too low.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LossEstimate {
    heard: u8,
    missed: u8,
    /// The last announcements, the latest in the lowest bit: 1 for each that was missed.
    latest: u16,
}

/// The number of announcements after which the past has half its weight.
const MEMORY: u16 = 256;
/// The weight of the assumption, in announcements.
const WEIGHT_OF_ASSUMPTION: f64 = 8.0;

/// The numbers of due and of missed announcements from which a loss is shown to people.
const LEAST_DUE: u32 = 64;
const LEAST_MISSED: u8 = 4;

impl LossEstimate {
    /// Notes an announcement received after `missed` lost ones.
    pub(crate) fn note(&mut self, missed: u32) {
        let ones = !u16::MAX.unbounded_shl(missed);
        self.latest = (self.latest.unbounded_shl(missed) | ones) << 1;
        let mut heard = u16::from(self.heard) + 1;
        let mut missed = u16::from(self.missed) + missed.min(MEMORY.into()) as u16;
        if heard + missed >= MEMORY {
            heard /= 2;
            missed /= 2;
        }
        // Each sum was at most 255 + 256 before it was halved, and at most 255 if it was not.
        (self.heard, self.missed) = (heard as u8, missed as u8);
    }

    /// The probability of loss, combined with the assumption `assumed`.
    pub(crate) fn loss(self, assumed: f64) -> f64 {
        let missed = f64::from(self.missed) + assumed * WEIGHT_OF_ASSUMPTION;
        missed / (f64::from(self.heard) + f64::from(self.missed) + WEIGHT_OF_ASSUMPTION)
    }

    /// The measured loss alone; `None` until enough announcements were missed, of enough due, to
    /// tell loss from chance.
    pub(crate) fn measured(self) -> Option<f64> {
        let due = u32::from(self.heard) + u32::from(self.missed);
        let is_known = due >= LEAST_DUE && self.missed >= LEAST_MISSED;
        is_known.then(|| f64::from(self.missed) / f64::from(due))
    }

    /// The probability of loss, but at least that of the latest announcements: the loss may have
    /// just risen.
    pub(crate) fn at_present(self, assumed: f64) -> f64 {
        let missed = f64::from(self.latest.count_ones());
        let latest = missed / (f64::from(u16::BITS) + WEIGHT_OF_ASSUMPTION);
        self.loss(assumed).max(latest)
    }
}

/// The greatest number of copies: beyond it the network is not lossy but cut.
pub const MOST_REPETITIONS: u32 = 32;

/// The number of copies of a message, each lost with probability `loss`, such that all copies are
/// lost with probability `miss` at most. From 1 to [`MOST_REPETITIONS`].
pub fn repetitions(loss: f64, miss: f64) -> u32 {
    // 0.1^3 must count as 0.001 in spite of rounding.
    let bound = miss * (1.0 + 1e-9);
    let mut all_lost = loss;
    let mut count = 1;
    while all_lost > bound && count < MOST_REPETITIONS {
        all_lost *= loss;
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::{LossEstimate, MOST_REPETITIONS, repetitions};

    #[test]
    fn the_estimate_moves_from_the_assumed_to_the_measured_loss() {
        let mut estimate = LossEstimate::default();
        assert_eq!(estimate.loss(0.1), 0.1);
        // Every fourth announcement is missed.
        for beat in 0..2_000 {
            if beat % 3 == 0 {
                estimate.note(1);
            } else {
                estimate.note(0);
            }
        }
        assert!((estimate.loss(0.1) - 0.25).abs() < 0.03);
        estimate.note(u32::MAX);
        assert!(estimate.loss(0.1) <= 1.0);
    }

    #[test]
    fn a_loss_is_reported_once_it_is_known_well_enough() {
        let mut estimate = LossEstimate::default();
        for _ in 0..30 {
            estimate.note(1);
        }
        assert_eq!(estimate.measured(), None, "60 were due");
        (0..60).for_each(|_| estimate.note(0));
        assert_eq!(estimate.measured(), Some(0.25));
        let mut estimate = LossEstimate::default();
        (0..100).for_each(|_| estimate.note(0));
        estimate.note(3);
        assert_eq!(estimate.measured(), None, "three may be chance");
        estimate.note(1);
        assert_eq!(estimate.measured(), Some(4.0 / 106.0));
    }

    #[test]
    fn recent_loss_counts_at_once_and_not_for_long() {
        let mut estimate = LossEstimate::default();
        for _ in 0..1_000 {
            estimate.note(0);
        }
        assert!(estimate.at_present(0.1) < 0.01);
        // Five of twelve are missed.
        for missed in [2, 0, 1, 0, 0, 2, 0] {
            estimate.note(missed);
        }
        assert!(estimate.loss(0.1) < 0.05);
        assert_eq!(estimate.at_present(0.1), 5.0 / 24.0);
        for _ in 0..16 {
            estimate.note(0);
        }
        assert_eq!(estimate.at_present(0.1), estimate.loss(0.1));
        estimate.note(u32::MAX);
        assert!(estimate.at_present(0.1) <= 1.0);
    }

    #[test]
    fn repetitions_are_the_least_that_suffice() {
        assert_eq!(repetitions(0.0, 1e-9), 1);
        assert_eq!(repetitions(0.1, 1e-3), 3);
        assert_eq!(repetitions(0.4, 0.01), 6);
        assert_eq!(repetitions(1.0, 0.5), MOST_REPETITIONS);
        assert_eq!(repetitions(f64::NAN, 0.5), 1);
    }
}
