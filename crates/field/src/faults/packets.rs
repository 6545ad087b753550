//! Packets that no member sent, or that a member sent earlier.

use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use hustings_testkit::{DEADLINE, Process, this_program};
use rustix::process::Signal;
use serde_json::Value;

use super::{FaultContext, OPTIONS, STRANGER, require};
use crate::Result;
use crate::hosts::address;
use crate::members::Members;
use crate::testbed::PORT;

/// The interval at which the test reads the addresses that the target has for the other members.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Truncated, bit-flipped, replayed and random packets reach one follower from a host outside the
/// group. The follower refuses and counts them, and keeps working.
pub(super) fn wrong_packets(context: &FaultContext<'_>) -> Result<String> {
    let (mut members, leader) = context.testbed.settled(OPTIONS)?;
    let everyone = members.everyone();
    let target = members.all_but(leader)[0];
    let before = members.report_count(&everyone);
    let (heard_before, refused_before) = counts(&members, target)?;
    let sent = fuzz(context, &members, target)?;
    members.listen_for(Duration::from_millis(500));
    let (heard, refused) = counts(&members, target)?;
    let (heard, refused) = (heard - heard_before, refused - refused_before);
    require(refused <= sent && refused > sent / 2, || {
        format!("of {sent} packets {refused} were refused")
    })?;
    // Accepted frames came from members: twenty announcements a second, and a few queries.
    require(heard < sent / 10, || {
        format!("{heard} frames were let in while {sent} wrong ones came")
    })?;
    members.require_unmoved(before)?;
    members.end(leader, Signal::KILL)?;
    let survivors = members.all_but(leader);
    members.agree(&survivors, &survivors, Duration::from_secs(2))?;
    Ok(format!("{refused} of {sent} refused, no change"))
}

/// A restarted member receives frames of its own earlier incarnation. It must not conclude that
/// another member has its name.
pub(super) fn earlier_incarnation(context: &FaultContext<'_>) -> Result<String> {
    /// Longer than frames of an earlier incarnation may be in transit.
    const WAIT_MS: u64 = 4_000;
    let (mut members, leader) = context.testbed.settled(OPTIONS)?;
    let everyone = members.everyone();
    let mut fuzzer = fuzzer(context, &[leader], 1_000);
    let mut fuzzer = Process::spawn(fuzzer.args(["--wait-ms", &WAIT_MS.to_string()]))?;
    members.listen_for(Duration::from_secs(1)); // the frames are captured
    members.end(leader, Signal::KILL)?;
    members.start(leader)?;
    members.agree(&everyone, &everyone, Duration::from_secs(2))?;
    // A leader is established once it is unchallenged. Until then it gives way to a better
    // candidate.
    members.listen_for(Duration::from_secs(1));
    let before = members.report_count(&everyone);
    let exit = fuzzer.wait()?;
    require(exit.success(), || format!("no packets were sent: {exit}"))?;
    members.listen_for(Duration::from_millis(500));
    members.require_unmoved(before)?;
    // An answer shows that the agent still runs.
    let status = members.status(leader)?;
    let duplicate_name = &status["groups"][0]["duplicate_name"];
    require(duplicate_name.is_null(), || {
        format!("it takes itself for a namesake of {duplicate_name}")
    })?;
    Ok("no change".to_owned())
}

