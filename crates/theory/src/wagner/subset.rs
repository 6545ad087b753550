//! One call of Subset (S): its duration, and the number of members that stay active.

use super::{Compare, check_ring};

/// The expected coin flips of step 4 for `r = heads / active`.
///
/// Each flip decides with probability 1/2 whether `t` leaves the binary digits of `r`: 2 expected.
/// If `r` is a binary fraction, `a / 2^d` in lowest terms, then after `d` flips, with probability
/// `2^-d` each, the bits are those of `r`, or just below it. Strictly, both go on, for 2 flips
/// expected: `2 + 2^(1-d)`. Not strictly, both have ended, where otherwise the former would have
/// gone on: `2 - 2^(1-d)`.
///
/// # Panics
/// Unless `0 < heads < active`.
pub fn flips_to_decide(heads: usize, active: usize, compare: Compare) -> f64 {
    assert!(0 < heads && heads < active, "{heads} heads of {active} active: nothing to decide");
    let denominator = active / greatest_common_divisor(heads, active);
    if !denominator.is_power_of_two() {
        return 2.0;
    }
    match compare {
        Compare::Strict => 2.0 + 2.0 / denominator as f64,
        Compare::NonStrict => 2.0 - 2.0 / denominator as f64,
    }
}

/// The expected Basic rounds of one call among `active`: one, and the flips of step 4 if there is
/// something to decide.
///
/// # Panics
/// If fewer than two are active.
pub fn rounds(active: usize, compare: Compare) -> f64 {
    check_ring(active);
    1.0 + expected_flips(&fair_flips(active), compare)
}

/// The distribution of the number that stay active: the probability of `k`, at place `k - 1`, for
/// `k` from 1 to `active`.
///
/// All `active` of them if the flips are all equal: `2^(1-m)`. Else `k` of `m`, as heads or as
/// tails, with `2 C(m,k) 2^-m k/m = C(m-1, k-1) 2^(1-m)`, which also gives the former. So one
/// stays, and each of the other `m - 1` with probability 1/2.
///
/// # Panics
/// If fewer than two are active.
pub fn survivors(active: usize) -> Vec<f64> {
    check_ring(active);
    fair_flips(active - 1)
}

/// The expected flips of step 4 in one call, where `heads` is the distribution of the number of
/// heads.
pub(super) fn expected_flips(heads: &[f64], compare: Compare) -> f64 {
    let active = heads.len() - 1;
    (1..active).map(|number| heads[number] * flips_to_decide(number, active, compare)).sum()
}

/// The distribution of the heads among `flips` fair flips.
fn fair_flips(flips: usize) -> Vec<f64> {
    heads_up_to(flips).pop().unwrap_or_default()
}

/// At place `f`, the distribution of the heads among `f` fair flips, up to `most`: Pascal's
/// triangle, each row halved. No digits are lost, and nothing becomes too small for 1000 flips.
pub(super) fn heads_up_to(most: usize) -> Vec<Vec<f64>> {
    let rows = std::iter::successors(Some(vec![1.0]), |law| Some(with_one_more(law)));
    rows.take(most + 1).collect()
}

fn with_one_more(law: &[f64]) -> Vec<f64> {
    let weight = |heads: usize| law.get(heads).copied().unwrap_or(0.0);
    let weights = |heads: usize| match heads {
        0 => weight(0),
        _ => weight(heads) + weight(heads - 1),
    };
    (0..=law.len()).map(|heads| weights(heads) / 2.0).collect()
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
