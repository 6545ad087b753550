//! The time to a new leader: after faults of the leader, under packet loss, and after a partition.

use std::time::Duration;

use rustix::process::Signal;

use super::measure::milliseconds;
use super::table::{Report, Spread, Verdict};
use super::testbed::{MEMBERS, PATIENCE, Testbed};
use crate::{Options, Result};

/// With these intervals a lost host is noticed within 100 ms.
pub(super) const QUICK: &[&str] = &["--announce", "20ms", "--listen", "80ms"];
pub(super) const USUAL: &[&str] = &["--announce", "100ms", "--listen", "300ms"];

/// The announce interval of [`USUAL`].
const ANNOUNCE_MS: f64 = 100.0;

/// The fault that the leader suffers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LeaderFault {
    /// The process is killed. Its host stays up.
    Killed,
    /// The process receives SIGTERM.
    Asked,
    /// Every packet that its host sends or should receive is dropped.
    Isolated,
}

/// A trial that is repeated.
struct Trial {
    limit: Limit,
    /// Returns the milliseconds until every survivor knows the new leader.
    once: fn(Testbed<'_>) -> Result<f64>,
}

/// The limit on the distribution of trials.
enum Limit {
    Median(f64),
    P95(f64),
}

const TRIALS: &[(&str, Trial)] = &[
    ("cold start of five at once", Trial { limit: Limit::P95(300.0), once: cold_start }),
    (
        "leader's process killed (SIGKILL)",
        Trial { limit: Limit::Median(10.0), once: |it| failover(it, USUAL, LeaderFault::Killed) },
    ),
    (
        "leader asked to stop (SIGTERM)",
        Trial { limit: Limit::Median(5.0), once: |it| failover(it, USUAL, LeaderFault::Asked) },
    ),
    (
        "leader's host lost, announce 100 ms, listen 300 ms",
        Trial { limit: Limit::P95(320.0), once: |it| failover(it, USUAL, LeaderFault::Isolated) },
    ),
    (
        "leader's host lost, announce 20 ms, listen 80 ms",
        Trial { limit: Limit::P95(100.0), once: |it| failover(it, QUICK, LeaderFault::Isolated) },
    ),
];

/// Measures how soon a leader that fails is replaced.
pub(super) fn run(testbed: Testbed<'_>, options: &Options, report: &mut Report) -> Result<()> {
    let title =
        format!("Until every survivor knows the new leader, in milliseconds, {MEMBERS} hosts:");
    report.rows(options, &title, &Spread::HEADINGS, TRIALS, |trial| {
        let mut spread = Spread::default();
        for _ in 0..options.trials {
            spread.add((trial.once)(testbed)?);
        }
        let (limit, most, reached) = match trial.limit {
            Limit::Median(most) => ("median", most, spread.median()),
            Limit::P95(most) => ("p95", most, spread.quantile(0.95)),
        };
        let is_met = reached.is_some_and(|it| it <= most);
        Ok((spread.cells(), Verdict::new(format!("{limit} {most}"), is_met)))
    })?;
    Ok(())
}

fn cold_start(testbed: Testbed<'_>) -> Result<f64> {
    let mut members = testbed.group(USUAL);
    let started = members.start_all()?;
    let everyone = members.everyone();
    let (_, known) = members.agree(&everyone, &everyone, PATIENCE)?;
    Ok(milliseconds(members.up_ns().unwrap_or(started), known))
}

/// Elects a leader and injects `fault`. Returns the milliseconds until all other members know the
/// next leader.
pub(super) fn failover(testbed: Testbed<'_>, options: &[&str], fault: LeaderFault) -> Result<f64> {
    let (mut members, leader) = testbed.settled(options)?;
    let survivors = members.all_but(leader);
    let began = match fault {
        LeaderFault::Killed => members.end(leader, Signal::KILL)?,
        LeaderFault::Asked => members.signal(leader, Signal::TERM)?,
        LeaderFault::Isolated => testbed.hosts.isolate(leader)?,
    };
    let agreed = members.agree(&survivors, &survivors, PATIENCE);
    if fault == LeaderFault::Isolated {
        testbed.hosts.unfilter(leader)?;
    }
    Ok(milliseconds(began, agreed?.1))
}

/// Detection below one second needs more announcements than the usual ten a second.
const LOSSY: &[&str] = &["--announce", "50ms", "--listen", "auto"];

/// The percentages of packets that get lost.
const LOSSES: &[(&str, u32)] = &[
    ("20 % lost, announce 50 ms, listen auto", 20),
    ("30 % lost, announce 50 ms, listen auto", 30),
];

/// Checks that packet loss replaces no live leader, and measures how soon a lost one is replaced.
pub(super) fn run_losses(
    testbed: Testbed<'_>,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let title = format!(
        "Each host loses this share of what it should receive: changes at all members in {} s; then \
         the leader's host is lost, in milliseconds:",
        options.seconds
    );
    let headings = ["changes", "trials", "median", "p95", "max"];
    report.rows(options, &title, &headings, LOSSES, |&percent| {
        let (changes, detections) = endure(testbed, options, percent)?;
        testbed.hosts.heal()?;
        let is_met = changes == 0 && detections.max().is_some_and(|it| it < 1_000.0);
        let cells = [vec![changes.to_string()], detections.cells()].concat();
        Ok((cells, Verdict::new("0 changes, max 1000", is_met)))
    })?;
    Ok(())
}

