//! Faults of the network.

use std::time::Duration;

use rustix::process::Signal;

use super::leader::next_leader;
use super::{FaultContext, OPTIONS, require};
use crate::Result;
use crate::measure::milliseconds;
use crate::members::Members;
use crate::testbed::{PORT, Testbed};

/// The duration of a fault.
const LASTS: Duration = Duration::from_secs(5);

/// The time within which members agree once the network is whole.
const HEALED_WITHIN: Duration = Duration::from_secs(2);

/// Members reach agreement under loss, and keep it or reach it again.
pub(super) fn loses(context: &FaultContext<'_>, percent: u32) -> Result<String> {
    let mut members = context.testbed.group(&["--announce", "50ms"]);
    let everyone = members.everyone();
    for &host in &everyone {
        context.testbed.hosts.lose(host, percent)?;
    }
    members.start_all()?;
    members.agree(&everyone, &everyone, LASTS)?;
    let before = members.report_count(&everyone);
    members.listen_for(LASTS);
    let changes = members.report_count(&everyone) - before;
    members.agree(&everyone, &everyone, LASTS)?;
    let healed = heal(context, &mut members)?;
    Ok(format!("{changes} changes in {LASTS:?}, {healed}"))
}

/// Each side of a partition elects a leader. After the heal there is one leader.
pub(super) fn partition(context: &FaultContext<'_>) -> Result<String> {
    let (mut members, _) = context.testbed.settled(OPTIONS)?;
    let (few, many) = ([0, 1], [2, 3, 4]);
    context.testbed.hosts.cut(&few, &many)?;
    members.agree(&few, &few, LASTS)?;
    members.agree(&many, &many, LASTS)?;
    members.listen_for(Duration::from_secs(1));
    members.agree(&few, &few, Duration::ZERO)?;
    members.agree(&many, &many, Duration::ZERO)?;
    heal(context, &mut members)
}

/// The same, but the two sides came up apart and never knew of each other.
pub(super) fn came_up_apart(context: &FaultContext<'_>) -> Result<String> {
    let mut members = context.testbed.group(&["--protocol", "bully"]);
    let (few, many) = ([0, 1], [2, 3, 4]);
    context.testbed.hosts.cut(&few, &many)?;
    members.start_all()?;
    members.agree(&few, &few, LASTS)?;
    members.agree(&many, &many, LASTS)?;
    let healed = context.testbed.hosts.heal()?;
    let everyone = members.everyone();
    let (_, known) = members.agree(&everyone, &everyone, LASTS * 2)?;
    let took_ms = milliseconds(healed, known);
    Ok(format!("one leader {took_ms:.0} ms after the heal"))
}

/// The leader receives from a follower that does not receive from it.
pub(super) fn one_way(context: &FaultContext<'_>) -> Result<String> {
    without_hearing(context, |_, leader, _| vec![leader])
}

/// A member receives from no other member, and every other member receives from it.
pub(super) fn deaf(context: &FaultContext<'_>) -> Result<String> {
    without_hearing(context, |members, _, follower| members.all_but(follower))
}

/// Blocks at a follower what it receives from the members that `blocked` chooses, given all
/// members, the leader and the follower.
fn without_hearing(
    context: &FaultContext<'_>,
    blocked: impl Fn(&Members<'_>, usize, usize) -> Vec<usize>,
) -> Result<String> {
    let (mut members, leader) = context.testbed.settled(OPTIONS)?;
    let follower = members.all_but(leader)[0];
    context.testbed.hosts.block(follower, &blocked(&members, leader, follower))?;
    let changes = disturb(&mut members, follower)?;
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
    for &member in &everyone {
        let reach = &members.status(member)?["groups"][0]["reach"];
        require(reach == "unicast", || format!("member {member} still sends by {reach}"))?;
    }
    let killed = members.end(leader, Signal::KILL)?;
    let survivors = members.all_but(leader);
    let (_, known) = members.agree(&survivors, &survivors, LASTS)?;
    let took_ms = milliseconds(killed, known);
    Ok(format!("all go on by unicast, and replace a killed leader in {took_ms:.0} ms"))
}

fn join_at_the_one_before(
    testbed: Testbed<'_>,
    members: &mut Members<'_>,
    member: usize,
) -> Result<()> {
    let before = match member {
        0 => 1,
        _ => member - 1,
    };
    let place = testbed.place(before, PORT).to_string();
    members.start_with(member, &[OPTIONS, &["--insecure", "--join", &place]].concat())
}

/// The other members keep agreeing, with few changes. Returns the number of changes.
fn disturb(members: &mut Members<'_>, follower: usize) -> Result<usize> {
    /// Each of the four others may change to another leader and back, once.
    const MOST_CHANGES: usize = 8;
    let others = members.all_but(follower);
    let before = members.report_count(&others);
    members.listen_for(LASTS);
    let changes = members.report_count(&others) - before;
    members.agree(&others, &others, Duration::from_secs(1))?;
    require(changes <= MOST_CHANGES, || {
        format!("the others changed their minds {changes} times, more than {MOST_CHANGES}")
    })?;
    Ok(changes)
}

/// Heals the network. All members must agree on one leader again, and keep agreeing.
fn heal(context: &FaultContext<'_>, members: &mut Members<'_>) -> Result<String> {
    let healed = context.testbed.hosts.heal()?;
    let everyone = members.everyone();
    let (_, known) = members.agree(&everyone, &everyone, HEALED_WITHIN)?;
    members.listen_for(Duration::from_secs(1));
    members.agree(&everyone, &everyone, HEALED_WITHIN)?;
    let took_ms = milliseconds(healed, known);
    Ok(format!("one leader {took_ms:.0} ms after the heal"))
}

/// The default channel between members that use IPv6.
const BY_IPV6_MULTICAST: &str = "multicast [ff05::4855]:7401";

/// A group over IPv6 that formed by multicast replaces its leader. Where multicasts are dropped, a
/// group that formed by addresses does.
pub(super) fn ipv6(context: &FaultContext<'_>) -> Result<String> {
    let testbed = context.testbed.over_ipv6()?;
    let (mut members, leader) = testbed.settled(OPTIONS)?;
    for member in members.everyone() {
        let reach = &members.status(member)?["groups"][0]["reach"];
        require(reach == BY_IPV6_MULTICAST, || format!("member {member} sends by {reach}"))?;
    }
    let killed = members.end(leader, Signal::KILL)?;
    let (_, known) = next_leader(&mut members, leader)?;
    let took_ms = milliseconds(killed, known);
    drop(members);
    let without = without_multicasts(testbed)?;
    Ok(format!("a killed leader is replaced in {took_ms:.0} ms; without multicasts {without}"))
}
