//! The time from SIGKILL of `hustings run` until the next command runs, over many kills in one
//! group, with default options.
//!
//! The guardian of the killed process releases the tenure at once. If the release does not reach
//! every voter, the next command waits until the tenure expires.

use std::thread;
use std::time::Duration;

use super::contest::{Contest, Role, Setup};
use super::lock_comparison::{HolderFault, LockMethod};
use super::worker::StartReport;
use crate::Options;
use crate::Result;
use crate::measure::{milliseconds, now_ns};
use crate::spread::{self, Spread};
use crate::table::{Report, Verdict};
use crate::testbed::MEMBERS;

/// The delay between the starts of two hosts. Real hosts do not start at one instant: the first
/// voters begin a tenure before the last voter is up.
const APART: Duration = Duration::from_millis(300);

/// The time after which all members of a new group know each other.
const SETTLES_IN: Duration = Duration::from_secs(1);

/// The time after which a restarted voter votes again: one ttl, and some time to start.
const VOTES_AFTER: Duration = Duration::from_millis(2_500);

/// The time after which a killed process has ended.
const ENDS_WITHIN: Duration = Duration::from_millis(150);

/// One row of the table: a range of kills, counted within a group.
struct KillRow {
    name: &'static str,
    first: u32,
    last: u32,
}

const ROWS: &[KillRow] = &[
    KillRow { name: "hustings run: 1st SIGKILL after a cold start", first: 1, last: 1 },
    KillRow { name: "hustings run: 2nd SIGKILL in the group", first: 2, last: 2 },
    KillRow { name: "hustings run: 3rd to 9th SIGKILL", first: 3, last: 9 },
    KillRow { name: "hustings run: 10th, all others were restarted", first: 10, last: 10 },
];

/// Carries out the kills and prints the table.
pub(super) fn run(setup: Setup<'_>, options: &Options, report: &mut Report) -> Result<()> {
    let chosen = options.choose(ROWS, |row| row.name);
    let Some(rounds) = chosen.iter().map(|row| row.last).max() else {
        return Ok(());
    };
    let method = LockMethod::QuorumByDefault;
    let mut spreads = vec![Spread::default(); chosen.len()];
    for _ in 0..method.trials(options.trials) {
        let mut contest = Contest::new(setup, method, method.ttl())?;
        let mut holder = come_up(&mut contest)?;
        for round in 1..=rounds {
            let took = kill(&mut contest, &mut holder, round)?;
            let is_in = |row: &KillRow| (row.first..=row.last).contains(&round);
            let rows = chosen.iter().zip(&mut spreads);
            for (_, spread) in rows.filter(|(row, _)| is_in(row)) {
                spread.add(took);
            }
        }
    }
    let title = "Until the next command runs after SIGKILL of hustings run, in milliseconds, three voters of five hosts, default \
                 options (ttl 2 s):";
    let mut table = report.table(title, &spread::HEADINGS);
    for (row, spread) in chosen.iter().zip(&spreads) {
        // This is far less than the rest of a tenure that is not released.
        let median_is_met = spread.median().is_some_and(|it| it <= 50.0);
        let is_met = median_is_met && spread.max().is_some_and(|it| it <= 500.0);
        let verdict = Verdict::new("median 50, max 500", is_met);
        table.row(row.name, &spread.cells(), &verdict);
    }
    Ok(())
}

/// Starts all members one after the other. Returns the report of the first command.
fn come_up(contest: &mut Contest<'_>) -> Result<StartReport> {
    for member in 0..MEMBERS {
        contest.start(member, Role::Candidate)?;
        thread::sleep(APART);
    }
    let holder = contest.next()?;
    thread::sleep(SETTLES_IN);
    Ok(holder)
}

/// Kills the process that runs the command, and starts it again. Returns the milliseconds until the
/// next command began.
fn kill(contest: &mut Contest<'_>, holder: &mut StartReport, round: u32) -> Result<f64> {
    if round == 10 {
        for member in (0..MEMBERS).filter(|it| *it != holder.member) {
            contest.restart(member)?;
            thread::sleep(APART);
        }
    }
    if round > 1 {
        // The kill hits every point of an interval equally often.
        thread::sleep(VOTES_AFTER + Duration::from_micros(now_ns() % 100_000));
    }
    while let Some(later) = contest.reports.arrived()? {
        *holder = later;
    }
    let former = *holder;
    let struck = contest.inject(former, HolderFault::Client)?;
    *holder = contest.next()?;
    contest.undo(former, HolderFault::Client)?;
    thread::sleep(ENDS_WITHIN);
    contest.restart_ended()?;
    Ok(milliseconds(struck, holder.at_ns))
}