/// Returns the number of changes of leader under loss, and the times that it takes to replace a
/// lost host.
fn endure(testbed: Testbed<'_>, options: &Options, percent: u32) -> Result<(usize, Spread)> {
    let (mut members, _) = testbed.settled(LOSSY)?;
    let everyone = members.everyone();
    for &host in &everyone {
        testbed.hosts.lose(host, percent)?;
    }
    let before = members.report_count(&everyone);
    members.listen_for(Duration::from_secs(options.seconds));
    let changes = members.report_count(&everyone) - before;
    let mut detections = Spread::default();
    for _ in 0..options.trials {
        let (leader, took_ms) = members.lose_leader()?;
        detections.add(took_ms);
        testbed.hosts.lose(leader, percent)?;
        members.listen_for(Duration::from_secs(3));
    }
    Ok((changes, detections))
}

/// The time that both sides have had a leader of their own when the partition heals.
const APART: Duration = Duration::from_secs(1);

/// The side of the partition that the leader is on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Majority,
    Minority,
}

const PARTITIONS: &[(&str, Side)] = &[
    ("partition 2|3 heals, the leader was among the 3", Side::Majority),
    ("partition 2|3 heals, the leader was among the 2", Side::Minority),
];

/// Measures the time until there is one leader after a partition, and whether it is the majority's.
pub(super) fn run_partitions(
    testbed: Testbed<'_>,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let title = "From the heal until all name one leader, in announce intervals; how often it is the \
                 majority's:";
    let headings = ["trials", "median", "p95", "max", "stayed"];
    report.rows(options, title, &headings, PARTITIONS, |&side| {
        let mut spread = Spread::default();
        let mut stayed = 0;
        for _ in 0..options.trials {
            let (intervals, is_majoritys) = heal_partition(testbed, side)?;
            spread.add(intervals);
            stayed += u32::from(is_majoritys);
        }
        let is_met = spread.max().is_some_and(|it| it <= 3.0) && stayed == options.trials;
        let cells = [spread.cells(), vec![format!("{stayed}/{}", options.trials)]].concat();
        Ok((cells, Verdict::new("max 3, always stays", is_met)))
    })?;
    Ok(())
}

/// Returns the number of announce intervals until all members named one leader, and whether it was
/// the majority's all along.
fn heal_partition(testbed: Testbed<'_>, side: Side) -> Result<(f64, bool)> {
    let (mut members, leader) = testbed.settled(USUAL)?;
    let everyone = members.everyone();
    let (few, many) = sides(leader, side);
    testbed.hosts.cut(&few, &many)?;
    members.agree(&few, &few, PATIENCE)?;
    members.agree(&many, &many, PATIENCE)?;
    members.listen_for(APART);
    members.agree(&few, &few, PATIENCE)?;
    let (working, _) = members.agree(&many, &many, PATIENCE)?;
    let before = members.report_count(&many);
    let healed_ns = testbed.hosts.heal()?;
    let (leader, known) = members.agree(&everyone, &everyone, PATIENCE)?;
    // The leader stayed if no member of the majority named another one, even for a moment.
    let is_majoritys = leader == working && members.report_count(&many) == before;
    Ok((milliseconds(healed_ns, known) / ANNOUNCE_MS, is_majoritys))
}

/// Returns two hosts and three hosts, with the leader on the given side.
fn sides(leader: usize, side: Side) -> (Vec<usize>, Vec<usize>) {
    let begin = match side {
        Side::Minority => leader,
        Side::Majority => leader + 1,
    };
    let around: Vec<usize> = (begin..begin + MEMBERS).map(|it| it % MEMBERS).collect();
    let (few, many) = around.split_at(2);
    (few.to_vec(), many.to_vec())
}

#[cfg(test)]
mod tests {
    use super::{Side, sides};

    #[test]
    fn leader_is_on_the_given_side() {
        for leader in 0..5 {
            let (few, many) = sides(leader, Side::Minority);
            assert!(few.contains(&leader) && few.len() == 2 && many.len() == 3);
            let (few, many) = sides(leader, Side::Majority);
            assert!(many.contains(&leader) && few.len() == 2 && many.len() == 3);
        }
    }
}
