//! The host's calendar clock, which people set and which may be wrong.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// 2025-01-01 in seconds since 1970.
const EPOCH_SECS: u64 = 1_735_689_600;

/// The time by the host's calendar, in nanoseconds since the beginning of 2025.
pub fn calendar() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let since = since_1970.as_nanos() as u64;
    since.saturating_sub(EPOCH_SECS * 1_000_000_000)
}

/// Warns if the calendar is before the modification date of this program's file or before 2025,
/// because then it is wrong.
pub fn look_at_calendar() {
    let file = std::env::current_exe().and_then(std::fs::metadata);
    let built = file.and_then(|it| it.modified()).unwrap_or(UNIX_EPOCH);
    if let Some(days) = days_behind(SystemTime::now(), built) {
        tracing::warn!(
            "this host's calendar is {days} days before the day on which this program was built: set the clock. Elections and tenure go \
             on, but times in logs are wrong, and a host of a council takes no part"
        );
    }
}

/// The number of days, if any, by which `now` is before `built` or the beginning of 2025.
fn days_behind(now: SystemTime, built: SystemTime) -> Option<u64> {
    let built = built.max(UNIX_EPOCH + Duration::from_secs(EPOCH_SECS));
    let behind = built.duration_since(now).ok()?;
    let days = behind.as_secs() / 86_400;
    (days > 0).then_some(days)
}

#[cfg(test)]
mod tests {
    use super::days_behind;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn calendar_before_the_build_is_noticed() {
        let day = |number: u64| UNIX_EPOCH + Duration::from_secs(number * 86_400);
        assert_eq!(days_behind(day(0), UNIX_EPOCH), Some(20_089)); // 2025-01-01
        assert_eq!(days_behind(day(20_500), day(20_600)), Some(100));
        assert_eq!(days_behind(day(20_600), day(20_600)), None);
        // The date of a file may be slightly ahead of a correct clock.
        assert_eq!(days_behind(day(20_600), day(20_600) + Duration::from_secs(3_600)), None);
    }
}
