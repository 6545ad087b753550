//! How often the leader announces itself until every receiver has heard it once (section 5.3.1,
//! appendix B of the thesis).
//!
//! A round is one announcement of the leader; the first is 1. The surplus is the number beyond the
//! first: the chapter counts from 0 and calls it `E[# consecutive lost]`.

use super::{AnnounceModel, MulticastLoss};
use crate::binomial::any_of;
use crate::harmonic::harmonic;

/// A sum of falling terms ends when the next one is below this part of it.
const NEGLIGIBLE: f64 = 1e-17;

/// Mean announcements beyond the first until each of `receivers` has heard one.
///
/// | loss | surplus | claim |
/// |---|---|---|
/// | none | 0 | L1 |
/// | correlated | `l/(1-l)` | L2 |
/// | uncorrelated | `sum over i >= 1 of 1 - (1 - l^i)^receivers` | L3 |
///
/// Uncorrelated: after `i` announcements a receiver has missed all with probability `l^i`, so the
/// term is the probability that at least one receiver has. The chapter's alternating sum is the
/// same series rearranged, and one announcement too long ([`printed`](super::printed)). It loses
/// all digits from 50 receivers on, while here all terms are positive. Relative error below 1e-14;
/// about `ln(receivers 10^17)/ln(1/l)` terms.
///
/// # Panics
/// Unless the loss is 0 or more and below 1.
pub fn surplus_announcements(loss: MulticastLoss, receivers: u64) -> f64 {
    loss.check();
    if receivers == 0 {
        return 0.0;
    }
    match loss {
        MulticastLoss::None => 0.0,
        MulticastLoss::Correlated(loss) => loss / (1.0 - loss),
        MulticastLoss::Uncorrelated(loss) if receivers == 1 => loss / (1.0 - loss),
        MulticastLoss::Uncorrelated(loss) if loss > SLOW => {
            surplus_announcements_for_many(loss, receivers)
        }
        MulticastLoss::Uncorrelated(loss) => missed_by_any(loss, receivers as f64),
    }
}

/// Above this loss the series is long, and its integral is as good: the Euler-Maclaurin correction
/// is on the order of `ln(1/l)^3`, for two receivers or more.
const SLOW: f64 = 0.999;

/// `sum over i >= 1 of 1 - (1 - l^i)^receivers`.
fn missed_by_any(loss: f64, receivers: f64) -> f64 {
    let mut sum = 0.0;
    let mut missed = loss;
    while missed * receivers > NEGLIGIBLE * (1.0 - loss) {
        sum += any_of(missed, receivers);
        missed *= loss;
    }
    sum
}

/// Claim L4: the growth of [`surplus_announcements`] with uncorrelated loss, `H_r/ln(1/l) - 1/2`.
///
/// The chapter calls the growth asymptotic; it is logarithmic and without bound. Each geometric
/// count is an exponential variable rounded up, and the maximum of `r` of those with rate `ln(1/l)`
/// has the mean `H_r/ln(1/l)`. Hence the exact value lies within 1/2 of this one; for a loss of 0.1
/// or more and a thousand receivers within 0.02.
///
/// # Panics
/// Unless the loss is above 0 and below 1.
pub fn surplus_announcements_for_many(loss: f64, receivers: u64) -> f64 {
    assert!(loss > 0.0 && loss < 1.0, "loss {loss}: need above 0, below 1");
    -harmonic(receivers) / loss.ln() - 0.5
}

/// `rounds` of table 5.1: mean announcements of the leader until all have heard one.
///
/// # Panics
/// If the model is invalid.
pub fn rounds(model: &AnnounceModel) -> f64 {
    model.check();
    1.0 + surplus_announcements(model.loss, model.receivers())
}

/// `avg_rounds` of table 5.1: mean announcements of the leader until one given receiver has heard
/// one, `1/(1-l)`, regardless of the loss of the others.
///
/// # Panics
/// If the model is invalid.
pub fn average_rounds(model: &AnnounceModel) -> f64 {
    model.check();
    1.0 / (1.0 - model.loss.probability())
}

/// Claim L19: the least `k` such that, with `T_L = k T_A`, a heartbeat that was heard is followed
/// by a false departure with at most the probability `false_departure`.
///
/// One listener's timer expires if it misses the next `k` heartbeats: `l^k`. With uncorrelated loss
/// it is enough that any of the `listeners` does: `1 - (1 - l^k)^listeners`.
///
/// # Panics
/// Unless the loss is 0 or more and below 1 and the wanted probability above 0 and below 1.
pub fn listen_multiple(loss: MulticastLoss, listeners: u64, false_departure: f64) -> u32 {
    assert!(
        false_departure > 0.0 && false_departure < 1.0,
        "false departure probability {false_departure}: need above 0, below 1"
    );
    loss.check();
    let each = match loss {
        MulticastLoss::Uncorrelated(_) if listeners > 1 => {
            any_of(false_departure, 1.0 / listeners as f64)
        }
        MulticastLoss::None | MulticastLoss::Correlated(_) | MulticastLoss::Uncorrelated(_) => {
            false_departure
        }
    };
    let exact = each.ln() / loss.probability().ln();
    // If the chance is a power of the loss, the rounding of its logarithm must not add one.
    let slack = 1e-12 * exact.abs();
    (exact - slack).ceil().max(1.0) as u32
}

#[cfg(test)]
mod tests {
    use super::{SLOW, missed_by_any, surplus_announcements_for_many};

    #[test]
    fn integral_agrees_with_a_long_series() {
        for receivers in [2, 3, 1_000] {
            let series = missed_by_any(SLOW, receivers as f64);
            let integral = surplus_announcements_for_many(SLOW, receivers);
            let error = (integral / series - 1.0).abs();
            assert!(error < 1e-10, "{receivers}: {series}, {integral}");
        }
    }
}
