//! The cost of an idle group.

use std::time::Duration;

use super::Options;
use super::baseline_loop::BaselineCost;
use super::hosts::Packets;
use super::measure::{cpu_ns, milliseconds, now_ns, pss_mib};
use super::members::Members;
use super::table::{Report, Verdict};
use super::testbed::Testbed;
use super::trials::USUAL;
use crate::Result;

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
    let look = |members: &Members<'_>| -> Result<Vec<(u64, Packets)>> {
        let look = |&it: &usize| Ok((cpu_ns(members.pid(it)?)?, testbed.hosts.packets(it)?));
        members.everyone().iter().map(look).collect()
    };
    let (before, began) = (look(members)?, now_ns());
    members.listen_for(span);
    let (after, seconds) = (look(members)?, milliseconds(began, now_ns()) / 1e3);
    let cost = |index: usize| -> Result<MemberCost> {
        let ((cpu_before, packets_before), (cpu, packets)) = (before[index], after[index]);
        Ok(MemberCost {
            cpu_ms: milliseconds(cpu_before, cpu) / seconds,
            pss_mib: pss_mib(members.pid(index)?)?,
            sent: (packets.sent - packets_before.sent) as f64 / seconds,
            received: (packets.received - packets_before.received) as f64 / seconds,
        })
    };
    members.everyone().into_iter().map(cost).collect()
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
