//! The machine's clock.

use hustings_protocol::Instant;
use rustix::time::{ClockId, clock_gettime};

/// The time since the machine booted, including time asleep. It is the same for all processes of a
/// host, and is never set, so an interval on it is an interval of real time.
pub fn now() -> Instant {
    let time = clock_gettime(ClockId::Boottime);
    // Neither value is negative, because they count from boot.
    Instant(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::process::Command;

    use hustings_protocol::Duration;

    use super::now;

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
        let ahead = Duration(read - now().0.min(read));
        assert!(ahead > Duration::from_secs(4000), "{ahead}");
    }
}
