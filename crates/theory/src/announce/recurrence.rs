//! The first round with uncorrelated loss and no delay, as a recurrence (section 5.3.3.3; claim
//! L10).
//!
//! Assumes   `D = 0`, and `T_A >= T_S`, so that no process announces twice while others sleep. Then
//!           the wake-up distribution does not matter, only the order of the wake-ups, which is
//!           random.
//!
//! `Q(i, n)` is the probability that `n` processes, still asleep, will send `i` messages. The first
//! to wake sends one. All orders being equally likely, it has `k = 0..n-1` better ones with
//! probability `1/n` each; they are not silenced by it. Of the `n-1-k` worse ones each misses the
//! message with probability `l`, so `b` remain, binomial. Those `k + b` again wake in random order:
//!
//! ```text
//! Q(i, n) = (1/n) sum over k < n of sum over b of Binomial(b; n-1-k, l) Q(i-1, k+b)
//! ```
//!
//! Only the number `s = n-1-k-b` of the silenced matters: `Pr[s] = Pr[more than s of n messages get
//! through] / (n (1-l))`. With `m = n-1-k` worse ones, `C(m,s) (1-l)^s l^(m-s)` is `1/(1-l)` times
//! the probability that in a row of trials success number `s+1` comes at trial `m+1`; summed over
//! `m < n`, that it comes within `n` trials.

use super::MulticastLoss;
use crate::harmonic::harmonic;

/// Up to this size [`mean_messages`] is the recurrence itself; beyond, its asymptote through this
/// point.
const EXACT_UP_TO: u64 = 2_048;
/// The number of terms of the series in `1/n` in the asymptote.
const SERIES_TERMS: i32 = 4;
/// States with a smaller transition probability are ignored.
const NEGLIGIBLE: f64 = 1e-18;

/// `Q(., n)`: the distribution of the number of first-round messages of LE-S; entry `i` is the
/// probability of `i`.
///
/// On the order of `n^3/6` operations, all terms positive: relative error of each entry about `n`
/// roundings.
///
/// # Panics
/// Unless `n >= 1` and the loss is 0 or more and below 1.
pub fn law_of_messages(n: u64, loss: f64) -> Vec<f64> {
    assert_group(n, loss);
    let n = n as usize;
    let mut laws: Vec<Vec<f64>> = vec![vec![1.0]];
    let mut silenced = SilencedByFirst::empty(loss);
    for size in 1..=n {
        silenced.add_one();
        let mut law = vec![0.0; size + 1];
        for (count, chance) in silenced.law().enumerate() {
            for (i, after) in laws[size - 1 - count].iter().enumerate() {
                law[i + 1] += chance * after;
            }
        }
        laws.push(law);
    }
    laws.swap_remove(n)
}

/// The mean of [`law_of_messages`].
///
/// It solves `M(n) = 1 + sum over s of Pr[s] M(n-1-s)`, with the solution
///
/// ```text
/// M(n) = sum over j = 1..n of (-1)^(j-1) C(n,j) product over i = 1..j-1 of (1 - g_i),
/// g_i = (1 - l^(i+1)) / ((i+1)(1-l))
/// ```
///
/// because the mean of `C(k+b, j)` is `g_j C(n-1, j)`. Without loss that is the harmonic number
/// `H_n`. The terms alternate and soon cancel to nothing in doubles. So up to 2,048 members the
/// recurrence is used, with positive terms only, on the order of `n^2` operations.
///
/// Beyond, `M(n) = A H_n + B + c_1/(n+1) + ...`, with `A` of [`growth`], and `B` such that it meets
/// the recurrence at 2,048. Rice's integral turns the alternating sum into residues: those at 0
/// give `A H_n + B`, those at -1, -2, ... the series of `asymptote`. The residues at the other
/// roots of `g_s = 1`, which are complex and fall faster than `1/n`, are left out. Measured against
/// the recurrence at 2,049 and 8,192 members, the error is less than 2e-4 messages for losses of
/// 1e-6, 1e-4 and 0.01, and less than 1e-6 for 0.1, 0.4, 0.8 and 0.95. Beyond 0.95 the series needs
/// more members than that to converge: see [`has_mean`].
///
/// # Panics
/// Unless `n >= 1` and the loss is 0 or more and below 1.
pub fn mean_messages(n: u64, loss: f64) -> f64 {
    assert_group(n, loss);
    if n <= EXACT_UP_TO {
        exact_mean(n, loss)
    } else {
        let reached = exact_mean(EXACT_UP_TO, loss) - asymptote(EXACT_UP_TO, loss);
        reached + asymptote(n, loss)
    }
}

/// True if [`mean_messages`] is reliable: false for more than 2,048 members with a loss above 0.95.
pub fn has_mean(n: u64, loss: f64) -> bool {
    n <= EXACT_UP_TO || loss <= GREATEST_LOSS_OF_ASYMPTOTE
}

/// The greatest loss at which the asymptote was measured to be valid.
const GREATEST_LOSS_OF_ASYMPTOTE: f64 = 0.95;

