//! Time stamps by the clock of the member that writes them.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use hustings_protocol::Instant;
use serde::{Deserialize, Serialize};

use hustings_system::clock;

const DAY: u64 = 24 * 60 * 60 * 1_000;

/// Milliseconds since 1970-01-01 UTC by a member's clock. The value is the member's claim and
/// proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(millis) = *self;
        let (year, month, day) = date(millis / DAY);
        let seconds = millis % DAY / 1_000;
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        let millis = millis % 1_000;
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
    }
}

/// The Gregorian date that is `days` after 1970-01-01. Years are counted from March, so that a leap
/// day is the last day of its year.
fn date(days: u64) -> (u64, u64, u64) {
    const ERA: u64 = 146_097; // days in 400 years
    let days = days + 719_468; // since 1 March of the year 0
    let (era, day) = (days / ERA, days % ERA);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    match month {
        0..10 => (400 * era + year, month + 3, day),
        _ => (400 * era + year + 1, month - 9, day),
    }
}

/// The host's wall clock, read once. Later times are computed with the monotonic clock, so that the
/// difference between two time stamps is the time that passed.
#[derive(Debug)]
pub(super) struct Calendar {
    was: Timestamp,
    at: Instant,
}

impl Calendar {
    pub(super) fn new() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            // the wall clock may be set to any time, even before 1970
            was: Timestamp(since.map_or(0, |it| it.as_millis() as u64)),
            at: clock::now(),
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        Timestamp(self.was.0 + (clock::now() - self.at).0 / 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::{Calendar, DAY, Timestamp};

    #[test]
    fn timestamp_is_shown_as_a_calendar_date() {
        let days = |days: u64| Timestamp(days * DAY).to_string();
        assert_eq!(days(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(days(11_016), "2000-02-29T00:00:00.000Z");
        assert_eq!(days(11_017), "2000-03-01T00:00:00.000Z");
        assert_eq!(days(20_453), "2025-12-31T00:00:00.000Z");
        assert_eq!(days(47_540), "2100-02-28T00:00:00.000Z");
        assert_eq!(days(47_541), "2100-03-01T00:00:00.000Z");
        let late = Timestamp(1_763_404_625_447);
        assert_eq!(late.to_string(), "2025-11-17T18:37:05.447Z");
        // A signed time stamp can have any value.
        assert!(Timestamp(u64::MAX).to_string().ends_with("Z"));
    }

    #[test]
    fn calendar_advances() {
        let calendar = Calendar::new();
        let timestamp = calendar.now();
        assert!(timestamp > Timestamp(20_000 * DAY), "{timestamp}");
        while calendar.now() == timestamp {}
        assert!(calendar.now() > timestamp);
    }
}
