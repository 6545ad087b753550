//! What may happen to a leader.

use std::time::Duration;

use rustix::process::Signal;

use super::{OPTIONS, Trial, require};
use crate::Result;
use crate::field::ground::PORT;
use crate::field::hosts::address;
use crate::field::measure::milliseconds;
use crate::field::members::Members;

/// Time for the next leader, on a busy machine too.
const NEXT_WITHIN: Duration = Duration::from_secs(2);

pub(super) fn killed(trial: &Trial<'_>) -> Result<String> {
    let (mut members, leader) = trial.ground.settled(OPTIONS)?;
    let began = members.end(leader, Signal::KILL)?;
    let (_, known) = next_leader(&mut members, leader)?;
    Ok(after(began, known))
}

pub(super) fn asked(trial: &Trial<'_>) -> Result<String> {
    let (mut members, leader) = trial.ground.settled(OPTIONS)?;
    let began = members.end(leader, Signal::TERM)?;
    let (_, known) = next_leader(&mut members, leader)?;
    Ok(after(began, known))
}

/// A leader that stood still has been replaced, and follows before it says anything.
pub(super) fn paused(trial: &Trial<'_>) -> Result<String> {
    let (mut members, leader) = trial.ground.settled(OPTIONS)?;
    let everyone = members.everyone();
    let survivors = members.all_but(leader);
    members.signal(leader, Signal::STOP)?;
    let (next, _) = next_leader(&mut members, leader)?;
    members.listen_for(Duration::from_millis(300));
    let (stood_by, had_said) = (members.said(&survivors), members.words(leader).len());
    let began = members.signal(leader, Signal::CONT)?;
    let (_, known) = members.agree(&everyone, &[next], Duration::from_secs(1))?;
    members.listen_for(Duration::from_secs(1));
    let words = &members.words(leader)[had_said..];
    require(words.iter().all(|it| it.leader != Some(leader)), || {
        format!("the old leader named itself once more: {words:?}")
    })?;
    require(members.said(&survivors) == stood_by, || {
        "others changed their minds when the old leader went on".to_owned()
    })?;
    members.agree(&everyone, &[next], Duration::ZERO)?;
    Ok(after(began, known))
}

/// A lifeline that breaks while its leader announces itself proves nothing.
pub(super) fn lifeline_cut(trial: &Trial<'_>) -> Result<String> {
    let (mut members, leader) = trial.ground.settled(OPTIONS)?;
    let everyone = members.everyone();
    let before = members.said(&everyone);
    let follower = members.all_but(leader)[0];
    // The follower's kernel refuses what comes from the leader's links: its lifeline is reset.
    let rules = format!(
        "chain out {{ type filter hook output priority 0; ip daddr {} tcp dport {PORT} reject with tcp reset; }}",
        address(leader)
    );
    trial.ground.hosts.filter(follower, &rules)?;
    trial.ground.hosts.sever(follower, &address(leader), PORT)?;
    members.listen_for(Duration::from_secs(2));
    members.require_unmoved(before)?;
    Ok("no change".to_owned())
}

/// Who the others agree on now that `leader` is gone, and since when.
pub(super) fn next_leader(members: &mut Members<'_>, leader: usize) -> Result<(usize, u64)> {
    let survivors = members.all_but(leader);
    members.agree(&survivors, &survivors, NEXT_WITHIN)
}

fn after(began_ns: u64, known_ns: u64) -> String {
    format!("after {:.1} ms", milliseconds(began_ns, known_ns))
}
