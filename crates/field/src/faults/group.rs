//! Faults of a group and of its leader.

use std::time::Duration;

use rustix::process::Signal;

use super::{FaultContext, NEXT_WITHIN, OPTIONS, STRANGER};
use crate::Result;
use crate::chance::Chance;
use crate::hosts::address;
use crate::measure::{milliseconds, now_ns};
use crate::members::{Members, Placement};
use crate::testbed::{KEY, MEMBERS, PORT};

const OTHER_KEY: &str = "2222222222222222222222222222222222222222222222222222222222222222";

/// A group without faults keeps its leader and its channels.
pub(super) fn quiet(context: &FaultContext<'_>) -> Result<String> {
    let (mut members, leader) = context.testbed.settled(OPTIONS)?;
    let before = members.all_reports();
    members.listen_for(Duration::from_secs(5));
    members.require_unmoved(before)?;
    let reach = &members.status(leader)?["reach"];
    let by_multicast = |text: &str| text.starts_with("multicast") && !text.contains("unicast");
    let is_right = reach.as_str().is_some_and(by_multicast);
    ensure!(is_right, "the leader reaches the others by {reach}");
    Ok("no change".to_owned())
}

pub(super) fn cold_start(context: &FaultContext<'_>) -> Result<String> {
    let mut members = context.testbed.group(OPTIONS);
    let (leader, took_ms) = members.cold_start(NEXT_WITHIN)?;
    members.listen_for(Duration::from_secs(1));
    members.agree(&members.everyone(), &[leader], Duration::ZERO)?;
    Ok(format!("{took_ms:.0} ms after the last one was up"))
}

/// Members die and start again faster than a group can follow.
pub(super) fn restart_storm(context: &FaultContext<'_>) -> Result<String> {
    const RESTARTS: u32 = 20;
    let seed = now_ns();
    let mut chance = Chance::from_seed(seed);
    let (mut members, _) = context.testbed.settled(OPTIONS)?;
    for _ in 0..RESTARTS {
        let member = chance.below(MEMBERS);
        members.end(member, Signal::KILL)?;
        members.listen_for(Duration::from_millis(chance.below(500) as u64));
        members.start(member)?;
        members.listen_for(Duration::from_millis(chance.below(500) as u64));
    }
    let calm = now_ns();
    let agreed = members.agree_all(NEXT_WITHIN);
    let (_, known) = agreed.map_err(|error| format!("seed {seed}: {error}"))?;
    members.listen_for(Duration::from_secs(1));
    let agreed = members.agree_all(Duration::ZERO);
    agreed.map_err(|error| format!("later, seed {seed}: {error}"))?;
    Ok(format!("{:.0} ms after the last", milliseconds(calm, known)))
}

/// Groups that share a multicast address receive each other's frames and are unaffected.
pub(super) fn second_group(context: &FaultContext<'_>) -> Result<String> {
    let (mut first, leader) = context.testbed.settled(OPTIONS)?;
    let placement = Placement::OneEach { port: PORT + 100 };
    let mut second = context.testbed.members(placement, MEMBERS, OPTIONS);
    let before = first.all_reports();
    second.start_all()?;
    second.agree_all(NEXT_WITHIN)?;
    second.listen_for(Duration::from_secs(1));
    let settled = second.all_reports();
    first.listen_for(Duration::ZERO);
    let is_unmoved = first.all_reports() == before;
    ensure!(is_unmoved, "the first group changed its mind when the second one came up");
    first.end_leader(leader, Signal::KILL, NEXT_WITHIN)?;
    second.listen_for(Duration::from_secs(1));
    let is_unmoved = second.all_reports() == settled;
    ensure!(is_unmoved, "the second group changed its mind when the first one lost its leader");
    Ok("neither noticed".to_owned())
}

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

/// Returns five settled members, their indices and their leader. One host is left for a process
/// that is not a member.
fn five_and_a_strangers_place<'a>(
    context: &FaultContext<'a>,
    options: &[&str],
) -> Result<(Members<'a>, Vec<usize>, usize)> {
    let placement = Placement::OneEach { port: PORT };
    let mut members = context.testbed.members(placement, STRANGER + 1, options);
    let five: Vec<usize> = (0..MEMBERS).collect();
    for &member in &five {
        members.start(member)?;
    }
    let (leader, _) = members.agree(&five, &five, NEXT_WITHIN)?;
    members.listen_for(Duration::from_millis(500));
    Ok((members, five, leader))
}

/// A process with the leader's name ends with an error. No other member notices.
pub(super) fn duplicate_name(context: &FaultContext<'_>) -> Result<String> {
    let (mut members, five, leader) = five_and_a_strangers_place(context, OPTIONS)?;
    let before = members.report_count(&five);
    let code = members.run_as(STRANGER, leader)?;
    ensure!(code == Some(1), "the namesake ended with {code:?}");
    // Longer than a member would wait for announcements of a silenced leader.
    members.listen_for(Duration::from_secs(2));
    members.agree(&five, &[leader], Duration::ZERO)?;
    let is_unmoved = members.report_count(&five) == before;
    ensure!(is_unmoved, "members changed their minds when a namesake of their leader came up");
    Ok("it ended, and no member changed".to_owned())
}

/// A process with another key never joins, and its frames are counted.
pub(super) fn wrong_key(context: &FaultContext<'_>) -> Result<String> {
    let options = |key| [OPTIONS, &["--key", key]].concat();
    let (mut members, five, leader) = five_and_a_strangers_place(context, &options(KEY))?;
    let before = members.report_count(&five);
    members.start_with(STRANGER, &options(OTHER_KEY))?;
    // The process knows no other member, so it leads a group of one.
    members.agree(&[STRANGER], &[STRANGER], NEXT_WITHIN)?;
    members.listen_for(Duration::from_secs(1));
    let is_unmoved = members.report_count(&five) == before;
    ensure!(is_unmoved, "members changed their minds when a stranger came up");
    members.agree(&five, &[leader], Duration::ZERO)?;
    let counters = &members.status(leader)?["counters"];
    let strange = counters["unknown_key"].as_u64().unwrap_or_default();
    // The process announces itself twenty times a second.
    ensure!(strange >= 10, "the stranger's frames are not counted: {counters}");
    Ok(format!("{strange} of its frames refused"))
}
