//! Packets that no member sent, or that a member sent earlier.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use hustings_testkit::Scratch;
use rustix::process::Signal;

use super::{FaultContext, NEXT_WITHIN, OPTIONS, STRANGER};
use crate::Result;
use crate::hosts::address;
use crate::members::{Members, Placement};
use crate::testbed::{KEY, PATIENCE, PORT, voters};

/// The default port of the group's multicasts.
const MULTICAST_PORT: &str = "7401";

/// The interval at which the test reads the addresses that the target has for the other members.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Truncated, bit-flipped, replayed and random packets reach one follower from a host outside the
/// group. The follower refuses and counts them, and keeps working.
pub(super) fn wrong_packets(context: &FaultContext<'_>) -> Result<String> {
    let (mut members, leader) = context.testbed.settled(OPTIONS)?;
    let target = members.all_but(leader)[0];
    let before = members.all_reports();
    let (heard_before, refused_before) = counts(&members, target)?;
    let home = Scratch::new("hustings-frames");
    let frames = record(context, &mut members, &home, Duration::from_secs(1))?;
    let sent = fuzz(context, &members, target, &frames, context.packets)?;
    members.listen_for(Duration::from_millis(500));
    let (heard, refused) = counts(&members, target)?;
    let (heard, refused) = (heard - heard_before, refused - refused_before);
    let are_refused = refused <= sent && refused > sent / 2;
    ensure!(are_refused, "of {sent} packets {refused} were refused");
    // Accepted frames came from members: twenty announcements a second, and a few queries.
    ensure!(heard < sent / 10, "{heard} frames were let in while {sent} wrong ones came");
    members.require_unmoved(before)?;
    members.end_leader(leader, Signal::KILL, NEXT_WITHIN)?;
    Ok(format!("{refused} of {sent} refused, no change"))
}

/// A restarted member receives frames of its own earlier incarnation. It must not conclude that
/// another member has its name.
pub(super) fn earlier_incarnation(context: &FaultContext<'_>) -> Result<String> {
    /// Longer than frames of an earlier incarnation may be in transit.
    const WAIT: Duration = Duration::from_secs(4);
    let (mut members, leader) = context.testbed.settled(OPTIONS)?;
    let home = Scratch::new("hustings-frames");
    let frames = record(context, &mut members, &home, Duration::from_secs(1))?;
    members.restart(leader)?;
    members.agree_all(NEXT_WITHIN)?;
    members.listen_for(WAIT);
    let before = members.all_reports();
    fuzz(context, &members, leader, &frames, 1_000)?;
    members.listen_for(Duration::from_millis(500));
    members.require_unmoved(before)?;
    // An answer shows that the agent still runs.
    let duplicate_name = &members.status(leader)?["duplicate_name"];
    ensure!(duplicate_name.is_null(), "it takes itself for a namesake of {duplicate_name}");
    Ok("no change".to_owned())
}

/// The test records the frames of a leader. Then the leader dies and all others restart, so they
/// have never received from it. Each of them receives the recording from a host outside the group.
/// No member may name the dead leader, or take that host's address for the leader's.
pub(super) fn dead_leader(context: &FaultContext<'_>) -> Result<String> {
    /// The announcements of this time are replayed at the rate at which they were sent.
    const SPAN: Duration = Duration::from_secs(3);
    const EVERY_MS: &str = "50";
    let (mut members, leader) = context.testbed.settled(OPTIONS)?;
    let others = members.all_but(leader);
    let home = Scratch::new("hustings-frames");
    let frames = record(context, &mut members, &home, SPAN)?;
    members.end(leader, Signal::KILL)?;
    for &index in &others {
        members.end(index, Signal::KILL)?;
    }
    for &index in &others {
        members.start(index)?;
    }
    let targets: Vec<String> = others.iter().map(|it| format!("{}:{PORT}", address(*it))).collect();
    let options = ["--targets", &targets.join(","), "--every-ms", EVERY_MS];
    let replayer = context.wiretap(STRANGER, &frames, &options)?;
    let began = Instant::now();
    members.agree(&others, &others, NEXT_WITHIN)?;
    while began.elapsed() < SPAN {
        for &index in &others {
            require_unmoved_addresses(&members, index)?;
        }
        members.listen_for(LOOK_EVERY);
    }
    drop(replayer);
    for &index in &others {
        let named = members.reports(index).iter().any(|it| it.leader == Some(leader));
        ensure!(!named, "{index} named the dead leader {leader} when its frames were replayed");
    }
    Ok(format!("no member named it in {SPAN:?} of replayed frames"))
}

/// The voter that loses its disk.
const LOST: usize = 0;

