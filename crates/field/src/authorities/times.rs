//! The time until a command runs: from a cold start, and after each kind of fault.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::contest::{Contest, Setup};
use super::lock_comparison::{HolderFault, LockMethod};
use super::worker::StartReport;
use crate::Result;
use crate::measure::{milliseconds, now_ns};
use crate::table::{Spread, Table, Verdict};

pub(super) const HEADINGS: [&str; 7] =
    ["trials", "median", "p95", "max", "tenure:", "p95", "overlaps"];

/// The time after which a started process is a member, a restarted voter votes again, and the group
/// is idle.
const SETTLES_IN: Duration = Duration::from_millis(900);

/// The time after which a client whose command was killed has ended.
const ENDS_WITHIN: Duration = Duration::from_millis(150);

/// The results of all trials of one kind.
#[derive(Default)]
struct TrialResults {
    command: Spread,
    /// The time until tenure, if the log records it.
    tenure: Spread,
    /// The number of trials in which the former holder's command still ran.
    overlaps: u32,
}

/// Runs the trials of one method and prints their rows.
pub(super) fn run(
    setup: Setup<'_>,
    method: LockMethod,
    trials: u32,
    table: &mut Table<'_>,
) -> Result<()> {
    let mut cold = TrialResults::default();
    let mut after: Vec<(HolderFault, TrialResults)> =
        method.profile().faults.iter().map(|fault| (*fault, TrialResults::default())).collect();
    match method {
        LockMethod::EtcdElect => at_once(setup, method, trials, &mut cold, &mut after)?,
        _ => {
            for _ in 0..trials {
                let (mut contest, mut holder) = begin(setup, method, &mut cold)?;
                for (fault, results) in &mut after {
                    let former = latest(&mut contest, holder)?;
                    let struck = contest.inject(former, *fault)?;
                    holder = follow(&mut contest, former, struck, results)?;
                    contest.undo(former, *fault)?;
                    thread::sleep(ENDS_WITHIN);
                    contest.restart_ended()?;
                }
            }
        }
    }
    let name = method.profile().name;
    table.row(&format!("{name}: cold start"), &cold.cells(), &Verdict::none());
    for (fault, results) in &after {
        let name = format!("{name}: {}", fault.name(method));
        table.row(&name, &results.cells(), &verdict(method, *fault, results));
    }
    Ok(())
}

/// Runs trials that take a minute each. All run in the same minute, each in a contest of its own.
fn at_once(
    setup: Setup<'_>,
    method: LockMethod,
    trials: u32,
    cold: &mut TrialResults,
    after: &mut [(HolderFault, TrialResults)],
) -> Result<()> {
    for (fault, results) in after {
        let mut struck = Vec::new();
        for _ in 0..trials {
            let (mut contest, holder) = begin(setup, method, cold)?;
            let holder = latest(&mut contest, holder)?;
            let at = contest.inject(holder, *fault)?;
            struck.push((contest, holder, at));
        }
        for (contest, holder, at) in &mut struck {
            follow(contest, *holder, *at, results)?;
        }
    }
    Ok(())
}

/// Returns a new contest and the report of its first command.
fn begin<'a>(
    setup: Setup<'a>,
    method: LockMethod,
    cold: &mut TrialResults,
) -> Result<(Contest<'a>, StartReport)> {
    let mut contest = Contest::new(setup, method, method.profile().ttl)?;
    let began = now_ns();
    contest.start_all()?;
    let first = contest.next()?;
    cold.add(&contest, began, first)?;
    Ok((contest, first))
}

/// Waits until the group is idle. Returns the report of the command that then runs.
fn latest(contest: &mut Contest<'_>, holder: StartReport) -> Result<StartReport> {
    // The fault hits every point of an interval equally often.
    let pause = SETTLES_IN + Duration::from_micros(now_ns() % 100_000);
    thread::sleep(pause);
    let mut holder = holder;
    while let Some(later) = contest.reports.arrived()? {
        holder = later;
    }
    match contest.reports.is_running(holder) {
        true => Ok(holder),
        false => Err(format!("the command of member {} has ended", holder.member).into()),
    }
}

/// Waits for the next holder's command.
fn follow(
    contest: &mut Contest<'_>,
    former: StartReport,
    struck: u64,
    results: &mut TrialResults,
) -> Result<StartReport> {
    let next = contest.next()?;
    if contest.reports.is_running(former) {
        results.overlaps += 1;
    }
    if next.member == former.member {
        return Err(format!("member {} follows itself", next.member).into());
    }
    results.add(contest, struck, next)?;
    Ok(next)
}

impl TrialResults {
    fn add(&mut self, contest: &Contest<'_>, from: u64, report: StartReport) -> Result<()> {
        self.command.add(milliseconds(from, report.at_ns));
        if let Some(tenure) = last_tenure_ns(&contest.log(report.member))? {
            self.tenure.add(milliseconds(from, tenure));
        }
        Ok(())
    }

    fn cells(&self) -> Vec<String> {
        let mut cells = self.command.cells();
        // The count is the same for both, and the maximum is not shown.
        cells.extend_from_slice(&self.tenure.cells()[1..3]);
        cells.push(self.overlaps.to_string());
        cells
    }
}

/// Returns the limit of a row. The members' own voters have a limit on the time until tenure. All
/// methods of this project must have no overlaps.
fn verdict(method: LockMethod, fault: HolderFault, results: &TrialResults) -> Verdict {
    let spread = &results.tenure;
    let (demand, most, reached) = match (method, fault) {
        (LockMethod::Quorum, HolderFault::Command | HolderFault::Client) => {
            ("median 20", 20.0, spread.median())
        }
        (LockMethod::Quorum, HolderFault::Host) => ("p95 320", 320.0, spread.quantile(0.95)),
        _ if method.is_ours() => {
            return Verdict::new("0 overlaps", results.overlaps == 0);
        }
        _ => return Verdict::none(),
    };
    let is_met = reached.is_some_and(|it| it <= most) && results.overlaps == 0;
    Verdict::new(format!("{demand}, 0 overlaps"), is_met)
}

const DAY_NS: u64 = 24 * 3600 * 1_000_000_000;

/// The text that a member logs when it gets tenure.
const HAS_TENURE: &str = "leads (this member), fence";

/// Returns the time on the boot clock at which a member last got tenure. Its log has calendar time,
/// which is converted.
fn last_tenure_ns(log: &Path) -> Result<Option<u64>> {
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
