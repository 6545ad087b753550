//! The search for an unknown number of hosts: a high estimate first, and a lower one after each
//! undershoot (section VII-A).

use super::Seats;
use crate::config::{ConfigError, require};

/// The greatest number of steps from the first estimate to the seats.
pub const MOST_STEPS: usize = 1_000;

/// Equation (17): `f(n) = n^alpha / beta`, as long as that is above `U`; then all reply.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Above 0, at most 1.
    pub alpha: f64,
    /// 1 or more.
    pub beta: f64,
    /// The first estimate, as high as the number of hosts can be. A restarted centre begins with it
    /// again: too high an estimate costs rounds, too low a storm of replies.
    pub first: u32,
}

impl Estimate {
    /// Half after each undershoot.
    pub const fn conservative(first: u32) -> Self {
        Self { alpha: 1.0, beta: 2.0, first }
    }

    /// `n^0.7` after each undershoot.
    pub const fn aggressive(first: u32) -> Self {
        Self { alpha: 0.7, beta: 1.0, first }
    }

    /// The estimate after an undershoot with this one. `None`: all reply.
    pub fn next(&self, estimate: f64, seats: Seats) -> Option<f64> {
        let last = (self.beta * f64::from(seats.most)).powf(1.0 / self.alpha);
        (estimate > last).then(|| estimate.powf(self.alpha) / self.beta)
    }

    /// The next estimate in whole hosts, as it is sent to them; 0: all reply. They also reply if
    /// rounding leaves at most `U`: a centre sends no such number, and hosts with such a number
    /// would draw although the centre expects all of them.
    ///
    /// If rounding leads back to the same number, as from 2 with `2^0.7 = 1.6`, the result is one
    /// less: otherwise that number would be called for ever. This is needed only here: equation
    /// (17) has fractions, which always fall.
    pub(super) fn step_down(&self, estimate: u32, seats: Seats) -> u32 {
        let next = self.next(f64::from(estimate), seats);
        let next = next.map_or(0, |it| it.round() as u32);
        let next = next.min(estimate.saturating_sub(1));
        if next > seats.most { next } else { 0 }
    }

    /// The least estimate from which `steps` steps lead to this one; at most the first.
    pub(super) fn step_up(&self, estimate: u32, steps: u32, seats: Seats) -> u32 {
        let mut now = f64::from(estimate.max(seats.most));
        let first = f64::from(self.first);
        for _ in 0..steps {
            if now >= first || steps > Self::MANY {
                return self.first;
            }
            // A step down lowers the number by at least one.
            now = (now * self.beta).powf(1.0 / self.alpha).max(now + 1.0);
        }
        now.round().min(first) as u32
    }

    /// The number of missed calls from which a host begins with the first estimate.
    pub(super) const MANY: u32 = 64;

    /// Checks that the estimates fall.
    pub(super) fn check(&self, seats: Seats) -> Result<(), ConfigError> {
        require(self.alpha > 0.0 && self.alpha <= 1.0, "alpha", "above 0, at most 1")?;
        require(self.beta >= 1.0 && self.beta.is_finite(), "beta", "1 or more")?;
        let falls = self.alpha < 1.0 || self.beta > 1.0;
        require(falls, "alpha", "below 1, or beta above 1, so that estimates fall")?;
        require(self.is_above(seats), "first estimate", "more than the most seats")?;
        // With an estimate of one more than the seats, or less, nearly all reply: powers approach 1
        // ever more slowly.
        let next = |now: &f64| self.next(*now, seats);
        let is_high = |now: &f64| *now > f64::from(seats.most) + 1.0;
        let falling = std::iter::successors(Some(f64::from(self.first)), next);
        let steps = falling.take_while(is_high).take(MOST_STEPS + 1).count();
        let range = "greater, or a smaller alpha, so that estimates fall within 1000 rounds";
        require(steps <= MOST_STEPS, "beta", range)
    }

    /// True if there is room for a step: not all hosts reply at first.
    pub(super) fn is_above(&self, seats: Seats) -> bool {
        self.first > seats.most
    }
}

/// The replies to draws of all hosts, and the sum of the probabilities with which they were given.
///
/// If `n` hosts reply with probability `c/N` each, `n c/N` do on average. So after several draws
/// the likeliest `n` is the number of all replies over the sum of all `c/N`; draws without replies
/// count too. A host that has missed calls draws by a greater number than the centre's, and its
/// reply contains it: the reply is weighted by the quotient of the two.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ReplyWeight {
    replies: f64,
    shares: f64,
}

impl ReplyWeight {
    pub(super) fn add(&mut self, replies: f64, share: f64) {
        self.replies += replies;
        self.shares += share;
    }

    /// The likeliest number of hosts; `None` if no host has replied.
    pub(super) fn hosts(&self) -> Option<f64> {
        (self.replies > 0.0).then(|| self.replies / self.shares)
    }

    /// The evidence for a later election, worth one draw at most: hosts come and go.
    pub(super) fn faded(self, c: f64) -> Self {
        let part = (c / self.replies).min(1.0);
        if self.replies > 0.0 {
            Self { replies: self.replies * part, shares: self.shares * part }
        } else {
            Self::default()
        }
    }

