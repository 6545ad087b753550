//! The time until a command runs: from a cold start, after each kind of fault, and after many kills
//! of `hustings run` in one group.

use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::contest::{Contest, Role, Setup};
use super::stores::Stores;
use super::worker::StartReport;
use super::{HolderFault, LockMethod};
use crate::measure::{milliseconds, now_ns};
use crate::table::{Report, Spread, Verdict};
use crate::testbed::{MEMBERS, Testbed};
use crate::{Options, Result};

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
    report: &mut Report,
) -> Result<()> {
    let mut cold = TrialResults::default();
    let mut after: Vec<(HolderFault, TrialResults)> =
        method.profile().faults.iter().map(|fault| (*fault, TrialResults::default())).collect();
    match method {
        LockMethod::EtcdElect => at_once(setup, method, trials, &mut cold, &mut after)?,
        _ => {
            for _ in 0..trials {
                let mut contest = begin(setup, method, &mut cold)?;
                for (fault, results) in &mut after {
                    let former = latest(&mut contest)?;
                    let struck = contest.inject(former, *fault)?;
                    follow(&mut contest, former, struck, results)?;
                    contest.undo(former, *fault)?;
                    thread::sleep(ENDS_WITHIN);
                    contest.restart_ended()?;
                }
            }
        }
    }
    let name = method.profile().name;
    report.row(&format!("{name}: cold start"), &cold.cells(), &Verdict::none());
    for (fault, results) in &after {
        let name = format!("{name}: {}", fault.name(method));
        report.row(&name, &results.cells(), &verdict(method, *fault, results));
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
            let mut contest = begin(setup, method, cold)?;
            let holder = latest(&mut contest)?;
            let at = contest.inject(holder, *fault)?;
            struck.push((contest, holder, at));
        }
        for (contest, holder, at) in &mut struck {
            follow(contest, *holder, *at, results)?;
        }
    }
    Ok(())
}

/// Returns a new contest whose first command runs.
fn begin<'a>(setup: Setup<'a>, method: LockMethod, cold: &mut TrialResults) -> Result<Contest<'a>> {
    let mut contest = Contest::new(setup, method, method.profile().ttl)?;
    let began = now_ns();
    contest.start_all()?;
    let first = contest.next()?;
    cold.add(&contest, began, first)?;
    Ok(contest)
}

/// Waits until the group is idle. Returns the report of the command that then runs.
fn latest(contest: &mut Contest<'_>) -> Result<StartReport> {
    // The fault hits every point of an interval equally often.
    thread::sleep(SETTLES_IN + Duration::from_micros(now_ns() % 100_000));
    let holder = contest.reports.last()?;
    let is_running = contest.reports.is_running(holder);
    ensure!(is_running, "the command of member {} has ended", holder.member);
    Ok(holder)
}

/// Waits for the next holder's command.
fn follow(
    contest: &mut Contest<'_>,
    former: StartReport,
    struck: u64,
    results: &mut TrialResults,
) -> Result<()> {
    let next = contest.next()?;
    results.overlaps += u32::from(contest.reports.is_running(former));
    ensure!(next.member != former.member, "member {} follows itself", next.member);
    results.add(contest, struck, next)
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

/// The delay between the starts of two hosts. Real hosts do not start at one instant: the first
/// voters begin a tenure before the last voter is up.
const APART: Duration = Duration::from_millis(300);

/// The time after which all members of a new group know each other.
const KNOW_EACH_OTHER_IN: Duration = Duration::from_secs(1);

/// The time after which a restarted voter votes again: one ttl, and some time to start.
const VOTES_AFTER: Duration = Duration::from_millis(2_500);

/// The rows of the table of kills: ranges of kills, counted within a group.
const KILLS: &[(&str, RangeInclusive<u32>)] = &[
    ("hustings run: 1st SIGKILL after a cold start", 1..=1),
    ("hustings run: 2nd SIGKILL in the group", 2..=2),
    ("hustings run: 3rd to 9th SIGKILL", 3..=9),
    ("hustings run: 10th, all others were restarted", 10..=10),
];

/// Measures the time from SIGKILL of `hustings run` until the next command runs, over many kills in
/// one group, with default options.
///
/// The guardian of the killed process releases the tenure at once. If the release does not reach
/// every voter, the next command waits until the tenure expires.
pub(crate) fn kills(testbed: Testbed<'_>, options: &Options, report: &mut Report) -> Result<()> {
    let chosen = options.choose(KILLS, |(name, _)| name);
    let Some(rounds) = chosen.iter().map(|(_, kills)| *kills.end()).max() else {
        return Ok(());
    };
    let stores = Stores::none(testbed.hosts);
    let setup = Setup { testbed, stores: &stores };
    let method = LockMethod::QuorumByDefault;
    let mut times: Vec<(u32, f64)> = Vec::new();
    for _ in 0..method.profile().trials(options.trials) {
        let mut contest = Contest::new(setup, method, method.profile().ttl)?;
        for member in 0..MEMBERS {
            contest.start(member, Role::Candidate)?;
            thread::sleep(APART);
        }
        contest.next()?;
        thread::sleep(KNOW_EACH_OTHER_IN);
        for round in 1..=rounds {
            times.push((round, kill(&mut contest, round)?));
        }
    }
    let title = "Until the next command runs after SIGKILL of hustings run, in milliseconds, three voters of five hosts, default \
                 options (ttl 2 s):";
    report.rows(options, title, &Spread::HEADINGS, KILLS, |kills| {
        let its = times.iter().filter(|(round, _)| kills.contains(round));
        let spread: Spread = its.map(|(_, took_ms)| *took_ms).collect();
        // This is far less than the rest of a tenure that is not released.
        let median_is_met = spread.median().is_some_and(|it| it <= 50.0);
        let is_met = median_is_met && spread.max().is_some_and(|it| it <= 500.0);
        Ok((spread.cells(), Verdict::new("median 50, max 500", is_met)))
    })?;
    Ok(())
}

/// Kills the process that runs the command, and starts it again. Returns the milliseconds until the
/// next command began.
fn kill(contest: &mut Contest<'_>, round: u32) -> Result<f64> {
    if round == 10 {
        let holder = contest.reports.last()?.member;
        for member in (0..MEMBERS).filter(|&it| it != holder) {
            contest.restart(member)?;
            thread::sleep(APART);
        }
    }
    if round > 1 {
        // The kill hits every point of an interval equally often.
        thread::sleep(VOTES_AFTER + Duration::from_micros(now_ns() % 100_000));
    }
    let former = contest.reports.last()?;
    let struck = contest.inject(former, HolderFault::Client)?;
    let next = contest.next()?;
    contest.undo(former, HolderFault::Client)?;
    thread::sleep(ENDS_WITHIN);
    contest.restart_ended()?;
    Ok(milliseconds(struck, next.at_ns))
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
