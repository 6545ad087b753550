//! What a group costs when nothing happens.

use std::time::Duration;

use super::Options;
use super::bare::Bare;
use super::ground::Ground;
use super::hosts::Packets;
use super::measure::{cpu_ns, milliseconds, now_ns, pss_mib};
use super::members::Members;
use super::table::{Report, Verdict};
use super::trials::USUAL;
use crate::Result;

const IDLE: &str = "idle, announce 100 ms";
const IDLE_FOR: Duration = Duration::from_secs(20);
/// How often leaders announce themselves with [`USUAL`], and a second.
const USUAL_EVERY: Duration = Duration::from_millis(100);
const ANNOUNCEMENTS: f64 = 10.0;

/// What a member cost in a second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Cost {
    pub(super) cpu_ms: f64,
    pss_mib: f64,
    sent: f64,
    received: f64,
}

pub(super) fn run(ground: Ground<'_>, options: &Options, report: &mut Report) -> Result<()> {
    match options.wants(IDLE) {
        true => idle(ground, report),
        false => Ok(()),
    }
}

fn idle(ground: Ground<'_>, report: &mut Report) -> Result<()> {
    let bare = Bare::measure(ground.hosts, USUAL_EVERY)?;
    let (mut members, leader) = ground.settled(USUAL)?;
    let costs = watch(ground, &mut members, IDLE_FOR)?;
    let title = format!(
        "A host in a second, in {} s; processor time beside a bare loop's, packets beside what the \
         protocol says:",
        IDLE_FOR.as_secs()
    );
    let headings = [
        "CPU ms", "bare", "PSS MiB", "sent", "theory", "received", "theory",
    ];
    let mut table = report.table(&title, &headings);
    let followers: Vec<Cost> = members
        .all_but(leader)
        .iter()
        .map(|&it| costs[it])
        .collect();
    let in_memory = |cost: Cost| Verdict::new("6 MiB", cost.pss_mib <= 6.0);
    let dearest = dearest(&followers);
    let mean = mean(&costs);
    let share = 1.0 / costs.len() as f64;
    // The leader announces itself, and everyone else hears it.
    let rows = [
        (
            "the leader",
            costs[leader],
            bare.sender,
            1.0,
            in_memory(costs[leader]),
        ),
        (
            "the dearest follower",
            dearest,
            bare.receiver,
            0.0,
            in_memory(dearest),
        ),
        (
            "a host on average",
            mean,
            bare.mean(),
            share,
            Verdict::new("1 ms, 6 MiB", mean.cpu_ms <= 1.0 && mean.pss_mib <= 6.0),
        ),
    ];
    for (who, cost, bare, leading, verdict) in rows {
        let cells = [
            format!("{:.2}", cost.cpu_ms),
            format!("{bare:.2}"),
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

/// What each member costs in a second, over `span`.
pub(super) fn watch(
    ground: Ground<'_>,
    members: &mut Members<'_>,
    span: Duration,
) -> Result<Vec<Cost>> {
    let look = |members: &Members<'_>| -> Result<Vec<(u64, Packets)>> {
        let look = |&it: &usize| Ok((cpu_ns(members.pid(it)?)?, ground.hosts.packets(it)?));
        members.everyone().iter().map(look).collect()
    };
    let (before, began) = (look(members)?, now_ns());
    members.listen_for(span);
    let (after, seconds) = (look(members)?, milliseconds(began, now_ns()) / 1e3);
    let cost = |index: usize| -> Result<Cost> {
        let ((cpu_before, packets_before), (cpu, packets)) = (before[index], after[index]);
        Ok(Cost {
            cpu_ms: milliseconds(cpu_before, cpu) / seconds,
            pss_mib: pss_mib(members.pid(index)?)?,
            sent: (packets.sent - packets_before.sent) as f64 / seconds,
            received: (packets.received - packets_before.received) as f64 / seconds,
        })
    };
    members.everyone().into_iter().map(cost).collect()
}

/// In each respect, the most that any of them costs.
fn dearest(costs: &[Cost]) -> Cost {
    costs.iter().fold(Cost::default(), |most, cost| Cost {
        cpu_ms: most.cpu_ms.max(cost.cpu_ms),
        pss_mib: most.pss_mib.max(cost.pss_mib),
        sent: most.sent.max(cost.sent),
        received: most.received.max(cost.received),
    })
}

/// What one of them costs on average.
pub(super) fn mean(costs: &[Cost]) -> Cost {
    let of = |part: fn(&Cost) -> f64| costs.iter().map(part).sum::<f64>() / costs.len() as f64;
    Cost {
        cpu_ms: of(|cost| cost.cpu_ms),
        pss_mib: of(|cost| cost.pss_mib),
        sent: of(|cost| cost.sent),
        received: of(|cost| cost.received),
    }
}

#[cfg(test)]
mod tests {
    use super::{Cost, dearest, mean};

    #[test]
    fn the_dearest_and_the_mean_are_so_in_each_respect() {
        let cost = |cpu_ms, sent| Cost {
            cpu_ms,
            sent,
            ..Cost::default()
        };
        let two = [cost(1.0, 9.0), cost(2.0, 3.0)];
        assert_eq!(dearest(&two), cost(2.0, 9.0));
        assert_eq!(mean(&two), cost(1.5, 6.0));
    }
}
