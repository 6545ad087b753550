//! The time at which a member got tenure, from its log.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::Result;
use crate::measure::now_ns;

const DAY_NS: u64 = 24 * 3600 * 1_000_000_000;

/// The text that a member logs when it gets tenure.
const HAS_TENURE: &str = "leads (this member), fence";

/// Returns the time on the boot clock at which a member last got tenure. The log has calendar time,
/// which is converted.
pub(super) fn last(log: &Path) -> Result<Option<u64>> {
    let log = fs::read_to_string(log)?;
    let line = log.lines().rfind(|line| line.contains(HAS_TENURE));
    let calendar = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let (now, today) = (now_ns(), calendar.as_nanos() as u64 % DAY_NS);
    Ok(line.and_then(time_of_day_ns).map(|time| now - (today + DAY_NS - time) % DAY_NS))
}

/// Returns the time of day of a line that begins like `2026-01-31T13:02:59.123456Z`.
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
    fn time_of_a_log_line_is_parsed() {
        let line = "2026-01-31T13:02:59.123456Z  INFO group g: a leads (this member), fence 1";
        let seconds = (13 * 60 + 2) * 60 + 59;
        assert_eq!(time_of_day_ns(line), Some(seconds * 1_000_000_000 + 123_456_000));
        for line in ["", "13:02:59.1Z", "2026-01-31T13:02:59Z", "error: T"] {
            assert_eq!(time_of_day_ns(line), None, "{line}");
        }
    }
}