/// The test records the frames of a leader. Then the leader dies and all others restart, so they
/// have never received from it. Each of them receives the recording from a host outside the group.
/// No member may name the dead leader, or take that host's address for the leader's.
pub(super) fn dead_leader(context: &FaultContext<'_>) -> Result<String> {
    /// Announcements of three seconds, replayed at the rate at which they were sent.
    const FRAMES: &str = "60";
    const EVERY_MS: &str = "50";
    let (mut members, leader) = context.testbed.settled(OPTIONS)?;
    let others = members.all_but(leader);
    let mut command = fuzzer(context, &others, 0);
    command.args(["--frames", FRAMES, "--replay-every-ms", EVERY_MS]);
    let mut fuzzer = Process::spawn(command.stdin(Stdio::piped()))?;
    let lines = fuzzer.lines()?;
    lines.recv_timeout(DEADLINE)?; // the frames are captured
    members.end(leader, Signal::KILL)?;
    for &index in &others {
        members.end(index, Signal::KILL)?;
    }
    for &index in &others {
        members.start(index)?;
    }
    let mut input = fuzzer.stdin.take().ok_or("its input is piped")?;
    input.write_all(b"\n")?;
    members.agree(&others, &others, Duration::from_secs(2))?;
    while fuzzer.try_wait()?.is_none() {
        for &index in &others {
            require_unmoved_addresses(&members, index)?;
        }
        members.listen_for(LOOK_EVERY);
    }
    let replayed: u64 = lines.recv_timeout(DEADLINE)?.parse()?;
    for &index in &others {
        let mut reports = members.reports(index).iter();
        require(reports.all(|it| it.leader != Some(leader)), || {
            format!(
                "{index} named the dead leader {leader} when {replayed} of its frames were replayed"
            )
        })?;
    }
    Ok(format!("no member named it, {replayed} frames replayed"))
}

/// Sends packets to a member. Meanwhile the member must not move a peer's address to the sender's.
/// Returns the number of packets sent.
fn fuzz(context: &FaultContext<'_>, members: &Members<'_>, target: usize) -> Result<u64> {
    let mut fuzzer = Process::spawn(&mut fuzzer(context, &[target], context.packets))?;
    let lines = fuzzer.lines()?;
    let mut misled = Ok(());
    while fuzzer.try_wait()?.is_none() {
        misled = misled.and_then(|()| require_unmoved_addresses(members, target));
        thread::sleep(LOOK_EVERY);
    }
    misled?;
    let sent = lines.recv_timeout(DEADLINE);
    Ok(sent.map_err(|_| "no packets were sent")?.parse()?)
}

/// A process outside the group that captures real frames and sends wrong ones to members.
fn fuzzer(context: &FaultContext<'_>, targets: &[usize], packets: u64) -> Command {
    let targets = targets.iter().map(|it| format!("{}:{PORT}", address(*it)));
    let targets: Vec<String> = targets.collect();
    let mut command = context.testbed.hosts.command(STRANGER, this_program());
    command
        .args(["packet-fuzz", "--packets", &packets.to_string()])
        .args(["--targets", &targets.join(",")])
        .args(["--interface", &address(STRANGER)])
        .stdout(Stdio::piped());
    command
}

/// Returns the number of frames that a member has accepted and refused.
fn counts(members: &Members<'_>, index: usize) -> Result<(u64, u64)> {
    const REFUSALS: [&str; 9] = [
        "truncated",
        "unknown_version",
        "unknown_key",
        "broken_seal",
        "malformed",
        "other_group",
        "other_receiver",
        "unproven",
        "replayed",
    ];
    let status = members.status(index)?;
    let counters = &status["groups"][0]["counters"];
    let count = |name: &str| counters[name].as_u64().ok_or(format!("no counter {name}"));
    let refused: std::result::Result<u64, String> = REFUSALS.into_iter().map(count).sum();
    Ok((count("heard")?, refused?))
}

/// Fails if agent `index` places a peer at the address from which packets are replayed.
fn require_unmoved_addresses(members: &Members<'_>, index: usize) -> Result<()> {
    let status = members.status(index)?;
    let stranger = format!("{}:{PORT}", address(STRANGER));
    let peers = status["groups"][0]["peers"].as_array();
    let is_misled = |peer: &&Value| peer["address"] == stranger.as_str();
    match peers.into_iter().flatten().find(is_misled) {
        None => Ok(()),
        Some(peer) => Err(format!("replayed packets moved a member's address: {peer}").into()),
    }
}
