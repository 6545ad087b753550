//! The machine's clocks: the boot clock, which measures intervals, and the calendar, which people
//! set and which may be wrong.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hustings_protocol::Instant;
use rustix::time::{ClockId, clock_gettime};

/// The time since the machine booted, including time asleep. It is the same for all processes of a
/// host, and is never set, so an interval on it is an interval of real time.
pub fn now() -> Instant {
    let time = clock_gettime(ClockId::Boottime);
    // Neither value is negative, because they count from boot.
    Instant(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

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
    use std::ffi::OsStr;
    use std::process::Command;
    use std::time::{Duration, UNIX_EPOCH};

    use super::{days_behind, now};

    /// Set if this test runs as a child process that only reads the clock.
    const INSIDE: &str = "HUSTINGS_TEST_READS_THE_CLOCK";

    /// In its own time namespace a process sees the boot clock of a machine that has slept 5000 s
    /// longer. The monotonic clock and the calendar are unchanged.
    #[test]
    fn time_asleep_counts() {
        if std::env::var_os(INSIDE).is_some() {
            println!("\nclock {}", now().0);
            return;
        }
        let asleep = |program: &OsStr| {
            let mut unshare = Command::new("unshare");
            unshare.args(["--time", "--boottime", "5000", "--fork"]).arg(program);
            unshare
        };
        let allowed = asleep("true".as_ref()).output();
        if !allowed.is_ok_and(|it| it.status.success()) {
            println!("not tried: `unshare --time` needs util-linux, and root");
            return;
        }
        let inside = asleep(std::env::current_exe().unwrap().as_os_str())
            .args(["--exact", "clock::tests::time_asleep_counts", "--nocapture"])
            .env(INSIDE, "1")
            .output()
            .unwrap();
        let said = String::from_utf8(inside.stdout).unwrap();
        let read = said.lines().find_map(|it| it.strip_prefix("clock "));
        let read: u64 = read.expect("what the clock shows").parse().unwrap();
        let ahead = Duration::from_nanos(read - now().0.min(read));
        assert!(ahead > Duration::from_secs(4000), "{ahead:?}");
    }

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
