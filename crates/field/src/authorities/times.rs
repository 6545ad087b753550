//! The time until a command runs: from a cold start, and after each kind of fault.

use std::thread;
use std::time::Duration;

use super::contest::{Contest, Setup};
use super::lock_comparison::{HolderFault, LockMethod};
use super::tenure_time;
use super::worker::StartReport;
use crate::Result;
use crate::measure::{milliseconds, now_ns};
use crate::spread::Spread;
use crate::table::{Table, Verdict};

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
        method.faults().iter().map(|fault| (*fault, TrialResults::default())).collect();
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
    let name = method.name();
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
    let mut contest = Contest::new(setup, method, method.ttl())?;
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
        if let Some(tenure) = tenure_time::last(&contest.log(report.member))? {
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