/// `A (H_n + sum over k of (-1)^(k+1) (k-1)! n!/(n+k)! product over i = 1..k of 1/(g_-i - 1))`, to
/// four terms.
fn asymptote(n: u64, loss: f64) -> f64 {
    let mut sum = harmonic(n);
    let mut term = -1.0;
    for k in 1..=SERIES_TERMS {
        let g = match k {
            1 => -loss.ln() / (1.0 - loss),
            _ => (loss.powi(1 - k) - 1.0) / (f64::from(k - 1) * (1.0 - loss)),
        };
        term *= -f64::from((k - 1).max(1)) / ((n as f64 + f64::from(k)) * (g - 1.0));
        sum += term;
    }
    growth(loss) * sum
}

fn exact_mean(n: u64, loss: f64) -> f64 {
    let mut means = vec![0.0];
    let mut silenced = SilencedByFirst::empty(loss);
    for size in 1..=n as usize {
        silenced.add_one();
        let later: f64 = silenced
            .law()
            .enumerate()
            .map(|(count, chance)| chance * means[size - 1 - count])
            .sum();
        means.push(1.0 + later);
    }
    means[n as usize]
}

/// `A`: the number of additional first-round messages of LE-S for each `e`-fold growth of the
/// group, `1/(1 + l ln l/(1-l))`.
///
/// In a large group the first to wake leaves a share `1 - (1-l) u` unsilenced, `u` uniform; the
/// mean of its logarithm is `-1/A`. Correlated loss has `1/(1-l)` instead, which is less.
///
/// # Panics
/// Unless the loss is 0 or more and below 1.
pub fn growth(loss: f64) -> f64 {
    assert_group(1, loss);
    if loss == 0.0 {
        return 1.0;
    }
    1.0 / (1.0 + loss * loss.ln() / (1.0 - loss))
}

/// The mean first-round messages of LE-M, and all of SUP, with uncorrelated loss and no delay.
///
/// A process that wakes after `s` messages have been sent sends the next if it missed them all,
/// `l^s`. This chain is followed through the `n` wake-ups, over the states that are likely at all:
/// about `min(n, 20/sqrt(1-l))` each time. Grows like `ln n / ln(1/l)`.
///
/// # Panics
/// Unless `n >= 1` and the loss is 0 or more and below 1.
pub(super) fn mean_messages_of_suppression(n: u64, loss: f64) -> f64 {
    assert_group(n, loss);
    // Entry s: the probability that s + 1 messages have been sent.
    let mut sent = vec![1.0];
    let mut missed_all = vec![loss];
    let mut first = 0;
    for _ in 1..n {
        while sent[first] < NEGLIGIBLE {
            first += 1;
        }
        let last = sent.len() - 1;
        if sent[last] * missed_all[last] > NEGLIGIBLE {
            sent.push(0.0);
            missed_all.push(missed_all[last] * loss);
        }
        for s in (first + 1..sent.len()).rev() {
            let moved = sent[s - 1] * missed_all[s - 1];
            sent[s] += moved;
            sent[s - 1] -= moved;
        }
    }
    sent.iter().enumerate().map(|(s, chance)| (s + 1) as f64 * chance).sum()
}

/// True if [`mean_messages_of_suppression`] ends within about a second.
pub(super) fn suppression_is_short(n: u64, loss: f64) -> bool {
    let states = (n as f64).min(20.0 / (1.0 - loss).sqrt());
    n as f64 * states <= MOST_STEPS_OF_SUPPRESSION
}

const MOST_STEPS_OF_SUPPRESSION: f64 = 1.5e9;

/// The number of processes that the first of `n` wake-ups silences.
struct SilencedByFirst {
    loss: f64,
    /// Entry `i`: the probability that `i` of `n` messages get through.
    through: Vec<f64>,
}

impl SilencedByFirst {
    fn empty(loss: f64) -> Self {
        Self { loss, through: vec![1.0] }
    }

    /// From `n` to `n + 1`: Pascal's rule.
    fn add_one(&mut self) {
        self.through.push(0.0);
        for i in (0..self.through.len()).rev() {
            let from_below = if i > 0 { self.through[i - 1] } else { 0.0 };
            self.through[i] = self.loss * self.through[i] + (1.0 - self.loss) * from_below;
        }
    }

    /// `Pr[s]` for `s = 0..n-1`.
    fn law(&self) -> impl Iterator<Item = f64> {
        let n = self.through.len() - 1;
        let scale = 1.0 / (n as f64 * (1.0 - self.loss));
        let mut tail = vec![0.0; n];
        let mut more = 0.0;
        for s in (0..n).rev() {
            more += self.through[s + 1];
            tail[s] = more * scale;
        }
        tail.into_iter()
    }
}

pub(super) fn assert_group(n: u64, loss: f64) {
    assert!(n >= 1, "messages of {n} members: need one or more");
    MulticastLoss::Uncorrelated(loss).check();
}

#[cfg(test)]
mod tests {
    use super::{EXACT_UP_TO, exact_mean, mean_messages};

    #[test]
    fn asymptote_agrees_with_the_recurrence() {
        for (loss, allowed) in [
            (0.0, 1e-12),
            (1e-6, 2e-4),
            (1e-4, 2e-4),
            (0.01, 2e-4),
            (0.1, 1e-6),
            (0.4, 1e-6),
            (0.8, 1e-6),
            (0.95, 1e-6),
        ] {
            for n in [EXACT_UP_TO + 1, 4 * EXACT_UP_TO] {
                let error = (mean_messages(n, loss) - exact_mean(n, loss)).abs();
                assert!(error < allowed, "n = {n}, loss {loss}: off by {error}");
            }
        }
    }
}
