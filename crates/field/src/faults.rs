//! Faults that must do no lasting harm, each tried on real hosts: `cargo xtask test --only field`.

mod group;
mod idle_connections;
mod network;
mod packets;
mod quick_start;
mod startup;

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use clap::Args;
use hustings_testkit::{DEADLINE, Process, this_program};
use rustix::process::Signal;

use super::hosts::Hosts;
use super::tenure;
use super::testbed::{MEMBERS, Testbed, dev};
use crate::Result;

/// The host of a process that is not a member. There is one more host than members.
const STRANGER: usize = MEMBERS;

/// The announcements are frequent, which keeps the tests short. The listen interval suits a busy
/// machine.
const OPTIONS: &[&str] = &["--announce", "50ms", "--listen", "300ms"];

/// The time within which the next leader must be known, and a group without faults must agree, on a
/// busy machine too.
const NEXT_WITHIN: Duration = Duration::from_secs(2);

/// The name of a fault, the time limit of its check in seconds, and the check.
type FaultCase = (&'static str, u64, Proof);

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

const FAULTS: &[FaultCase] = &[
    ("nothing happens", 10, group::quiet),
    ("all five cold-started at once", 10, group::cold_start),
    ("the leader is killed (SIGKILL)", 10, |it| group::ended(it, Signal::KILL)),
    ("the leader is asked to stop (SIGTERM)", 10, |it| group::ended(it, Signal::TERM)),
    ("the leader is stopped and continued", 10, group::paused),
    ("a follower's lifeline is cut", 10, group::lifeline_cut),
    ("10 % loss", 20, |it| network::loses(it, 10)),
    ("30 % loss", 20, |it| network::loses(it, 30)),
    ("50 % loss", 30, |it| network::loses(it, 50)),
    ("partition 2|3 and heal", 15, network::partition),
    ("both sides of a cut came up apart", 20, network::came_up_apart),
    ("a follower does not hear the leader", 15, network::one_way),
    ("a deaf member", 15, network::deaf),
    ("no multicast arrives", 20, |it| network::without_multicasts(it.testbed)),
    ("a group over IPv6", 30, network::ipv6),
    ("restart storm", 25, group::restart_storm),
    ("a second group on the same port", 15, group::second_group),
    ("a namesake of the leader", 15, group::duplicate_name),
    ("a member with another key", 15, group::wrong_key),
    ("a barrage of wrong packets", 180, packets::wrong_packets),
    ("packets of an earlier life, replayed", 15, packets::earlier_incarnation),
    ("answers to an earlier voter init, replayed", 40, packets::recorded_answers),
    ("a dead leader, replayed at restarted members", 20, packets::dead_leader),
    ("port in use", 5, startup::port_in_use),
    ("unresolvable seed", 10, startup::unresolvable_seed),
    ("missing configuration", 5, startup::missing_config),
    ("broken configuration", 5, startup::broken_config),
    ("2,000 idle connections without a key", 60, idle_connections::held_open),
    ("the quick start, on three hosts", 20, quick_start::walk),
    ("ten rounds of faults under tenure", 60, |it| tenure::ten_rounds(it.testbed.hosts)),
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
    let program = dev("hustings")?;
    let hosts = Hosts::make(MEMBERS + 1)?;
    let testbed = Testbed::new(&hosts, &program);
    let context = FaultContext { testbed, packets: options.packets };
    let mut failed = Vec::new();
    for &(name, seconds, prove) in FAULTS.iter().filter(|it| it.0.contains(&options.fault)) {
        let began = Instant::now();
        let outcome = prove(&context).and_then(|remark| {
            let within = Duration::from_secs(seconds);
            ensure!(began.elapsed() <= within, "took longer than {within:?}");
            Ok(remark)
        });
        hosts.heal()?;
        let result = match outcome {
            Ok(remark) if remark.is_empty() => "borne".to_owned(),
            Ok(remark) => format!("borne: {remark}"),
            Err(error) => {
                failed.push(name);
                format!("NOT BORNE: {error}")
            }
        };
        println!("{name:<40} {:>6.1} s  {result}", began.elapsed().as_secs_f64());
    }
    ensure!(failed.is_empty(), "not borne: {}", failed.join("; "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::FAULTS;
    use std::collections::BTreeSet;

    #[test]
    fn fault_names_are_distinct() {
        let names: BTreeSet<&str> = FAULTS.iter().map(|fault| fault.0).collect();
        assert_eq!(names.len(), FAULTS.len());
    }
}
