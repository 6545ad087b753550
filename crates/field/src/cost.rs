//! The cost of members: of an idle group, and of many agents on one host.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use super::baseline_loop::BaselineCost;
use super::failover::USUAL;
use super::hosts::Packets;
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

/// The cost of a member in a second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct MemberCost {
    pub(super) cpu_ms: f64,
    pss_mib: f64,
    sent: f64,
    received: f64,
}

pub(super) fn run(testbed: Testbed<'_>, options: &Options, report: &mut Report) -> Result<()> {
    match options.wants(IDLE) {
        true => idle(testbed, report),
        false => Ok(()),
    }
}

fn idle(testbed: Testbed<'_>, report: &mut Report) -> Result<()> {
    let baseline = BaselineCost::measure(testbed.hosts, USUAL_EVERY)?;
    let (mut members, leader) = testbed.settled(USUAL)?;
    let costs = watch(testbed, &mut members, IDLE_FOR)?;
    let title = format!(
        "A host in a second, in {} s; processor time beside a bare loop's, packets beside what the \
         protocol says:",
        IDLE_FOR.as_secs()
    );
    let headings = ["CPU ms", "bare", "PSS MiB", "sent", "theory", "received", "theory"];
    let mut table = report.table(&title, &headings);
    let followers: Vec<MemberCost> = members.all_but(leader).iter().map(|&it| costs[it]).collect();
    let in_memory = |cost: MemberCost| Verdict::new("6 MiB", cost.pss_mib <= 6.0);
    let dearest = dearest(&followers);
    let mean = mean(&costs);
    let share = 1.0 / costs.len() as f64;
    // The leader announces itself, and all other members receive that.
    let rows = [
        ("the leader", costs[leader], baseline.sender, 1.0, in_memory(costs[leader])),
        ("the dearest follower", dearest, baseline.receiver, 0.0, in_memory(dearest)),
        (
            "a host on average",
            mean,
            baseline.mean(),
            share,
            Verdict::new("1 ms, 6 MiB", mean.cpu_ms <= 1.0 && mean.pss_mib <= 6.0),
        ),
    ];
    for (who, cost, baseline, leading, verdict) in rows {
        let cells = [
            format!("{:.2}", cost.cpu_ms),
            format!("{baseline:.2}"),
            format!("{:.1}", cost.pss_mib),
            format!("{:.1}", cost.sent),
            format!("{:.1}", ANNOUNCEMENTS * leading),
            format!("{:.1}", cost.received),
            format!("{:.1}", ANNOUNCEMENTS * (1.0 - leading)),
        ];
        table.row(&format!("{IDLE}: {who}"), &cells, &verdict);
    }
    Ok(())
}

/// Returns the cost of each member in a second, measured over `span`.
pub(super) fn watch(
    testbed: Testbed<'_>,
    members: &mut Members<'_>,
    span: Duration,
) -> Result<Vec<MemberCost>> {
    let packets = |members: &Members<'_>| -> Result<Vec<Packets>> {
        members.everyone().into_iter().map(|host| testbed.hosts.packets(host)).collect()
    };
    let (before, began, meter) = (packets(members)?, now_ns(), members.cpu_meter()?);
    members.listen_for(span);
    let (cpu_ms, after) = (meter.read()?, packets(members)?);
    let seconds = milliseconds(began, now_ns()) / 1e3;
    let pids = members.pids();
    let cost = |index: usize| -> Result<MemberCost> {
        Ok(MemberCost {
            cpu_ms: cpu_ms[index],
            pss_mib: pss_mib(pids[index])?,
            sent: (after[index].sent - before[index].sent) as f64 / seconds,
            received: (after[index].received - before[index].received) as f64 / seconds,
        })
    };
    members.everyone().into_iter().map(cost).collect()
}

/// The number of agents on one host.
const AGENTS: usize = 200;

pub(super) fn run_many_agents(
    testbed: Testbed<'_>,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let title = "From the last one's being up to one leader; after SIGKILL of it; all together:";
    let headings = ["elect ms", "again ms", "PSS MiB", "CPU ms/s"];
    let row = [("200 agents on one host", ())];
    let mut cpu_ms = 0.0;
    let table = report.rows(options, title, &headings, &row, |()| {
        let cells;
        (cells, cpu_ms) = many_agents(testbed)?;
        Ok((cells, Verdict::none()))
    })?;
    if let Some(table) = table {
        let cores = thread::available_parallelism()?.get() as f64;
        let most = AGENTS as f64 * cores * 1e3 / cpu_ms.max(1.0);
        table.note(&format!(
            "Every multicast wakes every agent: idle, {most:.0} such agents would fill the {cores} processors here."
        ));
    }
    Ok(())
}

/// Returns the cells of the row, and the processor time of all agents in milliseconds a second.
fn many_agents(testbed: Testbed<'_>) -> Result<(Vec<String>, f64)> {
    let mut members = testbed.members(Placement::Shared, AGENTS, USUAL);
    let started = members.start_all()?;
    let everyone = members.everyone();
    let (leader, elected) = members.agree(&everyone, &everyone, PATIENCE)?;
    let elected_ms = milliseconds(members.up_ns().unwrap_or(started), elected);
    members.listen_for(Duration::from_secs(2));
    let pss = members.pids().into_iter().map(pss_mib).sum::<Result<f64>>()?;
    let meter = members.cpu_meter()?;
    members.listen_for(Duration::from_secs(5));
    let cpu_ms: f64 = meter.read()?.iter().sum();
    let survivors = members.all_but(leader);
    let killed = members.end(leader, Signal::KILL)?;
    let (_, known) = members.agree(&survivors, &survivors, PATIENCE)?;
    let again_ms = milliseconds(killed, known);
    Ok(([elected_ms, again_ms, pss, cpu_ms].map(|it| format!("{it:.0}")).to_vec(), cpu_ms))
}

/// Returns the maximum of each field.
fn dearest(costs: &[MemberCost]) -> MemberCost {
    costs.iter().fold(MemberCost::default(), |most, cost| MemberCost {
        cpu_ms: most.cpu_ms.max(cost.cpu_ms),
        pss_mib: most.pss_mib.max(cost.pss_mib),
        sent: most.sent.max(cost.sent),
        received: most.received.max(cost.received),
    })
}

/// Returns the mean of each field.
pub(super) fn mean(costs: &[MemberCost]) -> MemberCost {
    let of =
        |part: fn(&MemberCost) -> f64| costs.iter().map(part).sum::<f64>() / costs.len() as f64;
    MemberCost {
        cpu_ms: of(|cost| cost.cpu_ms),
        pss_mib: of(|cost| cost.pss_mib),
        sent: of(|cost| cost.sent),
        received: of(|cost| cost.received),
    }
}

#[cfg(test)]
mod tests {
    use super::{MemberCost, dearest, mean};

    #[test]
    fn maximum_and_mean_are_taken_field_by_field() {
        let cost = |cpu_ms, sent| MemberCost { cpu_ms, sent, ..MemberCost::default() };
        let two = [cost(1.0, 9.0), cost(2.0, 3.0)];
        assert_eq!(dearest(&two), cost(2.0, 9.0));
        assert_eq!(mean(&two), cost(1.5, 6.0));
    }
}
