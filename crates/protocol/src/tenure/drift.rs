//! The share of a tenure that its holder may use, given the bound on the clocks' rates.

use crate::Duration;
use crate::config::{ConfigError, require};

const MILLION: u128 = 1_000_000;

/// Checks that a tenure can work with clocks of this drift.
///
/// # Errors
/// If the drift allows a clock to stand still.
pub fn check(drift_ppm: u32) -> Result<(), ConfigError> {
    require(u128::from(drift_ppm) < MILLION, "drift", "less than 1000000 parts in a million")
}

/// The share of a grant for `ttl` that its holder may use, by its own clock: ttl (1 - e)/(1 + e). A
/// slow holder's clock then ends it before a fast granter's clock does. Rounded down.
pub fn usable(ttl: Duration, drift_ppm: u32) -> Duration {
    Duration(scale(ttl, slowest(drift_ppm), fastest(drift_ppm)))
}

/// The least ttl whose usable share is at least `span`.
pub fn stretched(span: Duration, drift_ppm: u32) -> Duration {
    let down = Duration(scale(span, fastest(drift_ppm), slowest(drift_ppm)));
    if usable(down, drift_ppm) < span { down + Duration(1) } else { down }
}

fn slowest(drift_ppm: u32) -> u128 {
    MILLION.saturating_sub(u128::from(drift_ppm))
}

fn fastest(drift_ppm: u32) -> u128 {
    MILLION + u128::from(drift_ppm)
}

/// `span` times `by`/`of`, rounded down; saturates at the longest duration.
fn scale(span: Duration, by: u128, of: u128) -> u64 {
    let scaled = (u128::from(span.0) * by).checked_div(of);
    scaled.map_or(u64::MAX, |nanos| u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::{stretched, usable};
    use crate::Duration;

    #[test]
    fn the_usable_share_is_rounded_down() {
        let usable = |drift_ppm, ttl| usable(Duration(ttl), drift_ppm).0;
        assert_eq!(usable(0, 7), 7);
        assert_eq!(usable(200_000, 3), 2);
        assert_eq!(usable(200_000, 4), 2);
        assert_eq!(usable(200, 2_000_000_000), 1_999_200_159);
        assert_eq!(usable(200, u64::MAX), 18_439_366_851_524_504_803);
    }

    #[test]
    fn the_least_ttl_has_room_for_the_span_and_a_shorter_one_does_not() {
        let span = Duration::from_millis(300);
        for drift_ppm in [0, 1, 200, 333_333, 999_999] {
            let least = stretched(span, drift_ppm);
            assert!(usable(least, drift_ppm) >= span, "{drift_ppm}");
            assert!(usable(Duration(least.0 - 1), drift_ppm) < span, "{drift_ppm}");
        }
    }
}
