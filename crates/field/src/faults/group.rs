//! Faults of a group.

use std::time::Duration;

use rustix::process::Signal;

use super::{FaultContext, OPTIONS, STRANGER, require};
use crate::Result;
use crate::chance::Chance;
use crate::measure::{milliseconds, now_ns};
use crate::members::{Members, Placement};
use crate::testbed::{MEMBERS, PORT};

const AGREE_WITHIN: Duration = Duration::from_secs(2);

const KEY: &str = "1111111111111111111111111111111111111111111111111111111111111111";
const OTHER_KEY: &str = "2222222222222222222222222222222222222222222222222222222222222222";

/// A group without faults keeps its leader and its channels.
pub(super) fn quiet(context: &FaultContext<'_>) -> Result<String> {
    let (mut members, leader) = context.testbed.settled(OPTIONS)?;
    let before = members.report_count(&members.everyone());
    members.listen_for(Duration::from_secs(5));
    members.require_unmoved(before)?;
    let status = members.status(leader)?;
    let reach = &status["groups"][0]["reach"];
    let by_multicast = |text: &str| text.starts_with("multicast") && !text.contains("unicast");
    require(reach.as_str().is_some_and(by_multicast), || {
        format!("the leader reaches the others by {reach}")
    })?;
    Ok("no change".to_owned())
}

pub(super) fn cold_start(context: &FaultContext<'_>) -> Result<String> {
    let mut members = context.testbed.group(OPTIONS);
    let started = members.start_all()?;
    let everyone = members.everyone();
    let (leader, known) = members.agree(&everyone, &everyone, AGREE_WITHIN)?;
    members.listen_for(Duration::from_secs(1));
    members.agree(&everyone, &[leader], Duration::ZERO)?;
    let took_ms = milliseconds(members.up_ns().unwrap_or(started), known);
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
    let everyone = members.everyone();
    let calm = now_ns();
    let agreed = members.agree(&everyone, &everyone, AGREE_WITHIN);
    let (_, known) = agreed.map_err(|error| format!("seed {seed}: {error}"))?;
    members.listen_for(Duration::from_secs(1));
    let agreed = members.agree(&everyone, &everyone, Duration::ZERO);
    agreed.map_err(|error| format!("later, seed {seed}: {error}"))?;
    Ok(format!("{:.0} ms after the last", milliseconds(calm, known)))
}

/// Groups that share a multicast address receive each other's frames and are unaffected.
pub(super) fn second_group(context: &FaultContext<'_>) -> Result<String> {
    let (mut first, leader) = context.testbed.settled(OPTIONS)?;
    let placement = Placement::OneEach { port: PORT + 100 };
    let mut second = context.testbed.members(placement, MEMBERS, OPTIONS);
    let everyone = first.everyone();
    let before = first.report_count(&everyone);
    second.start_all()?;
    second.agree(&everyone, &everyone, AGREE_WITHIN)?;
    second.listen_for(Duration::from_secs(1));
    let settled = second.report_count(&everyone);
    first.listen_for(Duration::ZERO);
    require(first.report_count(&everyone) == before, || {
        "the first group changed its mind when the second one came up".to_owned()
    })?;
    first.end(leader, Signal::KILL)?;
    let survivors = first.all_but(leader);
    first.agree(&survivors, &survivors, AGREE_WITHIN)?;
    second.listen_for(Duration::from_secs(1));
    require(second.report_count(&everyone) == settled, || {
        "the second group changed its mind when the first one lost its leader".to_owned()
    })?;
    Ok("neither noticed".to_owned())
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
    let (leader, _) = members.agree(&five, &five, AGREE_WITHIN)?;
    members.listen_for(Duration::from_millis(500));
    Ok((members, five, leader))
}

/// A process with the leader's name ends with an error. No other member notices.
pub(super) fn duplicate_name(context: &FaultContext<'_>) -> Result<String> {
    let (mut members, five, leader) = five_and_a_strangers_place(context, OPTIONS)?;
    let before = members.report_count(&five);
    members.start_as(STRANGER, leader)?;
    let code = members.exit_code(STRANGER)?;
    require(code == Some(1), || format!("the namesake ended with {code:?}"))?;
    // Longer than a member would wait for announcements of a silenced leader.
    members.listen_for(Duration::from_secs(2));
    members.agree(&five, &[leader], Duration::ZERO)?;
    require(members.report_count(&five) == before, || {
        "members changed their minds when a namesake of their leader came up".to_owned()
    })?;
    Ok("it ended, and no member changed".to_owned())
}

/// A process with another key never joins, and its frames are counted.
pub(super) fn wrong_key(context: &FaultContext<'_>) -> Result<String> {
    let options = |key| [OPTIONS, &["--key", key]].concat();
    let (mut members, five, leader) = five_and_a_strangers_place(context, &options(KEY))?;
    let before = members.report_count(&five);
    members.start_with(STRANGER, &options(OTHER_KEY))?;
    // The process knows no other member, so it leads a group of one.
    members.agree(&[STRANGER], &[STRANGER], AGREE_WITHIN)?;
    members.listen_for(Duration::from_secs(1));
    require(members.report_count(&five) == before, || {
        "members changed their minds when a stranger came up".to_owned()
    })?;
    members.agree(&five, &[leader], Duration::ZERO)?;
    let counters = &members.status(leader)?["groups"][0]["counters"];
    let strange = counters["unknown_key"].as_u64().unwrap_or_default();
    // The process announces itself twenty times a second.
    require(strange >= 10, || format!("the stranger's frames are not counted: {counters}"))?;
    Ok(format!("{strange} of its frames refused"))
}
