//! How much is lost, measured, and how often to repeat what must not be missed.

/// What a member has measured of the loss between its leaders and itself, by the numbers of the
/// announcements that it heard. The recent past counts most.
///
/// There is one estimate for all leaders that it hears: of k leaders it is the average, and it
/// outlasts a change of leaders, so that a new one is judged by what was measured of those before it.
///
/// Goodbyes are counted by it too, and there all members are to have the same rule (`farewell`): one
/// that measures would complain every T_A of a leader with a fixed number that is too low.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LossEstimate {
    heard: u8,
    missed: u8,
    /// The last announcements, the latest first: a one for each that was missed.
    latest: u16,
}

/// After so many announcements the past counts half.
const MEMORY: u16 = 256;
/// As many announcements does the assumption weigh.
const WEIGHT_OF_ASSUMPTION: f64 = 8.0;

/// A loss is told to people once this many announcements were due, of which this many were missed.
const LEAST_DUE: u32 = 64;
const LEAST_MISSED: u8 = 4;

impl LossEstimate {
    /// Takes note of an announcement heard after `missed` that were not.
    pub(crate) fn note(&mut self, missed: u32) {
        let ones = !u16::MAX.unbounded_shl(missed);
        self.latest = (self.latest.unbounded_shl(missed) | ones) << 1;
        let mut heard = u16::from(self.heard) + 1;
        let mut missed = u16::from(self.missed) + missed.min(MEMORY.into()) as u16;
        if heard + missed >= MEMORY {
            heard /= 2;
            missed /= 2;
        }
        // Neither was more than 255 + 256 before it was halved, nor more than 255 if it was not.
        (self.heard, self.missed) = (heard as u8, missed as u8);
    }

    /// The probability of loss, given what to assume of it beforehand.
    pub(crate) fn loss(self, assumed: f64) -> f64 {
        let missed = f64::from(self.missed) + assumed * WEIGHT_OF_ASSUMPTION;
        missed / (f64::from(self.heard) + f64::from(self.missed) + WEIGHT_OF_ASSUMPTION)
    }

    /// What was measured alone; none until enough announcements were missed, of enough, to tell loss from chance.
    pub(crate) fn measured(self) -> Option<f64> {
        let due = u32::from(self.heard) + u32::from(self.missed);
        let is_known = due >= LEAST_DUE && self.missed >= LEAST_MISSED;
        is_known.then(|| f64::from(self.missed) / f64::from(due))
    }

    /// The same where it matters that the loss may have risen a moment ago: not less than what the latest
    /// announcements show.
    pub(crate) fn at_present(self, assumed: f64) -> f64 {
        let missed = f64::from(self.latest.count_ones());
        let latest = missed / (f64::from(u16::BITS) + WEIGHT_OF_ASSUMPTION);
        self.loss(assumed).max(latest)
    }
}

/// Repeating more often than this is in vain: then the network is not lossy but cut.
pub const MOST_REPETITIONS: u32 = 32;

/// How often to send what is lost with probability `loss` each time, so that all copies are lost
/// with probability `miss` at most. From 1 to [`MOST_REPETITIONS`].
pub fn repetitions(loss: f64, miss: f64) -> u32 {
    // A tenth thrice is a thousandth, whatever rounding says.
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
    fn the_estimate_moves_from_the_assumption_to_what_is_measured() {
        let mut estimate = LossEstimate::default();
        assert_eq!(estimate.loss(0.1), 0.1);
        // Every fourth is missed.
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
    fn a_loss_is_told_once_enough_is_known_of_it() {
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
    fn what_is_lost_of_late_counts_at_once_and_not_for_long() {
        let mut estimate = LossEstimate::default();
        for _ in 0..1_000 {
            estimate.note(0);
        }
        assert!(estimate.at_present(0.1) < 0.01);
        // Of twelve, five are missed.
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
    fn as_many_repetitions_as_it_takes_and_no_more() {
        assert_eq!(repetitions(0.0, 1e-9), 1);
        assert_eq!(repetitions(0.1, 1e-3), 3);
        assert_eq!(repetitions(0.4, 0.01), 6);
        assert_eq!(repetitions(1.0, 0.5), MOST_REPETITIONS);
        assert_eq!(repetitions(f64::NAN, 0.5), 1);
    }
}
