//! LE-A with uncorrelated loss: the messages of all processes but the leader until it is alone.
//!
//! Of the leader and `n` others that announce in step, the one in place `p` continues with
//! probability `l^p`, and falls silent with `1 - l^p`, independently. With `f` the number that fall
//! silent,
//!
//! ```text
//! w(n) = n + E[w(n - f)],   w(0) = 0
//! ```
//!
//! The distribution of `f` gains one trial with each `n`. All terms are positive, and no `1 - l` is
//! lost to rounding. While few fall silent, or few continue, the sum runs over the distribution
//! itself, without its tails. Beyond, `w` is nearly linear over the width of the distribution, and
//! four moments are as good: more than 1,024 continue, with a deviation below their root, and the
//! remainder is below 1e-9 of the value, as measured. So each `n` takes at most some hundred terms,
//! and a few if the moments are used.

/// The sum runs over the whole distribution while at most this many continue on average.
const FEW_GO_ON: f64 = 1_024.0;
/// The sum also runs over the whole distribution while at most this many fall silent on average.
const FEW_FALL_SILENT: f64 = 16.0;
/// The distance, in standard deviations, between the values of `w` that represent all.
const STEP: f64 = 1.2;
/// Tails of the distribution below this probability are cut off.
const NEGLIGIBLE: f64 = 1e-20;
/// Places that continue with less than this probability never do: `w` grows by 1 with each.
const NEVER: f64 = 1e-30;

/// `w(others)`, in constant time and eight bytes for each.
pub(super) fn messages_of_others(others: u64, loss: f64) -> f64 {
    let mut in_step = InStep::new(loss);
    for n in 1..=others {
        if !in_step.add_one() {
            return in_step.messages[n as usize - 1] + (others - n + 1) as f64;
        }
    }
    in_step.messages[others as usize]
}

struct InStep {
    /// `ln l`.
    rate: f64,
    /// `w`, by `n`.
    messages: Vec<f64>,
    silenced: SilencedPlaces,
    /// The number of terms summed in total.
    terms: usize,
}

/// The distribution of the number that fall silent.
struct SilencedPlaces {
    /// Entry `i` is the probability of `least + i`; empty once the moments replace it.
    law: Vec<f64>,
    least: usize,
    /// The sums over all places of the powers, from the first to the fourth, of the probability to
    /// fall silent.
    powers: [f64; 4],
}

impl InStep {
    fn new(loss: f64) -> Self {
        Self {
            // 1 - l is exact for l near 1.
            rate: (-(1.0 - loss)).ln_1p(),
            messages: vec![0.0],
            silenced: SilencedPlaces { law: vec![1.0], least: 0, powers: [0.0; 4] },
            terms: 0,
        }
    }

    /// Goes from `n - 1` others to `n`. Returns false if the new one never continues.
    fn add_one(&mut self) -> bool {
        let n = self.messages.len();
        let exponent = n as f64 * self.rate;
        if exponent < NEVER.ln() {
            return false;
        }
        self.silenced.add(-exponent.exp_m1());
        let fall_silent = self.silenced.powers[0];
        if fall_silent > FEW_FALL_SILENT && n as f64 - fall_silent > FEW_GO_ON {
            self.silenced.law = Vec::new();
        }
        let messages = if self.silenced.law.is_empty() {
            self.terms += 5;
            n as f64 + self.mean_by_moments()
        } else {
            self.terms += self.silenced.law.len();
            // The probability that at least one falls silent.
            let any = -(exponent * (n as f64 + 1.0) / 2.0).exp_m1();
            (n as f64 + self.mean_by_law()) / any
        };
        self.messages.push(messages);
        true
    }

    /// The part of `E[w(n - f)]` with `f > 0`.
    fn mean_by_law(&self) -> f64 {
        let SilencedPlaces { law, least, .. } = &self.silenced;
        // The last entry of `w` is the one with one silent.
        let from = (*least).max(1);
        let w = self.messages.iter().rev().skip(from - 1);
        let law = &law[from - least..];
        law.iter().zip(w).map(|(chance, w)| chance * w).sum()
    }

    /// `E[w(n - f)]` of the polynomial through five values of `w`: at the whole number nearest to
    /// the mean, and one and two steps to either side. With a step of 1.2 deviations all five have
    /// a positive weight, so that errors do not grow from one `n` to the next.
    fn mean_by_moments(&self) -> f64 {
        let mean = self.messages.len() as f64 - self.silenced.powers[0];
        let centre = mean.round();
        let step = (STEP * self.silenced.variance().sqrt()).round();
        let (at, by) = (centre as usize, step as usize);
        let w = |steps: usize| self.messages[at + steps * by - 2 * by];
        let middle = w(2);
        let (odd, wide_odd) = (w(3) - w(1), w(4) - w(0));
        let (even, wide_even) = (w(3) + w(1) - 2.0 * middle, w(4) + w(0) - 2.0 * middle);
        let derivatives = [
            (8.0 * odd - wide_odd) / 12.0,
            (16.0 * even - wide_even) / 12.0,
            (wide_odd - 2.0 * odd) / 2.0,
            wide_even - 4.0 * even,
        ];
        let [first, second, third, fourth] = self.silenced.moments_of_the_rest(mean - centre);
        middle
            + derivatives[0] * first / step
            + derivatives[1] * second / (2.0 * step.powi(2))
            + derivatives[2] * third / (6.0 * step.powi(3))
            + derivatives[3] * fourth / (24.0 * step.powi(4))
    }
}

