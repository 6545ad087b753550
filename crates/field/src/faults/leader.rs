//! Faults of a leader.

use std::time::Duration;

use rustix::process::Signal;

use super::{FaultContext, OPTIONS, require};
use crate::Result;
use crate::hosts::address;
use crate::measure::milliseconds;
use crate::members::Members;
use crate::testbed::PORT;

/// The time within which the next leader must be known, on a busy machine too.
const NEXT_WITHIN: Duration = Duration::from_secs(2);

pub(super) fn killed(context: &FaultContext<'_>) -> Result<String> {
    let (mut members, leader) = context.testbed.settled(OPTIONS)?;
    let began = members.end(leader, Signal::KILL)?;
    let (_, known) = next_leader(&mut members, leader)?;
    Ok(after(began, known))
}

pub(super) fn asked(context: &FaultContext<'_>) -> Result<String> {
    let (mut members, leader) = context.testbed.settled(OPTIONS)?;
    let began = members.end(leader, Signal::TERM)?;
    let (_, known) = next_leader(&mut members, leader)?;
    Ok(after(began, known))
}

/// A leader that was stopped has been replaced when it continues. It must follow without naming
/// itself again.
pub(super) fn paused(context: &FaultContext<'_>) -> Result<String> {
    let (mut members, leader) = context.testbed.settled(OPTIONS)?;
    let everyone = members.everyone();
    let survivors = members.all_but(leader);
    members.signal(leader, Signal::STOP)?;
    let (next, _) = next_leader(&mut members, leader)?;
    members.listen_for(Duration::from_millis(300));
    let (stood_by, had_said) = (members.report_count(&survivors), members.reports(leader).len());
    let began = members.signal(leader, Signal::CONT)?;
    let (_, known) = members.agree(&everyone, &[next], Duration::from_secs(1))?;
    members.listen_for(Duration::from_secs(1));
    let reports = &members.reports(leader)[had_said..];
    require(reports.iter().all(|it| it.leader != Some(leader)), || {
        format!("the old leader named itself once more: {reports:?}")
    })?;
    require(members.report_count(&survivors) == stood_by, || {
        "others changed their minds when the old leader went on".to_owned()
    })?;
    members.agree(&everyone, &[next], Duration::ZERO)?;
    Ok(after(began, known))
}

/// A lifeline that breaks while its leader announces itself does not depose the leader.
pub(super) fn lifeline_cut(context: &FaultContext<'_>) -> Result<String> {
    let (mut members, leader) = context.testbed.settled(OPTIONS)?;
    let everyone = members.everyone();
    let before = members.report_count(&everyone);
    let follower = members.all_but(leader)[0];
    // The follower's kernel resets connections to the leader, and so the lifeline.
    let rules = format!(
        "chain out {{ type filter hook output priority 0; ip daddr {} tcp dport {PORT} reject with tcp reset; }}",
        address(leader)
    );
    context.testbed.hosts.filter(follower, &rules)?;
    context.testbed.hosts.sever(follower, &address(leader), PORT)?;
    members.listen_for(Duration::from_secs(2));
    members.require_unmoved(before)?;
    Ok("no change".to_owned())
}

/// Returns the leader that the others agree on once `leader` is gone, and the time of agreement.
pub(super) fn next_leader(members: &mut Members<'_>, leader: usize) -> Result<(usize, u64)> {
    let survivors = members.all_but(leader);
    members.agree(&survivors, &survivors, NEXT_WITHIN)
}

fn after(began_ns: u64, known_ns: u64) -> String {
    format!("after {:.1} ms", milliseconds(began_ns, known_ns))
}
