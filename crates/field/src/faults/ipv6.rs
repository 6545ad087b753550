//! Behaviour that must be the same over IPv6 as over IPv4.

use rustix::process::Signal;

use super::leader::next_leader;
use super::network::without_multicasts;
use super::{FaultContext, OPTIONS, require};
use crate::Result;
use crate::measure::milliseconds;

/// The default channel between members.
const BY_MULTICAST: &str = "multicast [ff05::4855]:7401";

/// A group that formed by multicast replaces its leader. Where multicasts are dropped, a group that
/// formed by addresses does.
pub(super) fn group(context: &FaultContext<'_>) -> Result<String> {
    let testbed = context.testbed.over_ipv6()?;
    let (mut members, leader) = testbed.settled(OPTIONS)?;
    for member in members.everyone() {
        let reach = &members.status(member)?["groups"][0]["reach"];
        require(reach == BY_MULTICAST, || format!("member {member} sends by {reach}"))?;
    }
    let killed = members.end(leader, Signal::KILL)?;
    let (_, known) = next_leader(&mut members, leader)?;
    let took_ms = milliseconds(killed, known);
    drop(members);
    let without = without_multicasts(testbed)?;
    Ok(format!("a killed leader is replaced in {took_ms:.0} ms; without multicasts {without}"))
}
