//! What may happen to a group.

use std::time::Duration;

use rustix::process::Signal;

use super::{OPTIONS, STRANGER, Trial, require};
use crate::Result;
use crate::field::chance::Chance;
use crate::field::ground::{MEMBERS, PORT};
use crate::field::measure::{milliseconds, now_ns};
use crate::field::members::{Homes, Members};

const AGREE_WITHIN: Duration = Duration::from_secs(2);

const KEY: &str = "1111111111111111111111111111111111111111111111111111111111111111";
const OTHER_KEY: &str = "2222222222222222222222222222222222222222222222222222222222222222";

/// A group that is left alone goes on as it is, by the ways it found.
pub(super) fn quiet(trial: &Trial<'_>) -> Result<String> {
    let (mut members, leader) = trial.ground.settled(OPTIONS)?;
    let before = members.said(&members.everyone());
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

pub(super) fn cold_start(trial: &Trial<'_>) -> Result<String> {
    let mut members = trial.ground.group(OPTIONS);
    let started = members.start_all()?;
    let everyone = members.everyone();
    let (leader, known) = members.agree(&everyone, &everyone, AGREE_WITHIN)?;
    members.listen_for(Duration::from_secs(1));
    members.agree(&everyone, &[leader], Duration::ZERO)?;
    let took_ms = milliseconds(members.up_ns().unwrap_or(started), known);
    Ok(format!("{took_ms:.0} ms after the last one was up"))
}

/// Members die and come up again, faster than a group can follow.
pub(super) fn restart_storm(trial: &Trial<'_>) -> Result<String> {
    const RESTARTS: u32 = 20;
    let seed = now_ns();
    let mut chance = Chance::from_seed(seed);
    let (mut members, _) = trial.ground.settled(OPTIONS)?;
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
    Ok(format!(
        "{:.0} ms after the last",
        milliseconds(calm, known)
    ))
}

/// Groups that share a multicast address hear each other, and do not mind.
pub(super) fn second_group(trial: &Trial<'_>) -> Result<String> {
    let (mut first, leader) = trial.ground.settled(OPTIONS)?;
    let homes = Homes::OneEach { port: PORT + 100 };
    let mut second = trial.ground.members(homes, MEMBERS, OPTIONS);
    let everyone = first.everyone();
    let before = first.said(&everyone);
    second.start_all()?;
    second.agree(&everyone, &everyone, AGREE_WITHIN)?;
    second.listen_for(Duration::from_secs(1));
    let settled = second.said(&everyone);
    first.listen_for(Duration::ZERO);
    require(first.said(&everyone) == before, || {
        "the first group changed its mind when the second one came up".to_owned()
    })?;
    first.end(leader, Signal::KILL)?;
    let survivors = first.all_but(leader);
    first.agree(&survivors, &survivors, AGREE_WITHIN)?;
    second.listen_for(Duration::from_secs(1));
    require(second.said(&everyone) == settled, || {
        "the second group changed its mind when the first one lost its leader".to_owned()
    })?;
    Ok("neither noticed".to_owned())
}

/// Five members that have settled, who they are and who leads; and a host for whoever comes besides.
fn five_and_a_strangers_place<'a>(
    trial: &Trial<'a>,
    options: &[&str],
) -> Result<(Members<'a>, Vec<usize>, usize)> {
    let homes = Homes::OneEach { port: PORT };
    let mut members = trial.ground.members(homes, STRANGER + 1, options);
    let five: Vec<usize> = (0..MEMBERS).collect();
    for &member in &five {
        members.start(member)?;
    }
    let (leader, _) = members.agree(&five, &five, AGREE_WITHIN)?;
    members.listen_for(Duration::from_millis(500));
    Ok((members, five, leader))
}

/// Who goes by the leader's name ends with an error, and nobody else notices.
pub(super) fn namesake(trial: &Trial<'_>) -> Result<String> {
    let (mut members, five, leader) = five_and_a_strangers_place(trial, OPTIONS)?;
    let before = members.said(&five);
    members.start_as(STRANGER, leader)?;
    let code = members.exit_code(STRANGER)?;
    require(code == Some(1), || {
        format!("the namesake ended with {code:?}")
    })?;
    // Longer than anybody would listen in vain for one that was silenced.
    members.listen_for(Duration::from_secs(2));
    members.agree(&five, &[leader], Duration::ZERO)?;
    require(members.said(&five) == before, || {
        "members changed their minds when a namesake of their leader came up".to_owned()
    })?;
    Ok("it ended, and nobody changed".to_owned())
}

/// Who has another key never joins, and is counted.
pub(super) fn wrong_key(trial: &Trial<'_>) -> Result<String> {
    let options = |key| [OPTIONS, &["--key", key]].concat();
    let (mut members, five, leader) = five_and_a_strangers_place(trial, &options(KEY))?;
    let before = members.said(&five);
    members.start_with(STRANGER, &options(OTHER_KEY))?;
    // It knows of nobody, so it leads a group of one.
    members.agree(&[STRANGER], &[STRANGER], AGREE_WITHIN)?;
    members.listen_for(Duration::from_secs(1));
    require(members.said(&five) == before, || {
        "members changed their minds when a stranger came up".to_owned()
    })?;
    members.agree(&five, &[leader], Duration::ZERO)?;
    let counters = &members.status(leader)?["groups"][0]["counters"];
    let strange = counters["unknown_key"].as_u64().unwrap_or_default();
    // The stranger announces itself twenty times a second.
    require(strange >= 10, || {
        format!("the stranger's frames are not counted: {counters}")
    })?;
    Ok(format!("{strange} of its frames refused"))
}
