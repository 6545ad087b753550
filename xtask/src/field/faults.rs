//! Faults that must do no lasting harm, each tried for real: `cargo xtask test --only field`.

mod door;
mod group;
mod idle_connections;
mod ipv6;
mod leader;
mod network;
mod packets;
mod quick_start;
mod voter_init;

use std::time::{Duration, Instant};

use super::ground::{Ground, MEMBERS};
use super::hosts::Hosts;
use super::{Build, program, tenure};
use crate::Result;
use crate::steps::Outcome;

/// One more host than members, for whoever is none.
const STRANGER: usize = MEMBERS;

/// Announcements often enough for tests to be short, and a listen interval that a busy machine bears.
const OPTIONS: &[&str] = &["--announce", "50ms", "--listen", "300ms"];

/// A fault that is tried.
struct Fault {
    name: &'static str,
    within: Duration,
    prove: Proof,
}

/// Fails unless the group bears it as it should. Returns what is worth telling besides.
type Proof = fn(&Trial<'_>) -> Result<String>;

/// What a fault is tried with.
struct Trial<'a> {
    ground: Ground<'a>,
    /// How many packets are thrown at an agent.
    packets: u64,
}

const fn fault(name: &'static str, seconds: u64, prove: Proof) -> Fault {
    Fault {
        name,
        within: Duration::from_secs(seconds),
        prove,
    }
}

const FAULTS: &[Fault] = &[
    fault("nothing happens", 10, group::quiet),
    fault("all five cold-started at once", 10, group::cold_start),
    fault("the leader is killed (SIGKILL)", 10, leader::killed),
    fault("the leader is asked to stop (SIGTERM)", 10, leader::asked),
    fault("the leader is stopped and continued", 10, leader::paused),
    fault("a follower's lifeline is cut", 10, leader::lifeline_cut),
    fault("10 % loss", 20, network::loses_10),
    fault("30 % loss", 20, network::loses_30),
    fault("50 % loss", 30, network::loses_50),
    fault("partition 2|3 and heal", 15, network::partition),
    fault(
        "both sides of a cut came up apart",
        20,
        network::came_up_apart,
    ),
    fault("a follower does not hear the leader", 15, network::one_way),
    fault("a deaf member", 15, network::deaf),
    fault("no multicast arrives", 20, network::no_multicasts),
    fault("a group over IPv6", 30, ipv6::group),
    fault("restart storm", 25, group::restart_storm),
    fault("a second group on the same port", 15, group::second_group),
    fault("a namesake of the leader", 15, group::namesake),
    fault("a member with another key", 15, group::wrong_key),
    fault("a barrage of wrong packets", 180, packets::barrage),
    fault(
        "packets of an earlier life, replayed",
        15,
        packets::earlier_life,
    ),
    fault(
        "answers to an earlier voter init, replayed",
        40,
        voter_init::recorded_answers,
    ),
    fault(
        "a dead leader, replayed at restarted members",
        20,
        packets::dead_leader,
    ),
    fault("port in use", 5, door::port_in_use),
    fault("unresolvable seed", 10, door::unresolvable_seed),
    fault("missing configuration", 5, door::missing_config),
    fault("broken configuration", 5, door::broken_config),
    fault(
        "2,000 idle connections without a key",
        60,
        idle_connections::held_open,
    ),
    fault("the quick start, on three hosts", 20, quick_start::walk),
    fault("ten rounds of faults under tenure", 60, under_tenure),
];

/// Tries those whose name contains `only`, and tells of each. Skipped where hosts cannot be made.
pub(crate) fn run(only: &str, packets: u64) -> Result<Outcome> {
    if let Some(reason) = Hosts::missing() {
        return Ok(Outcome::Skipped { reason });
    }
    let program = program(Build::Dev)?;
    tenure::writer()?; // before anything is timed
    let hosts = Hosts::make(MEMBERS + 1)?;
    let ground = Ground::new(&hosts, &program);
    let trial = Trial { ground, packets };
    let mut failed = Vec::new();
    for fault in FAULTS.iter().filter(|it| it.name.contains(only)) {
        let began = Instant::now();
        let outcome = (fault.prove)(&trial).and_then(|told| fault.in_time(began.elapsed(), told));
        hosts.heal()?;
        let took = began.elapsed().as_secs_f64();
        match outcome {
            Ok(told) => println!("{:<40} {took:>6.1} s  borne{told}", fault.name),
            Err(error) => {
                println!("{:<40} {took:>6.1} s  NOT BORNE: {error}", fault.name);
                failed.push(fault.name);
            }
        }
    }
    match failed.is_empty() {
        true => Ok(Outcome::Passed),
        false => Err(format!("not borne: {}", failed.join("; ")).into()),
    }
}

impl Fault {
    fn in_time(&self, took: Duration, told: String) -> Result<String> {
        match took <= self.within {
            true if told.is_empty() => Ok(told),
            true => Ok(format!(": {told}")),
            false => Err(format!("took longer than {:?}", self.within).into()),
        }
    }
}

fn under_tenure(trial: &Trial<'_>) -> Result<String> {
    tenure::ten_rounds(trial.ground.hosts)
}

/// Fails with `complaint` unless `holds`.
fn require(holds: bool, complaint: impl FnOnce() -> String) -> Result<()> {
    match holds {
        true => Ok(()),
        false => Err(complaint().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::{FAULTS, require};
    use std::collections::BTreeSet;

    #[test]
    fn every_fault_has_a_name_of_its_own() {
        let names: BTreeSet<&str> = FAULTS.iter().map(|fault| fault.name).collect();
        assert_eq!(names.len(), FAULTS.len());
    }

    #[test]
    fn what_does_not_hold_is_complained_of() {
        assert!(require(true, || unreachable!()).is_ok());
        let error = require(false, || "too bad".to_owned()).expect_err("it does not hold");
        assert_eq!(error.to_string(), "too bad");
    }
}
