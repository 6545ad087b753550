//! The time from SIGKILL of `hustings run` until the next command runs, over many kills in one
//! group, with default options.
//!
//! The guardian of the killed process releases the tenure at once. If the release does not reach
//! every voter, the next command waits until the tenure expires.

use std::ops::RangeInclusive;
use std::thread;
use std::time::Duration;

use super::contest::{Contest, Role, Setup};
use super::lock_comparison::{HolderFault, LockMethod};
use super::worker::StartReport;
use crate::measure::{milliseconds, now_ns};
use crate::table::{Report, Spread, Verdict};
use crate::testbed::MEMBERS;
use crate::{Options, Result};

/// The delay between the starts of two hosts. Real hosts do not start at one instant: the first
/// voters begin a tenure before the last voter is up.
const APART: Duration = Duration::from_millis(300);

/// The time after which all members of a new group know each other.
const SETTLES_IN: Duration = Duration::from_secs(1);

/// The time after which a restarted voter votes again: one ttl, and some time to start.
const VOTES_AFTER: Duration = Duration::from_millis(2_500);

/// The time after which a killed process has ended.
const ENDS_WITHIN: Duration = Duration::from_millis(150);

/// The rows of the table: ranges of kills, counted within a group.
const ROWS: &[(&str, RangeInclusive<u32>)] = &[
    ("hustings run: 1st SIGKILL after a cold start", 1..=1),
    ("hustings run: 2nd SIGKILL in the group", 2..=2),
    ("hustings run: 3rd to 9th SIGKILL", 3..=9),
    ("hustings run: 10th, all others were restarted", 10..=10),
];

/// Carries out the kills and prints the table.
pub(super) fn run(setup: Setup<'_>, options: &Options, report: &mut Report) -> Result<()> {
    let chosen = options.choose(ROWS, |(name, _)| name);
    let Some(rounds) = chosen.iter().map(|(_, kills)| *kills.end()).max() else {
        return Ok(());
    };
    let method = LockMethod::QuorumByDefault;
    let mut times: Vec<(u32, f64)> = Vec::new();
    for _ in 0..method.profile().trials(options.trials) {
        let mut contest = Contest::new(setup, method, method.profile().ttl)?;
        let mut holder = come_up(&mut contest)?;
        for round in 1..=rounds {
            times.push((round, kill(&mut contest, &mut holder, round)?));
        }
    }
    let title = "Until the next command runs after SIGKILL of hustings run, in milliseconds, three voters of five hosts, default \
                 options (ttl 2 s):";
    report.rows(options, title, &Spread::HEADINGS, ROWS, |kills| {
        let mut spread = Spread::default();
        let its = times.iter().filter(|(round, _)| kills.contains(round));
        its.for_each(|(_, took)| spread.add(*took));
        // This is far less than the rest of a tenure that is not released.
        let median_is_met = spread.median().is_some_and(|it| it <= 50.0);
        let is_met = median_is_met && spread.max().is_some_and(|it| it <= 500.0);
        Ok((spread.cells(), Verdict::new("median 50, max 500", is_met)))
    })?;
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
