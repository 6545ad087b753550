//! The cost of members: of an idle group, and of many agents on one host.

use std::time::Duration;
use std::{array, thread};

use rustix::process::Signal;

use super::baseline_loop::BaselineCost;
use super::failover::USUAL;
use super::measure::{milliseconds, now_ns, pss_mib};
use super::members::{Members, Placement};
use super::table::{Report, Verdict};
use super::testbed::{PATIENCE, Testbed};
use crate::{Options, Result};

const IDLE: &str = "idle, announce 100 ms";
const IDLE_FOR: Duration = Duration::from_secs(20);
/// The announce interval of [`USUAL`], and the announcements in a second.
const USUAL_EVERY: Duration = Duration::from_millis(100);
const ANNOUNCEMENTS: f64 = 10.0;

/// The cost of a member in a second: processor time in milliseconds, memory in MiB, packets sent
/// and received.
pub(super) type MemberCost = [f64; 4];

pub(super) fn run(testbed: Testbed<'_>, options: &Options, report: &mut Report) -> Result<()> {
    if !options.wants(IDLE) {
        return Ok(());
    }
    let baseline = BaselineCost::measure(testbed.hosts, USUAL_EVERY)?;
    let (mut members, leader) = testbed.settled(USUAL)?;
    let costs = watch(testbed, &mut members, IDLE_FOR)?;
    let title = format!(
        "A host in a second, in {} s; processor time beside a bare loop's, packets beside what the \
         protocol says:",
        IDLE_FOR.as_secs()
    );
    let headings = ["CPU ms", "bare", "PSS MiB", "sent", "theory", "received", "theory"];
    report.table(&title, &headings);
    let followers: Vec<MemberCost> = members.all_but(leader).iter().map(|&it| costs[it]).collect();
    let share = 1.0 / costs.len() as f64;
    // The leader announces itself, and all other members receive that.
    let rows = [
        ("the leader", costs[leader], baseline.sender, 1.0, None),
        ("the dearest follower", dearest(&followers), baseline.receiver, 0.0, None),
        ("a host on average", mean(&costs), baseline.mean(), share, Some(1.0)),
    ];
    for (who, [cpu_ms, pss_mib, sent, received], bare, leading, most_cpu_ms) in rows {
        let cells = [
            format!("{cpu_ms:.2}"),
            format!("{bare:.2}"),
            format!("{pss_mib:.1}"),
            format!("{sent:.1}"),
            format!("{:.1}", ANNOUNCEMENTS * leading),
            format!("{received:.1}"),
            format!("{:.1}", ANNOUNCEMENTS * (1.0 - leading)),
        ];
        let demand = most_cpu_ms.map_or("6 MiB".to_owned(), |it| format!("{it} ms, 6 MiB"));
        let is_met = pss_mib <= 6.0 && most_cpu_ms.is_none_or(|it| cpu_ms <= it);
        report.row(&format!("{IDLE}: {who}"), &cells, &Verdict::new(demand, is_met));
    }
    Ok(())
}

/// Returns the cost of each member in a second, measured over `span`.
pub(super) fn watch(
    testbed: Testbed<'_>,
    members: &mut Members<'_>,
    span: Duration,
) -> Result<Vec<MemberCost>> {
    let packets = |members: &Members<'_>| -> Result<Vec<[f64; 2]>> {
        members.everyone().into_iter().map(|host| testbed.hosts.packets(host)).collect()
    };
    let (before, began, meter) = (packets(members)?, now_ns(), members.cpu_meter()?);
    members.listen_for(span);
    let (cpu_ms, after) = (meter.read()?, packets(members)?);
    let seconds = milliseconds(began, now_ns()) / 1e3;
    let cost = |(index, pid): (usize, u32)| -> Result<MemberCost> {
        let [sent, received] = [0, 1].map(|it| (after[index][it] - before[index][it]) / seconds);
        Ok([cpu_ms[index], pss_mib(pid)?, sent, received])
    };
    members.pids().into_iter().enumerate().map(cost).collect()
}

/// The number of agents on one host.
const AGENTS: usize = 200;

pub(super) fn run_agents(
    testbed: Testbed<'_>,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let title = "From the last one's being up to one leader; after SIGKILL of it; all together:";
    let headings = ["elect ms", "again ms", "PSS MiB", "CPU ms/s"];
    let row = [("200 agents on one host", ())];
    let mut cpu_ms = 0.0;
    let is_shown = report.rows(options, title, &headings, &row, |()| {
        let cells = many_agents(testbed)?;
        cpu_ms = cells[3];
        Ok((cells.map(|it| format!("{it:.0}")).to_vec(), Verdict::none()))
    })?;
    if is_shown {
        let cores = thread::available_parallelism()?.get() as f64;
        let most = AGENTS as f64 * cores * 1e3 / cpu_ms.max(1.0);
        report.note(&format!(
            "Every multicast wakes every agent: idle, {most:.0} such agents would fill the {cores} processors here."
        ));
    }
    Ok(())
}

/// Returns the cells of the row.
fn many_agents(testbed: Testbed<'_>) -> Result<[f64; 4]> {
    let mut members = testbed.members(Placement::Shared, AGENTS, USUAL);
    let (leader, elected_ms) = members.cold_start(PATIENCE)?;
    members.listen_for(Duration::from_secs(2));
    let pss = members.pids().into_iter().map(pss_mib).sum::<Result<f64>>()?;
    let meter = members.cpu_meter()?;
    members.listen_for(Duration::from_secs(5));
    let cpu_ms = meter.read()?.iter().sum();
    let again_ms = members.end_leader(leader, Signal::KILL, PATIENCE)?;
    Ok([elected_ms, again_ms, pss, cpu_ms])
}

/// Returns the maximum of each part.
fn dearest(costs: &[MemberCost]) -> MemberCost {
    array::from_fn(|part| costs.iter().map(|cost| cost[part]).fold(0.0, f64::max))
}

/// Returns the mean of each part.
pub(super) fn mean(costs: &[MemberCost]) -> MemberCost {
    array::from_fn(|part| costs.iter().map(|cost| cost[part]).sum::<f64>() / costs.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::{dearest, mean};

    #[test]
    fn maximum_and_mean_are_taken_part_by_part() {
        let costs = [[1.0, 5.0, 10.0, 1.0], [3.0, 4.0, 12.0, 3.0]];
        assert_eq!(mean(&costs), [2.0, 4.5, 11.0, 2.0]);
        assert_eq!(dearest(&costs), [3.0, 5.0, 12.0, 3.0]);
    }
}
