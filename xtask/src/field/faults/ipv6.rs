//! What must go over IPv6 as it does over IPv4.

use rustix::process::Signal;

use super::leader::next_leader;
use super::network::without_multicasts;
use super::{OPTIONS, Trial, require};
use crate::Result;
use crate::field::measure::milliseconds;

/// By what members reach each other, told nothing of it.
const BY_MULTICAST: &str = "multicast [ff05::4855]:7401";

/// Found by multicast, a group replaces its leader; where multicasts are dropped, by addresses.
pub(super) fn group(trial: &Trial<'_>) -> Result<String> {
    let ground = trial.ground.over_ipv6()?;
    let (mut members, leader) = ground.settled(OPTIONS)?;
    for member in members.everyone() {
        let reach = &members.status(member)?["groups"][0]["reach"];
        require(reach == BY_MULTICAST, || {
            format!("member {member} sends by {reach}")
        })?;
    }
    let killed = members.end(leader, Signal::KILL)?;
    let (_, known) = next_leader(&mut members, leader)?;
    let took_ms = milliseconds(killed, known);
    drop(members);
    let without = without_multicasts(ground)?;
    Ok(format!(
        "a killed leader is replaced in {took_ms:.0} ms; without multicasts {without}"
    ))
}