    /// The assumed number after an undershoot with `size`: the number that the replies give, or the
    /// estimate's next while there are none. It is never below that next estimate, which is the
    /// greatest step of hosts. 0: all are to reply.
    pub(super) fn next(&self, estimate: Estimate, size: f64, wanted: Seats) -> f64 {
        let lowest = f64::from(estimate.step_down(size.round() as u32, wanted));
        let told = self.hosts().map_or(0.0, f64::round);
        let next = told.max(lowest);
        if next > f64::from(wanted.most) { next } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::Estimate;
    use crate::council::Seats;

    fn chain(estimate: Estimate) -> Vec<u32> {
        let seats = Seats::new(1, 8);
        let next = |now: &f64| estimate.next(*now, seats);
        std::iter::successors(Some(f64::from(estimate.first)), next)
            .map(|now| now.round() as u32)
            .collect()
    }

    #[test]
    fn estimates_fall_down_to_the_number_of_seats() {
        assert_eq!(chain(Estimate::conservative(1_000)), [1_000, 500, 250, 125, 63, 31, 16]);
        assert_eq!(chain(Estimate::aggressive(100_000)), [100_000, 3_162, 282, 52, 16]);
    }

    #[test]
    fn steps_up_lead_back_to_the_first() {
        let seats = Seats::new(1, 8);
        let estimate = Estimate::aggressive(100_000);
        assert_eq!(estimate.step_down(3_162, seats), 282);
        assert_eq!(estimate.step_down(16, seats), 0);
        assert_eq!(estimate.step_down(20, seats), 0); // 8.1 is rounded to 8
        assert_eq!(estimate.step_up(282, 0, seats), 282);
        assert_eq!(estimate.step_up(282, 1, seats), 3_165);
        assert_eq!(estimate.step_up(282, 2, seats), 100_000);
        assert_eq!(estimate.step_up(0, 1, seats), 20);
        for steps in [5, 65, u32::MAX] {
            assert_eq!(estimate.step_up(0, steps, seats), 100_000);
        }
        let (alpha, beta, first) = (1.0, 1.0 + 1e-12, 1_000);
        let slow = Estimate { alpha, beta, first };
        assert_eq!(slow.step_up(9, u32::MAX, seats), 1_000);
    }

    /// A step without progress would be taken for ever: a centre without replies would call all
    /// hosts round after round, and never rest.
    #[test]
    fn each_step_in_whole_hosts_is_lower_until_all_reply() {
        let (alphas, betas) = ([0.1, 0.5, 0.7, 0.9, 0.99, 1.0], [1.0, 1.01, 1.05, 1.5, 2.0]);
        let pairs = alphas.map(|alpha| betas.map(|beta| (alpha, beta)));
        let mut checked = 0;
        for (most, (alpha, beta)) in
            (1..=16).flat_map(|most| pairs.as_flattened().iter().map(move |it| (most, *it)))
        {
            let seats = Seats::new(1, most);
            let first = 4_000;
            let estimate = Estimate { alpha, beta, first };
            if estimate.check(seats).is_err() {
                continue;
            }
            checked += 1;
            for from in 0..=first {
                // The steps from lower numbers are covered by the earlier ones.
                let next = estimate.step_down(from, seats);
                let is_lower = next < from || from == 0;
                let is_told = next == 0 || next > most;
                assert!(is_lower && is_told, "{from}, {next}: {estimate:?}, {seats:?}");
            }
        }
        assert_eq!(checked, 16 * 29); // all but the one that never falls
    }

    /// A host that has missed calls must not assume a lower number than the centre came from.
    #[test]
    fn steps_up_reach_at_least_the_start_of_steps_down() {
        for (alpha, beta) in [(0.7, 1.0), (0.9, 1.0), (1.0, 1.05), (1.0, 2.0)] {
            for seats in [1, 2, 8].map(|most| Seats::new(1, most)) {
                let first = 1_000;
                let estimate = Estimate { alpha, beta, first };
                for steps in 1..20 {
                    let up = estimate.step_up(0, steps, seats);
                    let least = (seats.most + steps).min(first);
                    assert!(up >= least, "{up} after {steps}: {estimate:?}, {seats:?}");
                }
            }
        }
    }

    #[test]
    fn estimates_that_do_not_fall_are_refused() {
        let seats = Seats::new(1, 8);
        let check = |alpha, beta, first| Estimate { alpha, beta, first }.check(seats).is_ok();
        assert!(check(1.0, 2.0, 9) && check(0.7, 1.0, 9));
        for (alpha, beta, first) in [
            (1.0, 1.0, 9),
            (0.0, 2.0, 9),
            (1.1, 2.0, 9),
            (f64::NAN, 2.0, 9),
            (0.5, 0.9, 9),
            (0.5, f64::NAN, 9),
            (0.5, f64::INFINITY, 9),
            (1.0, 2.0, 8),
            (1.0, 1.0 + 1e-9, 9_999),
            (1.0 - 1e-9, 1.0, 9_999),
        ] {
            assert!(!check(alpha, beta, first), "{alpha} {beta} {first}");
        }
    }
}
