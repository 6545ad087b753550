//! Seats by merit: the centre climbs to the best hosts, threshold by threshold.
//!
//! Of the hosts that are as good as the floor, about `c` reply at random. Where `k` have, those that are at least as good as
//! the `j`-th best of them are about `j/(k + 1)` of all: that one becomes the next floor, such that more than `c` are left. When no
//! more than `c` are expected, all reply, and the best of them have the seats. Each round divides the number by about `c`, so
//! a million takes eight rounds, and nobody had to know how merits are spread.

use super::Seats;
use crate::Candidate;

/// Where the climb has got to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Climb {
    /// Steps from the foot, each a floor with the number of hosts above the step before.
    below: Vec<Step>,
    floor: Option<Candidate>,
    /// How many there are in all, once it has left the foot.
    foot: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Step {
    floor: Option<Candidate>,
    size: f64,
}

/// What a round has shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Found {
    /// Those who replied are the best.
    Best,
    /// Go on: this many are expected above the floor. Nothing: all are to reply.
    Size(f64),
    /// None replied where some should have: there are fewer than was thought. Or too few, even where all reply.
    TooFew,
}

impl Climb {
    pub(super) fn floor(&self) -> Option<Candidate> {
        self.floor
    }

    /// How many there are in all, if it has left the foot.
    pub(super) fn foot(&self) -> Option<f64> {
        self.foot
    }

    /// Takes in the replies of a round to which about `size` hosts were called, all of them if that is nothing. `best_first`
    /// are those who replied.
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
                // It came out too high from there, so there may be fewer than was thought, too.
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
            return Found::Size(0.0); // few enough: all of them
        }
        self.foot.get_or_insert(size);
        self.below.push(Step {
            floor: self.floor,
            size,
        });
        self.floor = best_first.get(rank as usize - 1).copied();
        Found::Size((rank * part).max(c))
    }
}

#[cfg(test)]
mod tests {
    use super::{Climb, Found};
    use crate::Candidate;
    use crate::council::Seats;

    fn replies(merits: &[u64]) -> Vec<Candidate> {
        merits.iter().map(|it| Candidate::new(*it, *it)).collect()
    }

    #[test]
    fn it_climbs_by_samples_and_comes_back_when_it_is_too_high() {
        let goal = (Seats::new(1, 3), 2.0);
        let mut climb = Climb::default();
        // 4 of 1,000: above the best are about 200.
        let found = climb.take_in(&replies(&[900, 500, 400, 300]), 1_000.0, goal);
        assert_eq!(found, Found::Size(200.0));
        assert_eq!(climb.floor(), Some(Candidate::new(900, 900)));
        // Nobody of 200: there are fewer. Nobody at all: one step back.
        assert_eq!(climb.take_in(&[], 200.0, goal), Found::TooFew);
        assert_eq!(climb.take_in(&[], 0.0, goal), Found::Size(500.0));
        assert_eq!(climb.floor(), None);
        assert_eq!(climb.take_in(&[], 0.0, goal), Found::TooFew);
    }

    #[test]
    fn where_few_are_left_all_reply_and_are_the_best() {
        let goal = (Seats::new(1, 3), 2.0);
        let mut climb = Climb::default();
        // 3 of 6: above the second are about 3, above the best less than are wanted.
        let found = climb.take_in(&replies(&[90, 80, 70]), 6.0, goal);
        assert_eq!(found, Found::Size(3.0));
        assert_eq!(climb.floor(), Some(Candidate::new(80, 80)));
        let found = climb.take_in(&replies(&[95]), 3.0, goal);
        assert_eq!(found, Found::Size(0.0));
        assert_eq!(climb.take_in(&replies(&[95, 90]), 0.0, goal), Found::Best);
    }
}
