//! Harmonic numbers, `H_n = 1 + 1/2 + ... + 1/n`.

use std::f64::consts::EULER_GAMMA;

/// From here on the expansion is no worse than the sum: both err by rounding only.
const EXPANSION_FROM: u64 = 64;

/// `H_n`, the `n`-th harmonic number; `H_0 = 0`. Constant time.
///
/// Below 64 the terms are added, smallest first. From 64 on it is the Euler-Maclaurin expansion `ln
/// n + gamma + 1/2n - 1/12n^2 + 1/120n^4 - 1/252n^6`. The series alternates, so the error is less
/// than the first term left out, `1/240n^8`: below 2e-17, hence below the rounding of an `f64`.
pub fn harmonic(n: u64) -> f64 {
    if n < EXPANSION_FROM { summed(n) } else { expanded(n) }
}

fn summed(n: u64) -> f64 {
    (1..=n).rev().map(|i| 1.0 / i as f64).sum()
}

fn expanded(n: u64) -> f64 {
    let n = n as f64;
    let square = 1.0 / (n * n);
    let tail = 0.5 / n - square * (1.0 / 12.0 - square * (1.0 / 120.0 - square / 252.0));
    n.ln() + EULER_GAMMA + tail
}

#[cfg(test)]
mod tests {
    use super::{EXPANSION_FROM, expanded, harmonic, summed};

    #[test]
    fn known_values() {
        let table = [
            (0, 0.0),
            (1, 1.0),
            (2, 1.5),
            (10, 7381.0 / 2520.0),
            (100, 5.187_377_517_639_621),
            (1_000_000, 14.392_726_722_865_724),
            (1_000_000_000, 21.300_481_502_347_944),
        ];
        for (n, expected) in table {
            let got = harmonic(n);
            assert!((got - expected).abs() < 1e-14, "H_{n} = {got}, not {expected}");
        }
    }

    #[test]
    fn expansion_agrees_with_the_sum_from_its_first_n() {
        for n in EXPANSION_FROM..2_000 {
            let error = (expanded(n) - summed(n)).abs();
            assert!(error < 1e-14, "H_{n} is off by {error}");
        }
    }
}
