//! When a member got tenure, by its log.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::Result;
use crate::field::measure::now_ns;

const DAY_NS: u64 = 24 * 3600 * 1_000_000_000;

/// What a member logs when it has tenure.
const HAS_TENURE: &str = "leads (this member), fence";

/// When a member got tenure for the last time, on the boot clock, by its log. Logs have the calendar's time.
pub(super) fn of_tenure(log: &Path) -> Result<Option<u64>> {
    let log = fs::read_to_string(log)?;
    let line = log.lines().rfind(|line| line.contains(HAS_TENURE));
    let calendar = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let (now, today) = (now_ns(), calendar.as_nanos() as u64 % DAY_NS);
    Ok(line
        .and_then(time_of_day_ns)
        .map(|time| now - (today + DAY_NS - time) % DAY_NS))
}

/// The time of day of a line that begins as `2026-01-31T13:02:59.123456Z`.
fn time_of_day_ns(line: &str) -> Option<u64> {
    let (_, time) = line.split_whitespace().next()?.split_once('T')?;
    let (whole, part) = time.strip_suffix('Z')?.split_once('.')?;
    let mut units = whole.split(':').map(str::parse::<u64>);
    let seconds = (0..3).try_fold(0, |sum, _| Some(sum * 60 + units.next()?.ok()?))?;
    let part: u64 = format!("{part:0<9}").parse().ok()?;
    Some(seconds * 1_000_000_000 + part)
}

#[cfg(test)]
mod tests {
    use super::time_of_day_ns;

    #[test]
    fn the_time_of_a_line_is_read() {
        let line = "2026-01-31T13:02:59.123456Z  INFO group g: a leads (this member), fence 1";
        let seconds = (13 * 60 + 2) * 60 + 59;
        assert_eq!(
            time_of_day_ns(line),
            Some(seconds * 1_000_000_000 + 123_456_000)
        );
        for line in ["", "13:02:59.1Z", "2026-01-31T13:02:59Z", "error: T"] {
            assert_eq!(time_of_day_ns(line), None, "{line}");
        }
    }
}
