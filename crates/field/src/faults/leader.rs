//! Faults of a leader.

use std::time::Duration;

use rustix::process::Signal;

use super::{FaultContext, NEXT_WITHIN, OPTIONS};
use crate::Result;
use crate::hosts::address;
use crate::measure::milliseconds;
use crate::testbed::PORT;

pub(super) fn ended(context: &FaultContext<'_>, signal: Signal) -> Result<String> {
    let (mut members, leader) = context.testbed.settled(OPTIONS)?;
    Ok(format!("after {:.1} ms", members.end_leader(leader, signal, NEXT_WITHIN)?))
}

/// A leader that was stopped has been replaced when it continues. It must follow without naming
/// itself again.
pub(super) fn paused(context: &FaultContext<'_>) -> Result<String> {
    let (mut members, leader) = context.testbed.settled(OPTIONS)?;
    let everyone = members.everyone();
    let survivors = members.all_but(leader);
    members.signal(leader, Signal::STOP)?;
    let (next, _) = members.agree_without(leader, NEXT_WITHIN)?;
    members.listen_for(Duration::from_millis(300));
    let (stood_by, had_said) = (members.report_count(&survivors), members.reports(leader).len());
    let began = members.signal(leader, Signal::CONT)?;
    let (_, known) = members.agree(&everyone, &[next], Duration::from_secs(1))?;
    members.listen_for(Duration::from_secs(1));
    let reports = &members.reports(leader)[had_said..];
    let named_itself = reports.iter().any(|it| it.leader == Some(leader));
    ensure!(!named_itself, "the old leader named itself once more: {reports:?}");
    let is_unmoved = members.report_count(&survivors) == stood_by;
    ensure!(is_unmoved, "others changed their minds when the old leader went on");
    members.agree(&everyone, &[next], Duration::ZERO)?;
    Ok(format!("after {:.1} ms", milliseconds(began, known)))
}

/// A lifeline that breaks while its leader announces itself does not depose the leader.
pub(super) fn lifeline_cut(context: &FaultContext<'_>) -> Result<String> {
    let (mut members, leader) = context.testbed.settled(OPTIONS)?;
    let before = members.all_reports();
    let follower = members.all_but(leader)[0];
    let leader = address(leader);
    // The follower's kernel resets connections to the leader, and so the lifeline.
    let rules = format!("ip daddr {leader} tcp dport {PORT} reject with tcp reset;");
    context.testbed.hosts.filter_output(follower, &rules)?;
    context.testbed.hosts.sever(follower, &leader, PORT)?;
    members.listen_for(Duration::from_secs(2));
    members.require_unmoved(before)?;
    Ok("no change".to_owned())
}
