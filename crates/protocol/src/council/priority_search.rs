//! Seats by priority: the centre raises a threshold until only the best hosts are above it.
//!
//! About `c` of the hosts at or above the threshold reply at random. If `k` hosts replied, about
//! `j/(k + 1)` of all hosts are at least as good as the `j`-th best of them. The next threshold is
//! the best of them above which more than `c` hosts are expected. When at most `c` are expected,
//! all reply, and the best of them get the seats. Each round divides the number by about `c`, so a
//! million takes eight rounds. The distribution of priorities need not be known.

use super::Seats;
use crate::Candidate;

/// The progress of the threshold.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PrioritySearch {
    /// The earlier thresholds, each with the number of hosts expected above it.
    below: Vec<Step>,
    floor: Option<Candidate>,
    /// The number of all hosts, once there is a threshold.
    foot: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Step {
    floor: Option<Candidate>,
    size: f64,
}

/// The result of a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Found {
    /// The hosts that replied are the best.
    Best,
    /// Go on: the number of hosts expected above the threshold. Zero: all are to reply.
    Size(f64),
    /// No host replied although some should have, so there are fewer than expected. Or too few
    /// exist, even though all reply.
    TooFew,
}

impl PrioritySearch {
    pub(super) fn floor(&self) -> Option<Candidate> {
        self.floor
    }

    /// The number of all hosts, once there is a threshold.
    pub(super) fn foot(&self) -> Option<f64> {
        self.foot
    }

    /// Handles the replies of a round to which about `size` hosts were called; all of them if that
    /// is zero. `best_first` are the hosts that replied.
    pub(super) fn take_in(
        &mut self,
        best_first: &[Candidate],
        size: f64,
        (wanted, c): (Seats, f64),
    ) -> Found {
        let heard = best_first.len();
        let all_replied = size <= c;
        if all_replied && heard >= wanted.least as usize {
            return Found::Best;
        }
        if heard == 0 && !all_replied {
            return Found::TooFew;
        }
        if all_replied {
            return match self.below.pop() {
                // The step from there was too high, so there may also be fewer hosts than expected.
                Some(Step { floor, size }) => {
                    self.floor = floor;
                    Found::Size(size / 2.0)
                }
                None => Found::TooFew,
            };
        }
        let part = size / (heard as f64 + 1.0);
        let rank = (c / part).ceil().max(1.0);
        if rank > heard as f64 {
            return Found::Size(0.0); // few enough: all are to reply
        }
        self.foot.get_or_insert(size);
        self.below.push(Step { floor: self.floor, size });
        self.floor = best_first.get(rank as usize - 1).copied();
        Found::Size((rank * part).max(c))
    }
}

#[cfg(test)]
mod tests {
    use super::{Found, PrioritySearch};
    use crate::Candidate;
    use crate::council::Seats;

    fn replies(priorities: &[u64]) -> Vec<Candidate> {
        priorities.iter().map(|it| Candidate::new(*it, *it)).collect()
    }

    #[test]
    fn the_threshold_rises_by_samples_and_falls_when_it_is_too_high() {
        let goal = (Seats::new(1, 3), 2.0);
        let mut threshold = PrioritySearch::default();
        // 4 of 1,000: about 200 are above the best.
        let found = threshold.take_in(&replies(&[900, 500, 400, 300]), 1_000.0, goal);
        assert_eq!(found, Found::Size(200.0));
        assert_eq!(threshold.floor(), Some(Candidate::new(900, 900)));
        // No reply of 200: there are fewer. No reply at all: one step back.
        assert_eq!(threshold.take_in(&[], 200.0, goal), Found::TooFew);
        assert_eq!(threshold.take_in(&[], 0.0, goal), Found::Size(500.0));
        assert_eq!(threshold.floor(), None);
        assert_eq!(threshold.take_in(&[], 0.0, goal), Found::TooFew);
    }

    #[test]
    fn when_few_are_above_the_threshold_all_reply_and_are_the_best() {
        let goal = (Seats::new(1, 3), 2.0);
        let mut threshold = PrioritySearch::default();
        // 3 of 6: about 3 are above the second, fewer than wanted are above the best.
        let found = threshold.take_in(&replies(&[90, 80, 70]), 6.0, goal);
        assert_eq!(found, Found::Size(3.0));
        assert_eq!(threshold.floor(), Some(Candidate::new(80, 80)));
        let found = threshold.take_in(&replies(&[95]), 3.0, goal);
        assert_eq!(found, Found::Size(0.0));
        assert_eq!(threshold.take_in(&replies(&[95, 90]), 0.0, goal), Found::Best);
    }
}
