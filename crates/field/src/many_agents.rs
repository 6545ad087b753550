//! Many agents on one host.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use super::Options;
use super::measure::{cpu_ns, milliseconds, now_ns, pss_mib};
use super::members::Placement;
use super::table::{Report, Verdict};
use super::testbed::{PATIENCE, Testbed};
use super::trials::USUAL;
use crate::Result;

const NAME: &str = "200 agents on one host";
const AGENTS: usize = 200;

pub(super) fn run(testbed: Testbed<'_>, options: &Options, report: &mut Report) -> Result<()> {
    if !options.wants(NAME) {
        return Ok(());
    }
    let mut members = testbed.members(Placement::Shared, AGENTS, USUAL);
    let started = members.start_all()?;
    let everyone = members.everyone();
    let (leader, elected) = members.agree(&everyone, &everyone, PATIENCE)?;
    let elected_ms = milliseconds(members.up_ns().unwrap_or(started), elected);
    members.listen_for(Duration::from_secs(2));
    let pids = everyone.iter().map(|&it| members.pid(it));
    let pids = pids.collect::<Result<Vec<u32>>>()?;
    let pss = pids.iter().map(|&pid| pss_mib(pid)).sum::<Result<f64>>()?;
    let cpu = |pids: &[u32]| -> Result<u64> { pids.iter().map(|&pid| cpu_ns(pid)).sum() };
    let (cpu_before, began) = (cpu(&pids)?, now_ns());
    members.listen_for(Duration::from_secs(5));
    let cpu_ms = milliseconds(cpu_before, cpu(&pids)?) / milliseconds(began, now_ns()) * 1e3;
    let survivors = members.all_but(leader);
    let killed = members.end(leader, Signal::KILL)?;
    let (_, known) = members.agree(&survivors, &survivors, PATIENCE)?;

    let headings = ["elect ms", "again ms", "PSS MiB", "CPU ms/s"];
    let title = "From the last one's being up to one leader; after SIGKILL of it; all together:";
    let mut table = report.table(title, &headings);
    let cells = [
        format!("{elected_ms:.0}"),
        format!("{:.0}", milliseconds(killed, known)),
        format!("{pss:.0}"),
        format!("{cpu_ms:.0}"),
    ];
    table.row(NAME, &cells, &Verdict::none());
    let cores = thread::available_parallelism()?.get() as f64;
    let most = AGENTS as f64 * cores * 1e3 / cpu_ms.max(1.0);
    table.note(&format!(
        "Every multicast wakes every agent: idle, {most:.0} such agents would fill the {cores} processors here."
    ));
    Ok(())
}
