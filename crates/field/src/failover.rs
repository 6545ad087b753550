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
#[derive(Clone, Copy)]
pub(super) enum LeaderFault {
    /// The process receives SIGKILL or SIGTERM. Its host stays up.
    Ended(Signal),
    /// Every packet that its host sends or should receive is dropped.
    Isolated,
}

/// A trial that is repeated: the options of the members, the fault of the leader (or `None` for a
/// cold start), the quantile of all trials that has a limit, and the limit in milliseconds.
type Trial = (&'static [&'static str], Option<LeaderFault>, (f64, &'static str), f64);

const KILLED: Option<LeaderFault> = Some(LeaderFault::Ended(Signal::KILL));
const ASKED: Option<LeaderFault> = Some(LeaderFault::Ended(Signal::TERM));
const ISOLATED: Option<LeaderFault> = Some(LeaderFault::Isolated);

const MEDIAN: (f64, &str) = (0.5, "median");
const P95: (f64, &str) = (0.95, "p95");

const TRIALS: &[(&str, Trial)] = &[
    ("cold start of five at once", (USUAL, None, P95, 300.0)),
    ("leader's process killed (SIGKILL)", (USUAL, KILLED, MEDIAN, 10.0)),
    ("leader asked to stop (SIGTERM)", (USUAL, ASKED, MEDIAN, 5.0)),
    ("leader's host lost, announce 100 ms, listen 300 ms", (USUAL, ISOLATED, P95, 320.0)),
    ("leader's host lost, announce 20 ms, listen 80 ms", (QUICK, ISOLATED, P95, 100.0)),
];

/// Measures how soon a leader that fails is replaced.
pub(super) fn run(testbed: Testbed<'_>, options: &Options, report: &mut Report) -> Result<()> {
    let title =
        format!("Until every survivor knows the new leader, in milliseconds, {MEMBERS} hosts:");
    report.rows(options, &title, &Spread::HEADINGS, TRIALS, |trial| {
        let (intervals, fault, (share, name), most) = *trial;
        let spread = options.repeat(|| match fault {
            None => Ok(testbed.group(intervals).cold_start(PATIENCE)?.1),
            Some(fault) => failover(testbed, intervals, fault),
        })?;
        let is_met = spread.quantile(share).is_some_and(|it| it <= most);
        Ok((spread.cells(), Verdict::new(format!("{name} {most}"), is_met)))
    })?;
    Ok(())
}

/// Elects a leader and injects `fault`. Returns the milliseconds until all other members know the
/// next leader.
pub(super) fn failover(testbed: Testbed<'_>, options: &[&str], fault: LeaderFault) -> Result<f64> {
    let (mut members, leader) = testbed.settled(options)?;
    match fault {
        LeaderFault::Ended(signal) => members.end_leader(leader, signal, PATIENCE),
        LeaderFault::Isolated => {
            let (leader, took_ms) = members.lose_leader()?;
            testbed.hosts.unfilter(leader)?;
            Ok(took_ms)
        }
    }
}

/// Detection below one second needs more announcements than the usual ten a second.
const LOSSY: &[&str] = &["--announce", "50ms", "--listen", "auto"];

/// The percentages of packets that get lost.
const LOSSES: &[(&str, u32)] = &[
    ("20 % lost, announce 50 ms, listen auto", 20),
    ("30 % lost, announce 50 ms, listen auto", 30),
];

/// Checks that packet loss replaces no live leader, and measures how soon a lost one is replaced.
pub(super) fn losses(testbed: Testbed<'_>, options: &Options, report: &mut Report) -> Result<()> {
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
    testbed.hosts.lose(0..MEMBERS, percent)?;
    let before = members.all_reports();
    members.listen_for(Duration::from_secs(options.seconds));
    let changes = members.all_reports() - before;
    let detections = options.repeat(|| {
        let (leader, took_ms) = members.lose_leader()?;
        testbed.hosts.lose([leader], percent)?;
        members.listen_for(Duration::from_secs(3));
        Ok(took_ms)
    })?;
    Ok((changes, detections))
}

/// The time that both sides have had a leader of their own when the partition heals.
const APART: Duration = Duration::from_secs(1);

/// Each with the number of hosts on the leader's side.
const PARTITIONS: &[(&str, usize)] = &[
    ("partition 2|3 heals, the leader was among the 3", 3),
    ("partition 2|3 heals, the leader was among the 2", 2),
];

/// Measures the time until there is one leader after a partition, and whether it is the majority's.
pub(super) fn partitions(
    testbed: Testbed<'_>,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let title = "From the heal until all name one leader, in announce intervals; how often it is the \
                 majority's:";
    let headings = ["trials", "median", "p95", "max", "stayed"];
    report.rows(options, title, &headings, PARTITIONS, |&among| {
        let mut stayed = 0;
        let spread = options.repeat(|| {
            let (intervals, is_majoritys) = heal_partition(testbed, among)?;
            stayed += u32::from(is_majoritys);
            Ok(intervals)
        })?;
        let is_met = spread.max().is_some_and(|it| it <= 3.0) && stayed == options.trials;
        let cells = [spread.cells(), vec![format!("{stayed}/{}", options.trials)]].concat();
        Ok((cells, Verdict::new("max 3, always stays", is_met)))
    })?;
    Ok(())
}

/// Returns the number of announce intervals until all members named one leader, and whether it was
/// the majority's all along.
fn heal_partition(testbed: Testbed<'_>, among: usize) -> Result<(f64, bool)> {
    let (mut members, leader) = testbed.settled(USUAL)?;
    let (few, many) = sides(leader, among);
    testbed.hosts.cut(&few, &many)?;
    members.agree(&few, &few, PATIENCE)?;
    members.agree(&many, &many, PATIENCE)?;
    members.listen_for(APART);
    members.agree(&few, &few, PATIENCE)?;
    let (working, _) = members.agree(&many, &many, PATIENCE)?;
    let before = members.report_count(&many);
    let healed_ns = testbed.hosts.heal()?;
    let (leader, known) = members.agree_all(PATIENCE)?;
    // The leader stayed if no member of the majority named another one, even for a moment.
    let is_majoritys = leader == working && members.report_count(&many) == before;
    Ok((milliseconds(healed_ns, known) / ANNOUNCE_MS, is_majoritys))
}

/// Returns two hosts and three hosts, with the leader on the given side.
fn sides(leader: usize, among: usize) -> (Vec<usize>, Vec<usize>) {
    let begin = if among == 2 { leader } else { leader + 1 };
    let around: Vec<usize> = (begin..begin + MEMBERS).map(|it| it % MEMBERS).collect();
    let (few, many) = around.split_at(2);
    (few.to_vec(), many.to_vec())
}

#[cfg(test)]
mod tests {
    use super::sides;

    #[test]
    fn leader_is_on_the_given_side() {
        for leader in 0..5 {
            let (few, many) = sides(leader, 2);
            assert!(few.contains(&leader) && few.len() == 2 && many.len() == 3);
            let (few, many) = sides(leader, 3);
            assert!(many.contains(&leader) && few.len() == 2 && many.len() == 3);
        }
    }
}
