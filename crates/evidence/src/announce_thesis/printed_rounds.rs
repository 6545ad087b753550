//! The recurrence over rounds of section 5.3.3.3, to the letter (claim L11).
//!
//! The formula has a meaning only if two slips are corrected: the exponent `i-q` is `i-1`, and the
//! sum inside `S` runs over an index of its own. Then:
//!
//! ```text
//! g(i)       = mean of (l + (1-l)(1 - P(t)))^i
//! Q(i, i, r) = l^(r i (i-1)/2)
//! S(n, r)    = product over k = 1..r-1 of the sum over j = 1..n-1 of Q(j, n-1, k) l^j
//! Q(i, n, r) = S(n, r-1) (Q(i-1, n-1, r-1) g(i-1) + Q(i, n-1, r-1) (1 - g(i)))
//! messages   = sum over r of the sum over i = 1..N-1 of i r Q(i, N, r)
//! ```

use hustings_theory::announce::printed::law_of_messages;

/// The number of rounds after which the rest of the sum is below rounding, for losses up to 0.9.
const ROUNDS: u32 = 400;

/// `Q(i, N, r)`: the distribution of messages of each round, uncorrelated loss, no delay.
pub(super) struct PrintedRounds {
    /// The distribution of each round, the first at index 0. Entry `i` is the probability of `i`
    /// messages.
    laws: Vec<Vec<f64>>,
}

impl PrintedRounds {
    pub(super) fn new(members: u32, loss: f64) -> Self {
        // The distributions of this round, and S of the previous round, for 1 to N processes.
        let mut laws: Vec<Vec<f64>> = (1..=members).map(|n| first_round(n, loss)).collect();
        let mut reach = vec![1.0; laws.len()];
        let mut of_all = Vec::new();
        for round in 1..=ROUNDS {
            of_all.extend(laws.last().cloned());
            let next = next_round(&laws, &reach, round + 1, loss);
            for n in (1..reach.len()).rev() {
                reach[n] *= survival(&laws[n - 1], loss);
            }
            laws = next;
        }
        Self { laws: of_all }
    }

    /// Returns `Q(i, N, r)`.
    pub(super) fn chance(&self, messages: usize, round: usize) -> f64 {
        self.laws[round - 1][messages]
    }

    /// Returns the sum of all probabilities of a round.
    pub(super) fn total(&self, round: usize) -> f64 {
        self.laws[round - 1].iter().sum()
    }

    /// Returns the final sum.
    pub(super) fn expected_messages(&self) -> f64 {
        let of_round = |(round, law): (usize, &Vec<f64>)| {
            let messages = law.iter().enumerate().take(law.len() - 1);
            (round + 1) as f64 * messages.map(|(i, chance)| i as f64 * chance).sum::<f64>()
        };
        self.laws.iter().enumerate().map(of_round).sum()
    }
}

fn first_round(n: u32, loss: f64) -> Vec<f64> {
    let mut law = law_of_messages(n.into(), loss);
    law[n as usize] = all_send(n, 1, loss);
    law
}

fn next_round(laws: &[Vec<f64>], reach: &[f64], round: u32, loss: f64) -> Vec<Vec<f64>> {
    let unheard = |i: i32| (1.0 - loss.powi(i + 1)) / (f64::from(i + 1) * (1.0 - loss));
    let law = |n: usize| {
        let mut law = vec![0.0; n + 1];
        for i in 1..n {
            let before = &laws[n - 2];
            let sends = before[i - 1] * unheard(i as i32 - 1);
            let is_silent = before[i] * (1.0 - unheard(i as i32));
            law[i] = reach[n - 1] * (sends + is_silent);
        }
        law[n] = all_send(n as u32, round, loss);
        law
    };
    (1..=laws.len()).map(law).collect()
}

fn all_send(n: u32, round: u32, loss: f64) -> f64 {
    loss.powf(f64::from(round) * f64::from(n * (n - 1) / 2))
}

/// Returns the probability that a process loses all messages that the others sent in a round.
fn survival(law: &[f64], loss: f64) -> f64 {
    let lost = law.iter().enumerate().skip(1);
    lost.map(|(i, chance)| chance * loss.powi(i as i32)).sum()
}

#[cfg(test)]
mod tests {
    use super::PrintedRounds;

    #[test]
    fn two_processes_match_the_result_by_hand() {
        // Q(1, 2, 1) = (1-l)/2; Q(1, 2, r) = l^(r-2) (1-l)/2 from the second round on.
        let rounds = PrintedRounds::new(2, 0.4);
        for (round, chance) in [(1, 0.3), (2, 0.3), (3, 0.12)] {
            assert!((rounds.chance(1, round) - chance).abs() < 1e-12, "{round}");
        }
        let sum = 0.3 + (2.0 + 0.4 / 0.6) / 2.0;
        assert!((rounds.expected_messages() - sum).abs() < 1e-12);
    }
}
