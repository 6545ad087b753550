//! Nobody knows how many hosts there are: a high estimate at first, and less after each undershoot (section VII-A).

use super::Seats;
use crate::config::ConfigError;

/// More steps than this from the first estimate to the seats are no search.
pub const MOST_STEPS: usize = 1_000;

/// Equation (17): `f(n) = n^alpha / beta`, as long as that is above `U`; then all reply.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Above 0, at most 1.
    pub alpha: f64,
    /// 1 or more.
    pub beta: f64,
    /// The first estimate, as high as there can be hosts. A centre that starts once more begins with it again: too high
    /// costs rounds, too low a storm of replies.
    pub first: u32,
}

impl Estimate {
    /// Half after each undershoot.
    pub const fn conservative(first: u32) -> Self {
        Self {
            alpha: 1.0,
            beta: 2.0,
            first,
        }
    }

    /// `n^0.7` after each undershoot.
    pub const fn aggressive(first: u32) -> Self {
        Self {
            alpha: 0.7,
            beta: 1.0,
            first,
        }
    }

    /// The estimate after an undershoot with this one. None: all reply.
    pub fn next(&self, estimate: f64, seats: Seats) -> Option<f64> {
        let last = (self.beta * f64::from(seats.most)).powf(1.0 / self.alpha);
        (estimate > last).then(|| estimate.powf(self.alpha) / self.beta)
    }

    /// The same in whole hosts, as it is told to them; 0: all reply. So they do where rounding leaves no more than `U`: a centre
    /// says no such number, and hosts that went by it would draw where it counts on all. Where rounding leads back to the same
    /// number, as from 2 with `2^0.7 = 1.6`, it is one less: else all would be called by that for ever. Only here: equation (17)
    /// has fractions, which always fall.
    pub(super) fn step_down(&self, estimate: u32, seats: Seats) -> u32 {
        let next = self.next(f64::from(estimate), seats);
        let next = next.map_or(0, |it| it.round() as u32);
        let next = next.min(estimate.saturating_sub(1));
        if next > seats.most { next } else { 0 }
    }

    /// From which estimate, or a lower one, `steps` steps lead to this one: the first if there are so many.
    pub(super) fn step_up(&self, estimate: u32, steps: u32, seats: Seats) -> u32 {
        let mut now = f64::from(estimate.max(seats.most));
        let first = f64::from(self.first);
        for _ in 0..steps {
            if now >= first || steps > Self::MANY {
                return self.first;
            }
            // A step down leads at least one lower.
            now = (now * self.beta).powf(1.0 / self.alpha).max(now + 1.0);
        }
        now.round().min(first) as u32
    }

    /// Who has missed so many calls begins with the first estimate.
    pub(super) const MANY: u32 = 64;

    /// Whether it can work: estimates must fall.
    pub(super) fn check(&self, seats: Seats) -> Result<(), ConfigError> {
        let out_of_range = |field, range| Err(ConfigError::OutOfRange { field, range });
        if !(self.alpha > 0.0 && self.alpha <= 1.0) {
            return out_of_range("alpha", "above 0, at most 1");
        }
        if !(self.beta >= 1.0 && self.beta.is_finite()) {
            return out_of_range("beta", "1 or more");
        }
        if self.alpha == 1.0 && self.beta == 1.0 {
            return out_of_range("alpha", "below 1, or beta above 1, so that estimates fall");
        }
        if self.first <= seats.most {
            return out_of_range("first estimate", "more than the most seats");
        }
        // With an estimate of one more than the seats, or less, nearly all reply: powers come nearer and nearer to 1.
        let next = |now: &f64| self.next(*now, seats);
        let is_high = |now: &f64| *now > f64::from(seats.most) + 1.0;
        let falling = std::iter::successors(Some(f64::from(self.first)), next);
        let steps = falling.take_while(is_high).take(MOST_STEPS + 1).count();
        if steps > MOST_STEPS {
            return out_of_range(
                "beta",
                "greater, or a smaller alpha, so that estimates fall within 1000 rounds",
            );
        }
        Ok(())
    }

    /// Whether there is anything to go down by: at first, not all reply.
    pub(super) fn is_above(&self, seats: Seats) -> bool {
        self.first > seats.most
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
    fn estimates_fall_until_they_would_be_no_more_than_the_seats() {
        assert_eq!(
            chain(Estimate::conservative(1_000)),
            [1_000, 500, 250, 125, 63, 31, 16]
        );
        assert_eq!(
            chain(Estimate::aggressive(100_000)),
            [100_000, 3_162, 282, 52, 16]
        );
    }

    #[test]
    fn steps_up_lead_back_to_the_first() {
        let seats = Seats::new(1, 8);
        let estimate = Estimate::aggressive(100_000);
        assert_eq!(estimate.step_down(3_162, seats), 282);
        assert_eq!(estimate.step_down(16, seats), 0);
        assert_eq!(estimate.step_down(20, seats), 0); // from 8.1, which is 8
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

    /// A step that led nowhere would be taken for ever: a centre that hears nobody would call all round after round, and never rest.
    #[test]
    fn each_step_in_whole_hosts_leads_lower_until_all_reply() {
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
                // From any lower one it goes on as was seen before.
                let next = estimate.step_down(from, seats);
                let is_lower = next < from || from == 0;
                let is_told = next == 0 || next > most;
                assert!(
                    is_lower && is_told,
                    "{from}, {next}: {estimate:?}, {seats:?}"
                );
            }
        }
        assert_eq!(checked, 16 * 29); // all but that which never falls
    }

    /// Who has missed calls must not take the centre for lower than it came from.
    #[test]
    fn steps_up_lead_as_high_as_steps_down_began() {
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
    fn what_does_not_fall_is_refused() {
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