const VOTERS: usize = 3;

/// The test records the answers to the first `voter init` on the wire. The voter then loses its
/// file again while the two others are down, and another host replays the answers. The second
/// `voter init` must not accept them: the voter would restart below the fence that it promised in
/// between. Two guards refuse them: the dead voters answer no challenge, and the answers are bound
/// to an earlier question. Either guard is enough here; unit tests break each alone.
pub(super) fn recorded_answers(context: &FaultContext<'_>) -> Result<String> {
    let list = voters(VOTERS);
    let more = ["--voters", &list, "--ttl", "1s", "--key", KEY];
    let options = [OPTIONS, &more].concat();
    let placement = Placement::OneEach { port: PORT };
    let mut members = context.testbed.members(placement, VOTERS, &options);
    members.init_voters()?;
    members.start_all()?;
    let everyone = members.everyone();
    members.held(&everyone, 0, PATIENCE)?;

    members.end(LOST, Signal::KILL)?;
    members.lose_promise(LOST)?;
    let home = Scratch::new("hustings-wire");
    let recording = home.join("recording");
    let recorder = context.wiretap(LOST, &recording, &["--port", &PORT.to_string()])?;
    let first = members.init(LOST, "5s")?;
    let said = first.said;
    ensure!(first.code == Some(0), "the voter could not be initialised with the others up: {said}");
    drop(recorder);
    let recorded = fs::read_to_string(&recording)?.lines().count();
    ensure!(
        recorded >= 4,
        "only {recorded} datagrams were recorded: two voters answer in two each"
    );

    // The voter votes again, and promises higher fences than the recorded answers contain.
    members.start(LOST)?;
    let (holder, fence) = members.held(&everyone, 0, PATIENCE)?;
    members.end(holder, Signal::KILL)?;
    let others = members.all_but(holder);
    members.held(&others, fence, PATIENCE)?;

    for &member in &others {
        members.end(member, Signal::KILL)?;
    }
    members.lose_promise(LOST)?;
    let target = context.testbed.place(LOST, PORT).to_string();
    let replayer = context.wiretap(STRANGER, &recording, &["--targets", &target])?;
    let second = members.init(LOST, "3s")?;
    drop(replayer);
    let (printed, said) = (second.printed, second.said);
    let expected = "0 of the 2 voters that are needed answered";
    ensure!(
        second.code == Some(1) && said.contains(expected),
        "without a voter that can answer, the command printed: {printed}{said}"
    );
    Ok(format!("{recorded} datagrams sent again in vain"))
}

/// Records the multicasts of a group for `span`, on the host outside the group.
fn record(
    context: &FaultContext<'_>,
    members: &mut Members<'_>,
    home: &Scratch,
    span: Duration,
) -> Result<PathBuf> {
    let file = home.join("frames");
    let _recorder = context.wiretap(STRANGER, &file, &["--port", MULTICAST_PORT])?;
    members.listen_for(span);
    Ok(file)
}

/// Sends wrong packets to a member from the host outside the group. Meanwhile the member must not
/// move a peer's address to that host. Returns the number of packets sent.
fn fuzz(
    context: &FaultContext<'_>,
    members: &Members<'_>,
    target: usize,
    frames: &Path,
    packets: u64,
) -> Result<u64> {
    let (target_address, count) = (format!("{}:{PORT}", address(target)), packets.to_string());
    let options = ["--targets", &target_address, "--wrong", &count];
    let mut fuzzer = context.wiretap(STRANGER, frames, &options)?;
    let lines = fuzzer.lines()?;
    let mut misled = Ok(());
    while fuzzer.try_wait()?.is_none() {
        misled = misled.and_then(|()| require_unmoved_addresses(members, target));
        thread::sleep(LOOK_EVERY);
    }
    misled?;
    Ok(lines.recv().map_err(|_| "no packets were sent")?.parse()?)
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
    let counters = members.status(index)?["counters"].take();
    let count = |name: &str| -> Result<u64> {
        counters[name].as_u64().ok_or_else(|| format!("no counter {name}").into())
    };
    Ok((count("heard")?, REFUSALS.into_iter().map(count).sum::<Result<u64>>()?))
}

/// Fails if agent `index` places a peer at the address from which packets are replayed.
fn require_unmoved_addresses(members: &Members<'_>, index: usize) -> Result<()> {
    let status = members.status(index)?;
    let stranger = format!("{}:{PORT}", address(STRANGER));
    for peer in status["peers"].as_array().into_iter().flatten() {
        let is_moved = peer["address"] == stranger.as_str();
        ensure!(!is_moved, "replayed packets moved a member's address: {peer}");
    }
    Ok(())
}
