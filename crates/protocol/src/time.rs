//! Time for protocols: nanoseconds since the start of the world, simulated or real.

use std::fmt;
use std::ops::{Add, Mul, Sub};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A moment on a member's clock.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Instant(pub u64);

/// A length of time.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Duration(pub u64);

impl Instant {
    /// The start of the world.
    pub const START: Self = Self(0);

    /// This moment in seconds since the start of the world.
    pub fn as_secs_f64(self) -> f64 {
        Duration(self.0).as_secs_f64()
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// `secs` seconds, to the nearest nanosecond. Negative numbers and NaN give zero.
    pub fn from_secs_f64(secs: f64) -> Self {
        // A float-to-integer cast saturates: negative and NaN give 0, too large gives the maximum.
        Self((secs * 1e9).round() as u64)
    }

    /// This duration in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// This duration times `factor`, to the nearest nanosecond.
    pub fn mul_f64(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor).round() as u64)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub for Instant {
    type Output = Duration;

    /// The time since `earlier`; zero if `earlier` is in fact later.
    fn sub(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Duration {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Mul<u64> for Duration {
    type Output = Self;

    fn mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

impl From<std::time::Duration> for Duration {
    /// Durations above the maximum of 584 years give the maximum.
    fn from(span: std::time::Duration) -> Self {
        Self(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Duration> for std::time::Duration {
    fn from(span: Duration) -> Self {
        Self::from_nanos(span.0)
    }
}

impl fmt::Display for Duration {
    /// Writes the duration in the largest unit that shows it exactly: `250ms`, `1s`, `1500us`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 3] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
        if self.0 == 0 {
            return write!(f, "0s");
        }
        for (nanos, unit) in UNITS {
            if self.0.is_multiple_of(nanos) {
                return write!(f, "{}{unit}", self.0 / nanos);
            }
        }
        write!(f, "{}ns", self.0)
    }
}

/// The longest duration that can be parsed: a hundred years. Sums of several still fit.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

impl FromStr for Duration {
    type Err = DurationError;

    /// Parses a number and a unit: `250ms`, `1.5s`, `2m`. Zero needs no unit.
    fn from_str(text: &str) -> Result<Self, DurationError> {
        let refused = || DurationError { text: text.to_owned() };
        let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let nanos = match unit {
            "ns" => 1.0,
            "us" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" => 60e9,
            "h" => 3600e9,
            "" if number == "0" => 1.0,
            _ => return Err(refused()),
        };
        // Digits and at most one point: no sign, no exponent, no `inf`.
        if !number.chars().all(|c| c.is_ascii_digit() || c == '.') {
            return Err(refused());
        }
        let number: f64 = number.parse().map_err(|_| refused())?;
        let nanos = (number * nanos).round();
        if nanos > LONGEST.0 as f64 {
            return Err(refused());
        }
        Ok(Self(nanos as u64))
    }
}

/// The error for a text that is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{text}` is not a duration: write a number and a unit (ns, us, ms, s, m, h), as in 250ms, up to 876000h"
)]
pub struct DurationError {
    text: String,
}

#[cfg(test)]
mod tests {
    use super::{Duration, Instant};
    use std::time::Duration as StdDuration;

    #[test]
    fn durations_are_a_number_and_a_unit() {
        for (text, span) in [
            ("250ms", Duration::from_millis(250)),
            ("1.5s", Duration::from_millis(1_500)),
            ("2m", Duration::from_secs(120)),
            ("7ns", Duration::from_nanos(7)),
            ("0", Duration::ZERO),
        ] {
            assert_eq!(text.parse(), Ok(span), "{text}");
        }
        for text in [
            "",
            "5",
            "s",
            "-1s",
            "1e3s",
            "infs",
            "1.2.3s",
            "1 s",
            "1sec",
            "876001h",
            "99999999999999h",
        ] {
            assert!(text.parse::<Duration>().is_err(), "{text}");
        }
    }

    #[test]
    fn durations_are_shown_in_the_largest_exact_unit() {
        for (span, shown) in [
            (Duration::ZERO, "0s"),
            (Duration::from_secs(2), "2s"),
            (Duration::from_millis(1_500), "1500ms"),
            (Duration::from_micros(7), "7us"),
            (Duration::from_nanos(1_001), "1001ns"),
        ] {
            assert_eq!(span.to_string(), shown);
        }
    }

    #[test]
    fn standard_library_durations_convert_both_ways_and_saturate() {
        let (ours, theirs) = (Duration(1_500_000_001), StdDuration::new(1, 500_000_001));
        assert_eq!(Duration::from(theirs), ours);
        assert_eq!(StdDuration::from(ours), theirs);
        assert_eq!(Duration::from(StdDuration::MAX), Duration(u64::MAX));
    }

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        assert_eq!(Instant(5) - Instant(9), Duration::ZERO);
        assert_eq!(Instant(u64::MAX) + Duration(1), Instant(u64::MAX));
        assert_eq!(Duration::from_secs_f64(-1.0), Duration::ZERO);
        assert_eq!(Duration::from_secs_f64(f64::NAN), Duration::ZERO);
    }
}
