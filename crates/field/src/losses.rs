//! Groups under packet loss: a live leader must not be replaced, and a lost one must be replaced
//! soon.

use std::time::Duration;

use super::Options;
use super::measure::milliseconds;
use super::members::Members;
use super::spread::Spread;
use super::table::{Report, Verdict};
use super::testbed::{PATIENCE, Testbed};
use crate::Result;

/// Detection below one second needs more announcements than the usual ten a second.
const OPTIONS: &[&str] = &["--announce", "50ms", "--listen", "auto"];

/// A rate of loss.
struct Rate {
    name: &'static str,
    percent: u32,
}

const RATES: &[Rate] = &[
    Rate { name: "20 % lost, announce 50 ms, listen auto", percent: 20 },
    Rate { name: "30 % lost, announce 50 ms, listen auto", percent: 30 },
];

pub(super) fn run(testbed: Testbed<'_>, options: &Options, report: &mut Report) -> Result<()> {
    let chosen = options.choose(RATES, |rate| rate.name);
    if chosen.is_empty() {
        return Ok(());
    }
    let title = format!(
        "Each host loses so much of what it should receive: changes at all members in {} s; then the \
         leader's host is lost, in milliseconds:",
        options.seconds
    );
    let headings = ["changes", "trials", "median", "p95", "max"];
    let mut table = report.table(&title, &headings);
    for rate in chosen {
        let measured = endure(testbed, options, rate.percent);
        testbed.hosts.heal()?;
        let (changes, detections) = measured?;
        let mut cells = vec![changes.to_string()];
        cells.extend(detections.cells());
        let is_met = changes == 0 && detections.max().is_some_and(|it| it < 1_000.0);
        let verdict = Verdict::new("0 changes, max 1000", is_met);
        table.row(rate.name, &cells, &verdict);
    }
    Ok(())
}

/// Returns the number of changes of leader under loss, and the times that it takes to replace a
/// lost host.
fn endure(testbed: Testbed<'_>, options: &Options, percent: u32) -> Result<(usize, Spread)> {
    let (mut members, _) = testbed.settled(OPTIONS)?;
    let everyone = members.everyone();
    for &host in &everyone {
        testbed.hosts.lose(host, percent)?;
    }
    let before = members.report_count(&everyone);
    members.listen_for(Duration::from_secs(options.seconds));
    let changes = members.report_count(&everyone) - before;
    let mut detections = Spread::default();
    for _ in 0..options.trials {
        detections.add(lose_leader(testbed, &mut members, percent)?);
    }
    Ok((changes, detections))
}

/// Isolates the leader's host and brings it back. Returns the milliseconds until all others named
/// another leader.
fn lose_leader(testbed: Testbed<'_>, members: &mut Members<'_>, percent: u32) -> Result<f64> {
    let everyone = members.everyone();
    let (leader, _) = members.agree(&everyone, &everyone, PATIENCE)?;
    let survivors = members.all_but(leader);
    let began = testbed.hosts.isolate(leader)?;
    let (_, known) = members.agree(&survivors, &survivors, PATIENCE)?;
    testbed.hosts.lose(leader, percent)?;
    members.listen_for(Duration::from_secs(3));
    Ok(milliseconds(began, known))
}
