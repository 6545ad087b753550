//! Probabilities of repeated events.

/// `(1 - chance)^power`, to full precision for a small chance and a large power. A chance that
/// rounding has put above 1 counts as 1.
pub(crate) fn complement_to(chance: f64, power: f64) -> f64 {
    if power == 0.0 { 1.0 } else { (power * (-chance.min(1.0)).ln_1p()).exp() }
}

/// `1 - (1 - chance)^power`, to full precision: at least one of `power` independent chances.
pub(crate) fn any_of(chance: f64, power: f64) -> f64 {
    if power == 0.0 { 0.0 } else { -(power * (-chance.min(1.0)).ln_1p()).exp_m1() }
}