impl SilencedPlaces {
    /// Adds a place that falls silent with this probability.
    fn add(&mut self, chance: f64) {
        let mut power = 1.0;
        for sum in &mut self.powers {
            power *= chance;
            *sum += power;
        }
        if self.law.is_empty() {
            return;
        }
        self.law.push(0.0);
        for f in (1..self.law.len()).rev() {
            self.law[f] = self.law[f] * (1.0 - chance) + self.law[f - 1] * chance;
        }
        self.law[0] *= 1.0 - chance;
        self.cut_tails();
    }

    fn cut_tails(&mut self) {
        let mean = self.powers[0];
        // If the mean is below 1, the probability of two must not be cut off.
        let negligible = NEGLIGIBLE * mean.powi(2).min(1.0);
        while (self.least + self.law.len()) as f64 > mean + 3.0
            && self.law.last().is_some_and(|last| *last < negligible)
        {
            self.law.pop();
        }
        let cut = self.law.iter().take_while(|p| **p < negligible).count();
        self.law.drain(..cut);
        self.least += cut;
    }

    fn variance(&self) -> f64 {
        self.powers[0] - self.powers[1]
    }

    /// The first four moments of the number that continue, about a point that lies `off` below its
    /// mean.
    fn moments_of_the_rest(&self, off: f64) -> [f64; 4] {
        let [first, second, third, fourth] = self.powers;
        let variance = self.variance();
        // The others continue: the odd cumulants change their sign.
        let skew = -(first - 3.0 * second + 2.0 * third);
        let excess = first - 7.0 * second + 12.0 * third - 6.0 * fourth;
        let square = off * off;
        [
            off,
            variance + square,
            skew + off * (3.0 * variance + square),
            excess
                + 3.0 * variance * variance
                + off * 4.0 * skew
                + square * (6.0 * variance + square),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::{InStep, messages_of_others};

    /// The sum over the whole distribution, for every `n`.
    fn plainly(others: usize, loss: f64) -> f64 {
        let mut law = vec![1.0];
        let mut messages = vec![0.0];
        for n in 1..=others {
            let go_on = loss.powi(n as i32);
            law.push(0.0);
            for i in (0..=n).rev() {
                let from_below = if i > 0 { law[i - 1] } else { 0.0 };
                law[i] = law[i] * (1.0 - go_on) + from_below * go_on;
            }
            let later: f64 = law.iter().zip(&messages).map(|(p, w)| p * w).sum();
            messages.push((n as f64 + later) / (1.0 - law[n]));
        }
        messages[others]
    }

    #[test]
    fn moments_agree_with_the_whole_distribution() {
        for loss in [0.0, 0.5, 0.9, 0.99, 0.999, 0.9993, 0.9999, 0.999_99] {
            for others in [1, 2, 30, 1_999, 4_000] {
                let plain = plainly(others, loss);
                let got = messages_of_others(others as u64, loss);
                let error = (got / plain - 1.0).abs();
                assert!(error < 1e-9, "{others}, loss {loss}: {got}, plainly {plain}");
            }
        }
    }

    #[test]
    fn each_member_takes_a_bounded_number_of_terms() {
        let others = 100_000;
        for loss in [0.9, 0.999, 0.999_9, 0.999_999, 1.0 - 1e-9, 1.0 - 1e-12] {
            let mut in_step = InStep::new(loss);
            let added = (0..others).take_while(|_| in_step.add_one()).count();
            let most = 500 * added;
            assert!(in_step.terms < most, "loss {loss}: {}", in_step.terms);
        }
    }

    /// If nearly all is lost one falls silent at a time: `n` of them take `2/((1-l) n (n+1))`
    /// rounds.
    #[test]
    fn rare_hearing_silences_one_at_a_time() {
        let (others, heard) = (1_000, 1e-14);
        let expected: f64 = (1..=others).map(|n| 2.0 / (heard * (n + 1) as f64)).sum();
        let heard_exactly = 1.0 - (1.0 - heard);
        let got = messages_of_others(others, 1.0 - heard) * heard_exactly / heard;
        assert!((got / expected - 1.0).abs() < 1e-7, "{got}, {expected}");
    }
}
