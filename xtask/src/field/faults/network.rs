//! What may happen to a network.

use std::time::Duration;

use rustix::process::Signal;

use super::{OPTIONS, Trial, require};
use crate::Result;
use crate::field::ground::{Ground, PORT};
use crate::field::measure::milliseconds;
use crate::field::members::Members;

/// How long a fault lasts.
const LASTS: Duration = Duration::from_secs(5);

/// Time for agreement once a network is whole.
const HEALED_WITHIN: Duration = Duration::from_secs(2);

pub(super) fn loses_10(trial: &Trial<'_>) -> Result<String> {
    loses(trial, 10)
}

pub(super) fn loses_30(trial: &Trial<'_>) -> Result<String> {
    loses(trial, 30)
}

pub(super) fn loses_50(trial: &Trial<'_>) -> Result<String> {
    loses(trial, 50)
}

/// Agreement is reached under loss, and kept or reached again.
fn loses(trial: &Trial<'_>, percent: u32) -> Result<String> {
    let mut members = trial.ground.group(&["--announce", "50ms"]);
    let everyone = members.everyone();
    for &host in &everyone {
        trial.ground.hosts.lose(host, percent)?;
    }
    members.start_all()?;
    members.agree(&everyone, &everyone, LASTS)?;
    let before = members.said(&everyone);
    members.listen_for(LASTS);
    let changes = members.said(&everyone) - before;
    members.agree(&everyone, &everyone, LASTS)?;
    let healed = heal(trial, &mut members)?;
    Ok(format!("{changes} changes in {LASTS:?}, {healed}"))
}

/// One leader on each side, then one.
pub(super) fn partition(trial: &Trial<'_>) -> Result<String> {
    let (mut members, _) = trial.ground.settled(OPTIONS)?;
    let (few, many) = ([0, 1], [2, 3, 4]);
    trial.ground.hosts.cut(&few, &many)?;
    members.agree(&few, &few, LASTS)?;
    members.agree(&many, &many, LASTS)?;
    members.listen_for(Duration::from_secs(1));
    members.agree(&few, &few, Duration::ZERO)?;
    members.agree(&many, &many, Duration::ZERO)?;
    heal(trial, &mut members)
}

/// The same, but the two sides came up apart and never knew of each other.
pub(super) fn came_up_apart(trial: &Trial<'_>) -> Result<String> {
    let mut members = trial.ground.group(&["--protocol", "bully"]);
    let (few, many) = ([0, 1], [2, 3, 4]);
    trial.ground.hosts.cut(&few, &many)?;
    members.start_all()?;
    members.agree(&few, &few, LASTS)?;
    members.agree(&many, &many, LASTS)?;
    let healed = trial.ground.hosts.heal()?;
    let everyone = members.everyone();
    let (_, known) = members.agree(&everyone, &everyone, LASTS * 2)?;
    let took_ms = milliseconds(healed, known);
    Ok(format!("one leader {took_ms:.0} ms after the heal"))
}

/// The leader hears a follower that does not hear it.
pub(super) fn one_way(trial: &Trial<'_>) -> Result<String> {
    let (mut members, leader) = trial.ground.settled(OPTIONS)?;
    let follower = members.all_but(leader)[0];
    trial.ground.hosts.block(follower, &[leader])?;
    let changes = disturb(&mut members, follower)?;
    let healed = heal(trial, &mut members)?;
    Ok(format!("{changes} changes among the others, {healed}"))
}

/// A member hears nobody, and everybody hears it.
pub(super) fn deaf(trial: &Trial<'_>) -> Result<String> {
    let (mut members, leader) = trial.ground.settled(OPTIONS)?;
    let follower = members.all_but(leader)[0];
    let others = members.all_but(follower);
    trial.ground.hosts.block(follower, &others)?;
    let changes = disturb(&mut members, follower)?;
    let healed = heal(trial, &mut members)?;
    Ok(format!("{changes} changes among the others, {healed}"))
}

pub(super) fn no_multicasts(trial: &Trial<'_>) -> Result<String> {
    without_multicasts(trial.ground)
}

/// Clouds drop multicasts without a word. Each member knows the one before it: the last is on nobody's list.
pub(super) fn without_multicasts(ground: Ground<'_>) -> Result<String> {
    let mut members = ground.group(OPTIONS);
    let everyone = members.everyone();
    for &host in &everyone {
        ground.hosts.drop_multicasts(host)?;
    }
    let (&last, others) = everyone.split_last().ok_or("a group has members")?;
    for &member in others {
        join_at_the_one_before(ground, &mut members, member)?;
    }
    let (leader, _) = members.agree(others, others, LASTS)?;
    members.listen_for(Duration::from_millis(500));
    let before = members.said(others);
    join_at_the_one_before(ground, &mut members, last)?;
    members.agree(&everyone, &[leader], LASTS)?;
    // Long enough for all to have found out which way serves.
    members.listen_for(LASTS);
    members.agree(&everyone, &[leader], Duration::ZERO)?;
    // One word more, of the last: whom it follows.
    members.require_unmoved(before + 1)?;
    for &member in &everyone {
        let reach = &members.status(member)?["groups"][0]["reach"];
        require(reach == "unicast", || {
            format!("member {member} still sends by {reach}")
        })?;
    }
    let killed = members.end(leader, Signal::KILL)?;
    let survivors = members.all_but(leader);
    let (_, known) = members.agree(&survivors, &survivors, LASTS)?;
    let took_ms = milliseconds(killed, known);
    Ok(format!(
        "all go on by unicast, and replace a killed leader in {took_ms:.0} ms"
    ))
}

fn join_at_the_one_before(
    ground: Ground<'_>,
    members: &mut Members<'_>,
    member: usize,
) -> Result<()> {
    let before = match member {
        0 => 1,
        _ => member - 1,
    };
    let place = ground.place(before, PORT).to_string();
    members.start_with(
        member,
        &[OPTIONS, &["--insecure", "--join", &place]].concat(),
    )
}

/// The others go on agreeing, and hardly notice. Returns how often they changed their minds.
fn disturb(members: &mut Members<'_>, follower: usize) -> Result<usize> {
    /// To another leader and back, once, for each of the four.
    const MOST_CHANGES: usize = 8;
    let others = members.all_but(follower);
    let before = members.said(&others);
    members.listen_for(LASTS);
    let changes = members.said(&others) - before;
    members.agree(&others, &others, Duration::from_secs(1))?;
    require(changes <= MOST_CHANGES, || {
        format!("the others changed their minds {changes} times, more than {MOST_CHANGES}")
    })?;
    Ok(changes)
}

/// The network is whole again: so is the group, and stays so.
fn heal(trial: &Trial<'_>, members: &mut Members<'_>) -> Result<String> {
    let healed = trial.ground.hosts.heal()?;
    let everyone = members.everyone();
    let (_, known) = members.agree(&everyone, &everyone, HEALED_WITHIN)?;
    members.listen_for(Duration::from_secs(1));
    members.agree(&everyone, &everyone, HEALED_WITHIN)?;
    let took_ms = milliseconds(healed, known);
    Ok(format!("one leader {took_ms:.0} ms after the heal"))
}
