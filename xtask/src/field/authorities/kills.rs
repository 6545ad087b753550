//! SIGKILL of `hustings run`, again and again in one group, with default options: until the next command runs.
//!
//! The guardian of the killed one releases the tenure at once. If its release does not reach every voter, the next command
//! waits until the tenure has run out.

use std::thread;
use std::time::Duration;

use super::contender::{Blow, Contender};
use super::contest::{Contest, Part, Ring};
use super::worker::Beginning;
use crate::Result;
use crate::field::Options;
use crate::field::ground::MEMBERS;
use crate::field::measure::{milliseconds, now_ns};
use crate::field::spread::{self, Spread};
use crate::field::table::{Report, Verdict};

/// Hosts do not come up at one instant: the first voters begin a tenure before the last one is there.
const APART: Duration = Duration::from_millis(300);

/// Until all members of a group that has just come up know each other.
const SETTLES_IN: Duration = Duration::from_secs(1);

/// Until a voter that was restarted votes again: a ttl, and some time to come up.
const VOTES_AFTER: Duration = Duration::from_millis(2_500);

/// Until a process that was killed has ended.
const ENDS_WITHIN: Duration = Duration::from_millis(150);

/// One row of the table: the kills from the first to the last, by their number in a group.
struct Row {
    name: &'static str,
    first: u32,
    last: u32,
}

const ROWS: &[Row] = &[
    Row {
        name: "hustings run: 1st SIGKILL after a cold start",
        first: 1,
        last: 1,
    },
    Row {
        name: "hustings run: 2nd SIGKILL in the group",
        first: 2,
        last: 2,
    },
    Row {
        name: "hustings run: 3rd to 9th SIGKILL",
        first: 3,
        last: 9,
    },
    Row {
        name: "hustings run: 10th, all others were restarted",
        first: 10,
        last: 10,
    },
];

/// Carries out the kills, and prints the table.
pub(super) fn run(ring: Ring<'_>, options: &Options, report: &mut Report) -> Result<()> {
    let chosen = options.choose(ROWS, |row| row.name);
    let Some(rounds) = chosen.iter().map(|row| row.last).max() else {
        return Ok(());
    };
    let contender = Contender::QuorumByDefault;
    let mut spreads = vec![Spread::default(); chosen.len()];
    for _ in 0..contender.trials(options.trials) {
        let mut contest = Contest::new(ring, contender, contender.ttl())?;
        let mut holder = come_up(&mut contest)?;
        for round in 1..=rounds {
            let took = kill(&mut contest, &mut holder, round)?;
            let is_in = |row: &Row| (row.first..=row.last).contains(&round);
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
        // Far less than what is left of a tenure that nobody releases.
        let median_is_met = spread.median().is_some_and(|it| it <= 50.0);
        let is_met = median_is_met && spread.max().is_some_and(|it| it <= 500.0);
        let verdict = Verdict::new("median 50, max 500", is_met);
        table.row(row.name, &spread.cells(), &verdict);
    }
    Ok(())
}

/// Starts all members one after the other. Returns whose command runs.
fn come_up(contest: &mut Contest<'_>) -> Result<Beginning> {
    for member in 0..MEMBERS {
        contest.start(member, Part::Stands)?;
        thread::sleep(APART);
    }
    let holder = contest.next()?;
    thread::sleep(SETTLES_IN);
    Ok(holder)
}

/// Kills what runs the command, and starts it again. Returns how many milliseconds the next command took.
fn kill(contest: &mut Contest<'_>, holder: &mut Beginning, round: u32) -> Result<f64> {
    if round == 10 {
        for member in (0..MEMBERS).filter(|it| *it != holder.member) {
            contest.restart(member)?;
            thread::sleep(APART);
        }
    }
    if round > 1 {
        // In the middle of an interval as often as at its end.
        thread::sleep(VOTES_AFTER + Duration::from_micros(now_ns() % 100_000));
    }
    while let Some(later) = contest.desk.arrived()? {
        *holder = later;
    }
    let former = *holder;
    let struck = contest.strike(former, Blow::Client)?;
    *holder = contest.next()?;
    contest.make_good(former, Blow::Client)?;
    thread::sleep(ENDS_WITHIN);
    contest.start_the_ended()?;
    Ok(milliseconds(struck, holder.at_ns))
}
