//! Repeated independent events: the binomial distribution as a list of weights, and the
//! probabilities of none and of any.

/// Weights below this part of the greatest are left out: together they weigh less than a rounding
/// error.
const NEGLIGIBLE: f64 = 1e-25;

/// The distribution of the number of successes in `trials`, each with probability `chance`: pairs
/// of a number and its probability, which add up to 1.
///
/// Computed from the most likely number in both directions by the ratio of neighbours, then divided
/// by the sum. There is no factorial, so no digits are lost for a billion trials. About `20
/// sqrt(trials chance)` pairs.
pub(crate) fn law(trials: u64, chance: f64) -> Vec<(u64, f64)> {
    if chance <= 0.0 {
        return vec![(0, 1.0)];
    }
    if chance >= 1.0 {
        return vec![(trials, 1.0)];
    }
    let n = trials as f64;
    let odds = chance / (1.0 - chance);
    let mode = (((n + 1.0) * chance) as u64).min(trials);
    let mut law = vec![(mode, 1.0)];
    let mut weight = 1.0;
    for number in mode..trials {
        let so_far = number as f64;
        weight *= (n - so_far) / (so_far + 1.0) * odds;
        if weight < NEGLIGIBLE {
            break;
        }
        law.push((number + 1, weight));
    }
    weight = 1.0;
    for number in (1..=mode).rev() {
        let so_far = number as f64;
        weight *= so_far / ((n - so_far + 1.0) * odds);
        if weight < NEGLIGIBLE {
            break;
        }
        law.push((number - 1, weight));
    }
    normalised(law)
}

fn normalised(mut law: Vec<(u64, f64)>) -> Vec<(u64, f64)> {
    let total: f64 = law.iter().map(|(_, weight)| weight).sum();
    law.iter_mut().for_each(|(_, weight)| *weight /= total);
    law
}

/// A wide distribution is smooth: this number of points per standard deviation is enough.
const STEPS_IN_A_DEVIATION: f64 = 3.0;
/// Distributions with a standard deviation below this are not thinned.
const WIDE: f64 = 12.0;

/// [`law`], thinned if it is wide and lies wholly above `beyond`: numbers at equal steps, with
/// weights that still add up to 1.
///
/// For means of functions that are smooth above `beyond`. The sum over every `h`-th number of a
/// normal distribution with the standard deviation `s` errs by `e^(-2 (pi s/h)^2)`, which for `h =
/// s/3` is below 1e-77: no digit is lost.
pub(crate) fn law_in_steps(trials: u64, chance: f64, beyond: u64) -> Vec<(u64, f64)> {
    let mut law = law(trials, chance);
    let deviation = (trials as f64 * chance * (1.0 - chance)).max(0.0).sqrt();
    let least = law.iter().map(|(number, _)| *number).min().unwrap_or(0);
    if deviation < WIDE || least <= beyond {
        return law;
    }
    let step = (deviation / STEPS_IN_A_DEVIATION) as u64;
    let (mode, _) = law[0];
    law.retain(|(number, _)| number.abs_diff(mode).is_multiple_of(step));
    normalised(law)
}

/// `(1 - chance)^power`, to full precision for a small chance and a large power. A chance that
/// rounding has put above 1 counts as 1.
pub(crate) fn complement_to(chance: f64, power: f64) -> f64 {
    if power == 0.0 { 1.0 } else { (power * (-chance.min(1.0)).ln_1p()).exp() }
}

/// `1 - (1 - chance)^power`, to full precision: at least one of `power` independent chances.
pub(crate) fn any_of(chance: f64, power: f64) -> f64 {
    if power == 0.0 { 0.0 } else { -(power * (-chance.min(1.0)).ln_1p()).exp_m1() }
}

#[cfg(test)]
mod tests {
    use super::{law, law_in_steps};

    fn moments(trials: u64, chance: f64) -> (f64, f64) {
        let law = law(trials, chance);
        let mean: f64 = law.iter().map(|(n, weight)| *n as f64 * weight).sum();
        let spread = |n: u64| (n as f64 - mean).powi(2);
        (mean, law.iter().map(|(n, weight)| spread(*n) * weight).sum())
    }

    #[test]
    fn small_distributions_are_those_of_pascals_triangle() {
        let mut law = law(4, 0.25);
        law.sort_by_key(|(number, _)| *number);
        let expected = [81.0, 108.0, 54.0, 12.0, 1.0].map(|ways| ways / 256.0);
        for ((number, weight), expected) in law.iter().zip(expected) {
            assert!((weight - expected).abs() < 1e-15, "{number}: {weight}");
        }
        assert_eq!(law.len(), 5);
    }

    #[test]
    fn mean_and_variance_are_known_for_any_number_of_trials() {
        for trials in [1, 2, 10, 1_000, 1_000_000_000] {
            for part in [1e-9, 1e-5, 0.3, 0.999] {
                let (mean, variance) = moments(trials, part);
                let expected = trials as f64 * part;
                assert!((mean / expected - 1.0).abs() < 1e-9, "{trials} {part}: {mean}");
                let expected = expected * (1.0 - part);
                let error = (variance / expected - 1.0).abs();
                assert!(error < 1e-7, "{trials} {part}: {variance}");
            }
        }
        assert_eq!(law(7, 0.0), [(0, 1.0)]);
        assert_eq!(law(7, 1.0), [(7, 1.0)]);
    }

    #[test]
    fn thinning_changes_no_mean_of_a_smooth_function() {
        for trials in [2_000, 100_000, 1_000_000_000] {
            for mean in [300.0, 1_500.0] {
                let chance = mean / trials as f64;
                let (all, thinned) = (law(trials, chance), law_in_steps(trials, chance, 50));
                assert!(thinned.len() * 4 <= all.len(), "{}", thinned.len());
                let mean_of = |law: &[(u64, f64)], f: fn(f64) -> f64| -> f64 {
                    law.iter().map(|(n, weight)| f(*n as f64) * weight).sum()
                };
                for smooth in [|n: f64| n, |n: f64| n * n, |n: f64| 1.0 / n, |n: f64| n.ln()] {
                    let ratio = mean_of(&thinned, smooth) / mean_of(&all, smooth);
                    assert!((ratio - 1.0).abs() < 1e-12, "{trials}, {mean}: {ratio}");
                }
            }
        }
        assert_eq!(law_in_steps(2_000, 0.15, 200), law(2_000, 0.15));
    }
}
