//! Faults of the network.

use std::time::Duration;

use rustix::process::Signal;

use super::{FaultContext, NEXT_WITHIN, OPTIONS};
use crate::Result;
use crate::measure::milliseconds;
use crate::members::Members;
use crate::testbed::{PORT, Testbed};

/// The duration of a fault.
const LASTS: Duration = Duration::from_secs(5);

/// Members reach agreement under loss, and keep it or reach it again.
pub(super) fn loses(context: &FaultContext<'_>, percent: u32) -> Result<String> {
    let mut members = context.testbed.group(&["--announce", "50ms"]);
    context.testbed.hosts.lose(members.everyone(), percent)?;
    members.start_all()?;
    members.agree_all(LASTS)?;
    let before = members.all_reports();
    members.listen_for(LASTS);
    let changes = members.all_reports() - before;
    members.agree_all(LASTS)?;
    let healed = heal(context, &mut members)?;
    Ok(format!("{changes} changes in {LASTS:?}, {healed}"))
}

/// The two sides of a partition.
const FEW: &[usize] = &[0, 1];
const MANY: &[usize] = &[2, 3, 4];

/// Each side of a partition elects a leader. After the heal there is one leader.
pub(super) fn partition(context: &FaultContext<'_>) -> Result<String> {
    let (mut members, _) = context.testbed.settled(OPTIONS)?;
    context.testbed.hosts.cut(FEW, MANY)?;
    members.agree(FEW, FEW, LASTS)?;
    members.agree(MANY, MANY, LASTS)?;
    members.listen_for(Duration::from_secs(1));
    members.agree(FEW, FEW, Duration::ZERO)?;
    members.agree(MANY, MANY, Duration::ZERO)?;
    heal(context, &mut members)
}

/// The same, but the two sides came up apart and never knew of each other.
pub(super) fn came_up_apart(context: &FaultContext<'_>) -> Result<String> {
    let mut members = context.testbed.group(&["--protocol", "bully"]);
    context.testbed.hosts.cut(FEW, MANY)?;
    members.start_all()?;
    members.agree(FEW, FEW, LASTS)?;
    members.agree(MANY, MANY, LASTS)?;
    let healed = context.testbed.hosts.heal()?;
    let (_, known) = members.agree_all(LASTS * 2)?;
    Ok(format!("one leader {:.0} ms after the heal", milliseconds(healed, known)))
}

/// The leader receives from a follower that does not receive from it.
pub(super) fn one_way(context: &FaultContext<'_>) -> Result<String> {
    without_hearing(context, |leader, _| vec![leader])
}

/// A member receives from no other member, and every other member receives from it.
pub(super) fn deaf(context: &FaultContext<'_>) -> Result<String> {
    without_hearing(context, |_, others| others.to_vec())
}

/// Blocks at a follower what it receives from the members that `blocked` chooses, given the leader
/// and all other members. These keep agreeing, with few changes.
fn without_hearing(
    context: &FaultContext<'_>,
    blocked: impl Fn(usize, &[usize]) -> Vec<usize>,
) -> Result<String> {
    /// Each of the four others may change to another leader and back, once.
    const MOST_CHANGES: usize = 8;
    let (mut members, leader) = context.testbed.settled(OPTIONS)?;
    let follower = members.all_but(leader)[0];
    let others = members.all_but(follower);
    context.testbed.hosts.block(follower, &blocked(leader, &others))?;
    let before = members.report_count(&others);
    members.listen_for(LASTS);
    let changes = members.report_count(&others) - before;
    members.agree(&others, &others, Duration::from_secs(1))?;
    let are_few = changes <= MOST_CHANGES;
    ensure!(are_few, "the others changed their minds {changes} times, more than {MOST_CHANGES}");
    let healed = heal(context, &mut members)?;
    Ok(format!("{changes} changes among the others, {healed}"))
}

/// Cloud networks drop multicasts silently. Each member joins through the one before it, so the
/// last member is in no other member's configuration.
pub(super) fn without_multicasts(testbed: Testbed<'_>) -> Result<String> {
    let mut members = testbed.group(OPTIONS);
    let everyone = members.everyone();
    for &host in &everyone {
        testbed.hosts.drop_multicasts(host)?;
    }
    let (&last, others) = everyone.split_last().ok_or("a group has members")?;
    for &member in others {
        join_at_the_one_before(testbed, &mut members, member)?;
    }
    let (leader, _) = members.agree(others, others, LASTS)?;
    members.listen_for(Duration::from_millis(500));
    let before = members.report_count(others);
    join_at_the_one_before(testbed, &mut members, last)?;
    members.agree(&everyone, &[leader], LASTS)?;
    // This is long enough for all members to find out which channel works.
    members.listen_for(LASTS);
    members.agree(&everyone, &[leader], Duration::ZERO)?;
    // One more report is expected: the last member names the leader that it follows.
    members.require_unmoved(before + 1)?;
    require_reach(&members, "unicast")?;
    let took_ms = members.end_leader(leader, Signal::KILL, LASTS)?;
    Ok(format!("all go on by unicast, and replace a killed leader in {took_ms:.0} ms"))
}

/// Fails unless every member sends by this channel.
fn require_reach(members: &Members<'_>, channel: &str) -> Result<()> {
    for member in members.everyone() {
        let reach = &members.status(member)?["reach"];
        ensure!(reach == channel, "member {member} sends by {reach}, not by {channel}");
    }
    Ok(())
}

fn join_at_the_one_before(
    testbed: Testbed<'_>,
    members: &mut Members<'_>,
    member: usize,
) -> Result<()> {
    let before = member.checked_sub(1).unwrap_or(1);
    let place = testbed.place(before, PORT).to_string();
    members.start_with(member, &[OPTIONS, &["--insecure", "--join", &place]].concat())
}

/// Heals the network. All members must agree on one leader again, and keep agreeing.
fn heal(context: &FaultContext<'_>, members: &mut Members<'_>) -> Result<String> {
    let healed = context.testbed.hosts.heal()?;
    let (_, known) = members.agree_all(NEXT_WITHIN)?;
    members.listen_for(Duration::from_secs(1));
    members.agree_all(NEXT_WITHIN)?;
    Ok(format!("one leader {:.0} ms after the heal", milliseconds(healed, known)))
}

/// A group over IPv6 that formed by multicast replaces its leader. Where multicasts are dropped, a
/// group that formed by addresses does.
pub(super) fn ipv6(context: &FaultContext<'_>) -> Result<String> {
    let testbed = context.testbed.over_ipv6()?;
    let (mut members, leader) = testbed.settled(OPTIONS)?;
    // The default channel between members that use IPv6.
    require_reach(&members, "multicast [ff05::4855]:7401")?;
    let took_ms = members.end_leader(leader, Signal::KILL, NEXT_WITHIN)?;
    drop(members);
    let without = without_multicasts(testbed)?;
    Ok(format!("a killed leader is replaced in {took_ms:.0} ms; without multicasts {without}"))
}
