//! Packets that no member sent, or that one sent before.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::{OPTIONS, STRANGER, Trial, require};
use crate::Result;
use crate::field::barrage::CAUGHT;
use crate::field::ground::PORT;
use crate::field::hosts::{address, this_program};
use crate::field::members::Members;

/// How often the target is asked where it believes the others to be.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Truncated, flipped, replayed and random packets, thrown at one follower from a host that is none of
/// the group's. It refuses and counts them, and goes on.
pub(super) fn barrage(trial: &Trial<'_>) -> Result<String> {
    let (mut members, leader) = trial.ground.settled(OPTIONS)?;
    let everyone = members.everyone();
    let target = members.all_but(leader)[0];
    let before = members.said(&everyone);
    let (heard_before, refused_before) = counts(&members, target)?;
    let sent = throw(trial, &members, target)?;
    members.listen_for(Duration::from_millis(500));
    let (heard, refused) = counts(&members, target)?;
    let (heard, refused) = (heard - heard_before, refused - refused_before);
    require(refused <= sent && refused > sent / 2, || {
        format!("of {sent} packets {refused} were refused")
    })?;
    // What it let in came from members: twenty announcements a second, and a few queries.
    require(heard < sent / 10, || {
        format!("{heard} frames were let in while {sent} wrong ones came")
    })?;
    members.require_unmoved(before)?;
    members.end(leader, Signal::KILL)?;
    let survivors = members.all_but(leader);
    members.agree(&survivors, &survivors, Duration::from_secs(2))?;
    Ok(format!("{refused} of {sent} refused, no change"))
}

/// A member that restarted is thrown at with what it said in its life before: it is not somebody else.
pub(super) fn earlier_life(trial: &Trial<'_>) -> Result<String> {
    /// Longer than frames of an earlier life may be on their way.
    const WAIT_MS: u64 = 4_000;
    let (mut members, leader) = trial.ground.settled(OPTIONS)?;
    let everyone = members.everyone();
    let mut thrower = thrower(trial, &[leader], 1_000)?;
    let mut thrower = thrower.args(["--wait-ms", &WAIT_MS.to_string()]).spawn()?;
    members.listen_for(Duration::from_secs(1)); // the frames are caught
    members.end(leader, Signal::KILL)?;
    members.start(leader)?;
    members.agree(&everyone, &everyone, Duration::from_secs(2))?;
    // Until nobody challenges it a leader is not established, and gives way to a better one.
    members.listen_for(Duration::from_secs(1));
    let before = members.said(&everyone);
    let thrown = thrower.wait()?;
    require(thrown.success(), || format!("nothing was thrown: {thrown}"))?;
    members.listen_for(Duration::from_millis(500));
    members.require_unmoved(before)?;
    // Only an agent that runs answers.
    let status = members.status(leader)?;
    let namesake = &status["groups"][0]["namesake"];
    require(namesake.is_null(), || {
        format!("it takes itself for a namesake of {namesake}")
    })?;
    Ok("no change".to_owned())
}

/// What a leader said is recorded. Then it dies and all others are restarted, so that they have never heard it; and each hears
/// the recording from a host that is none of the group's. Nobody names the dead leader, and nobody looks for it there.
pub(super) fn dead_leader(trial: &Trial<'_>) -> Result<String> {
    /// Announcements of three seconds, replayed as often as they were sent.
    const FRAMES: &str = "60";
    const EVERY_MS: &str = "50";
    let (mut members, leader) = trial.ground.settled(OPTIONS)?;
    let others = members.all_but(leader);
    let mut command = thrower(trial, &others, 0)?;
    command.args(["--frames", FRAMES, "--replay-every-ms", EVERY_MS]);
    let mut thrower = command.stdin(Stdio::piped()).spawn()?;
    let output = thrower.stdout.as_mut().ok_or("it says nothing")?;
    output.read_exact(&mut [0; CAUGHT.len() + 1])?;
    members.end(leader, Signal::KILL)?;
    for &index in &others {
        members.end(index, Signal::KILL)?;
    }
    for &index in &others {
        members.start(index)?;
    }
    let mut input = thrower.stdin.take().ok_or("it does not listen")?;
    input.write_all(b"\n")?;
    members.agree(&others, &others, Duration::from_secs(2))?;
    while thrower.try_wait()?.is_none() {
        for &index in &others {
            own_addresses(&members, index)?;
        }
        members.listen_for(LOOK_EVERY);
    }
    let output = thrower.wait_with_output()?;
    let replayed = String::from_utf8_lossy(&output.stdout);
    let replayed: u64 = replayed.trim().parse()?;
    for &index in &others {
        let mut words = members.words(index).iter();
        require(words.all(|it| it.leader != Some(leader)), || {
            format!(
                "{index} named the dead leader {leader} when {replayed} of its frames were replayed"
            )
        })?;
    }
    Ok(format!("nobody named it, {replayed} frames replayed"))
}

/// Throws packets at a member. Meanwhile none may be taken for being where they come from. Returns how
/// many were sent.
fn throw(trial: &Trial<'_>, members: &Members<'_>, target: usize) -> Result<u64> {
    let mut thrower = thrower(trial, &[target], trial.packets)?.spawn()?;
    let mut misled = Ok(());
    while thrower.try_wait()?.is_none() {
        misled = misled.and_then(|()| own_addresses(members, target));
        thread::sleep(LOOK_EVERY);
    }
    misled?;
    let output = thrower.wait_with_output()?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().parse()?),
        false => Err(format!("nothing was thrown: {}", output.status).into()),
    }
}

/// A process on a host of its own that catches real frames and throws wrong ones at members.
fn thrower(trial: &Trial<'_>, targets: &[usize], packets: u64) -> Result<Command> {
    let targets = targets.iter().map(|it| format!("{}:{PORT}", address(*it)));
    let targets: Vec<String> = targets.collect();
    let mut command = trial.ground.hosts.command(STRANGER, &this_program());
    command
        .args(["barrage", "--packets", &packets.to_string()])
        .args(["--targets", &targets.join(",")])
        .args(["--interface", &address(STRANGER)])
        .stdout(Stdio::piped());
    Ok(command)
}

/// How many frames a member has let in and refused.
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

/// Agent `index` believes none of the others to be where a packet was replayed from.
fn own_addresses(members: &Members<'_>, index: usize) -> Result<()> {
    let status = members.status(index)?;
    let stranger = format!("{}:{PORT}", address(STRANGER));
    let peers = status["groups"][0]["peers"].as_array();
    let is_misled = |peer: &&Value| peer["address"] == stranger.as_str();
    match peers.into_iter().flatten().find(is_misled) {
        None => Ok(()),
        Some(peer) => Err(format!("replayed packets moved a member's address: {peer}").into()),
    }
}
