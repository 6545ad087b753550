//! Faults that must do no lasting harm, each tried on real hosts: `cargo xtask test --only field`.

mod group;
mod idle_connections;
mod leader;
mod network;
mod packets;
mod quick_start;
mod startup;
mod voter_init;

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use clap::Args;
use hustings_testkit::{DEADLINE, Process, this_program};

use super::hosts::Hosts;
use super::programs::{Build, program};
use super::tenure;
use super::testbed::{MEMBERS, Testbed};
use crate::Result;

/// The host of a process that is not a member. There is one more host than members.
const STRANGER: usize = MEMBERS;

/// The announcements are frequent, which keeps the tests short. The listen interval suits a busy
/// machine.
const OPTIONS: &[&str] = &["--announce", "50ms", "--listen", "300ms"];

/// A fault, its check, and the time limit of the check.
struct FaultCase {
    name: &'static str,
    within: Duration,
    prove: Proof,
}

/// Fails unless the group withstands the fault as it should. Returns a remark for the output.
type Proof = fn(&FaultContext<'_>) -> Result<String>;

/// The surroundings of a check.
struct FaultContext<'a> {
    testbed: Testbed<'a>,
    /// The number of packets that are sent to an agent.
    packets: u64,
}

impl FaultContext<'_> {
    /// Starts a process on a host that records datagrams in `file`, or replays them.
    fn wiretap(&self, host: usize, file: &Path, options: &[&str]) -> Result<Process> {
        let mut command = self.testbed.hosts.command(host, this_program());
        command.arg("wiretap").arg("--file").arg(file).args(options).stdout(Stdio::piped());
        let mut process = Process::spawn(&mut command)?;
        if options.contains(&"--port") {
            process.lines()?.recv_timeout(DEADLINE)?; // it records from now on
        }
        Ok(process)
    }
}

const fn fault(name: &'static str, seconds: u64, prove: Proof) -> FaultCase {
    FaultCase { name, within: Duration::from_secs(seconds), prove }
}

const FAULTS: &[FaultCase] = &[
    fault("nothing happens", 10, group::quiet),
    fault("all five cold-started at once", 10, group::cold_start),
    fault("the leader is killed (SIGKILL)", 10, leader::killed),
    fault("the leader is asked to stop (SIGTERM)", 10, leader::asked),
    fault("the leader is stopped and continued", 10, leader::paused),
    fault("a follower's lifeline is cut", 10, leader::lifeline_cut),
    fault("10 % loss", 20, |it| network::loses(it, 10)),
    fault("30 % loss", 20, |it| network::loses(it, 30)),
    fault("50 % loss", 30, |it| network::loses(it, 50)),
    fault("partition 2|3 and heal", 15, network::partition),
    fault("both sides of a cut came up apart", 20, network::came_up_apart),
    fault("a follower does not hear the leader", 15, network::one_way),
    fault("a deaf member", 15, network::deaf),
    fault("no multicast arrives", 20, |it| network::without_multicasts(it.testbed)),
    fault("a group over IPv6", 30, network::ipv6),
    fault("restart storm", 25, group::restart_storm),
    fault("a second group on the same port", 15, group::second_group),
    fault("a namesake of the leader", 15, group::duplicate_name),
    fault("a member with another key", 15, group::wrong_key),
    fault("a barrage of wrong packets", 180, packets::wrong_packets),
    fault("packets of an earlier life, replayed", 15, packets::earlier_incarnation),
    fault("answers to an earlier voter init, replayed", 40, voter_init::recorded_answers),
    fault("a dead leader, replayed at restarted members", 20, packets::dead_leader),
    fault("port in use", 5, startup::port_in_use),
    fault("unresolvable seed", 10, startup::unresolvable_seed),
    fault("missing configuration", 5, startup::missing_config),
    fault("broken configuration", 5, startup::broken_config),
    fault("2,000 idle connections without a key", 60, idle_connections::held_open),
    fault("the quick start, on three hosts", 20, quick_start::walk),
    fault("ten rounds of faults under tenure", 60, |it| tenure::ten_rounds(it.testbed.hosts)),
];

#[derive(Args)]
pub(crate) struct Options {
    /// Try only the faults whose name contains this text
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    fault: String,
    /// Number of wrong packets that are sent to an agent
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    packets: u64,
}

/// Tries the requested faults, and prints the result of each.
pub(crate) fn run(options: &Options) -> Result<()> {
    let program = program(Build::Dev)?;
    tenure::writer()?; // before the time of a fault is taken
    let hosts = Hosts::make(MEMBERS + 1)?;
    let testbed = Testbed::new(&hosts, &program);
    let context = FaultContext { testbed, packets: options.packets };
    let mut failed = Vec::new();
    for fault in FAULTS.iter().filter(|it| it.name.contains(&options.fault)) {
        let began = Instant::now();
        let outcome =
            (fault.prove)(&context).and_then(|remark| fault.in_time(began.elapsed(), remark));
        hosts.heal()?;
        let took = began.elapsed().as_secs_f64();
        match outcome {
            Ok(remark) => println!("{:<40} {took:>6.1} s  borne{remark}", fault.name),
            Err(error) => {
                println!("{:<40} {took:>6.1} s  NOT BORNE: {error}", fault.name);
                failed.push(fault.name);
            }
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("not borne: {}", failed.join("; ")).into()),
    }
}

impl FaultCase {
    fn in_time(&self, took: Duration, remark: String) -> Result<String> {
        match took <= self.within {
            true if remark.is_empty() => Ok(remark),
            true => Ok(format!(": {remark}")),
            false => Err(format!("took longer than {:?}", self.within).into()),
        }
    }
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
    fn fault_names_are_distinct() {
        let names: BTreeSet<&str> = FAULTS.iter().map(|fault| fault.name).collect();
        assert_eq!(names.len(), FAULTS.len());
    }

    #[test]
    fn unmet_requirement_fails_with_its_complaint() {
        assert!(require(true, || unreachable!()).is_ok());
        let error = require(false, || "too bad".to_owned()).expect_err("it does not hold");
        assert_eq!(error.to_string(), "too bad");
    }
}
