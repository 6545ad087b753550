//! A whole election (L): stages, flips, rounds, messages and bits.
//!
//! The number of active members is a Markov chain that only falls. From `m` a stage leads to `k`
//! with `p(k)` ([`survivors`](super::subset::survivors)), and stays at `m` with `q = 2^(1-m)`. If
//! every stage costs `c(m)`, the whole costs
//!
//! ```text
//! X(1) = 0
//! X(m) = s (c(m) + sum over k < m of p(k) X(k)),    s = 1 + q + q^2 + ... = 1 / (1 - q)
//! ```
//!
//! where `s` is the expected number of stages at `m`. A limit of `L` equal stages in a row
//! ([`stall`](super::stall)) ends the sum after `q^(L-1)`. All terms are positive: nothing cancels.

use super::stall::StallLimit;
use super::subset::{expected_flips, heads_up_to};
use super::{Compare, check_ring};

/// The expected cost of an election.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrawCost {
    /// Calls of Subset (S).
    pub stages: f64,
    /// Calls of Coin Flip (F).
    pub flips: f64,
    /// Calls of Basic (B): stages and flips.
    pub basic_rounds: f64,
    /// `2 n^2` a Basic round: `n` flips make `n` hops in both directions.
    pub messages: f64,
    /// One bit per message. Twice that, if every message has room for a fault.
    pub bits: f64,
    /// The probability that an honest ring reports a fault, by its limit on equal stages.
    pub false_alarm: f64,
}

/// The cost of an election among `n`.
///
/// # Panics
/// If `n < 2`.
pub fn cost(n: usize, compare: Compare, limit: Option<StallLimit>) -> DrawCost {
    check_ring(n);
    table(n, compare, limit)[n - 2]
}

/// The cost of elections among 2, 3, and so on to `most` members, in `O(most^2)`.
///
/// # Panics
/// If `most < 2`.
pub fn table(most: usize, compare: Compare, limit: Option<StallLimit>) -> Vec<DrawCost> {
    check_ring(most);
    let chain = Chain::new(most, limit);
    let stages = chain.expect(|_| 1.0);
    let flips = chain.expect(|heads| expected_flips(heads, compare));
    let alarms = chain.alarms();
    let costs = (2..=most).map(|n| {
        let basic_rounds = stages[n] + flips[n];
        let messages = 2.0 * (n * n) as f64 * basic_rounds;
        DrawCost {
            stages: stages[n],
            flips: flips[n],
            basic_rounds,
            messages,
            bits: messages,
            false_alarm: alarms[n],
        }
    });
    costs.collect()
}

/// The probability that a given member is elected: all are alike, so `1/n` of the elections that
/// end without a false alarm.
///
/// # Panics
/// If `n < 2`.
pub fn probability_elected(n: usize, limit: Option<StallLimit>) -> f64 {
    check_ring(n);
    (1.0 - Chain::new(n, limit).alarms()[n]) / n as f64
}

/// The probability of more than `stages` stages.
///
/// One member stays in each stage, and each of the others with probability 1/2. So an election
/// takes as long as the longest of `n - 1` runs of heads: `1 - (1 - 2^-stages)^(n-1)`.
///
/// # Panics
/// If `n < 2`.
pub fn stages_exceed(n: usize, stages: u32) -> f64 {
    check_ring(n);
    let still_there = (-f64::from(stages)).exp2();
    crate::binomial::any_of(still_there, (n - 1) as f64)
}

/// The paper's upper bound of the number of stages, "easily bounded above by": `ceil(log2 n) + 2`.
///
/// # Panics
/// If `n < 2`.
pub fn printed_bound(n: usize) -> u32 {
    check_ring(n);
    n.next_power_of_two().ilog2() + 2
}

/// The probability that an election comes to two active members that are neighbours.
///
/// Any two of `n` are the last two with the same probability, and `n` of the `n (n-1) / 2` pairs
/// are neighbours.
///
/// # Panics
/// If `n < 3`: two members are neighbours from the start, on both sides.
pub fn adjacent_pair(n: usize) -> f64 {
    check_pairs(n);
    Chain::new(n, None).visits_two()[n] * 2.0 / (n - 1) as f64
}

/// The expected stages if an election ends at one active member, or at two neighbours, as (L), step
/// 2, says in parentheses. From two on it would take 2 more.
///
/// # Panics
/// If `n < 3`.
pub fn stages_to_one_or_neighbours(n: usize) -> f64 {
    check_pairs(n);
    Chain::new(n, None).expect(|_| 1.0)[n] - 2.0 * adjacent_pair(n)
}

#[track_caller]
fn check_pairs(n: usize) {
    assert!(n >= 3, "ring of {n} members: pairs of neighbours need three or more");
}

/// The number of active members, from stage to stage.
pub(super) struct Chain {
    /// At place `m`, the distribution of the heads among `m` flips; so `survivors` of `m + 1`.
    heads: Vec<Vec<f64>>,
    limit: Option<StallLimit>,
}

impl Chain {
    pub(super) fn new(most: usize, limit: Option<StallLimit>) -> Self {
        Self { heads: heads_up_to(most), limit }
    }

    /// The expected total, at place `n` for `n` members, if a stage costs `cost`, given the
    /// distribution of its heads.
    fn expect(&self, cost: impl Fn(&[f64]) -> f64) -> Vec<f64> {
        self.solve(|active, later| self.stages_at(active) * (cost(&self.heads[active]) + later))
    }

    /// The probability, at place `n` for `n` members, that the limit on equal stages is reached.
    pub(super) fn alarms(&self) -> Vec<f64> {
        self.solve(|active, later| self.alarm_at(active) + self.stages_at(active) * later)
    }

    /// The probability, at place `n` for `n` members, that there are ever two active.
    fn visits_two(&self) -> Vec<f64> {
        self.solve(|active, later| match active {
            2 => 1.0,
            _ => self.stages_at(active) * later,
        })
    }

    /// `X(m)` by `step(m, sum over k < m of p(k) X(k))`, from the bottom.
    fn solve(&self, step: impl Fn(usize, f64) -> f64) -> Vec<f64> {
        let most = self.heads.len() - 1;
        let mut solved = vec![0.0; 2];
        for active in 2..=most {
            let survivors = &self.heads[active - 1];
            let weighted = (1..active).map(|k| survivors[k - 1] * solved[k]);
            let later = weighted.sum();
            solved.push(step(active, later));
        }
        solved
    }

    /// The expected stages at `active`, once it is reached.
    fn stages_at(&self, active: usize) -> f64 {
        (1.0 - self.alarm_at(active)) / (1.0 - equal_flips(active))
    }

    /// The probability of an alarm at `active`, once it is reached.
    fn alarm_at(&self, active: usize) -> f64 {
        self.limit.map_or(0.0, |limit| limit.reached_by_chance(active))
    }
}

/// `2^(1-m)`: the probability that all of `m` flips are equal.
pub(super) fn equal_flips(active: usize) -> f64 {
    (1.0 - active as f64).exp2()
}
