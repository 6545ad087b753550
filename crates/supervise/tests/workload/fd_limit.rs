//! A host or an agent without free descriptors.

use std::fs;
use std::time::Duration;

use hustings_system::clock;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};

use crate::agent::{Agent, LONG, stop};
use crate::processes::{SHORT, TREE, assert_gone, is_running, parent};

const TENURE: Duration = Duration::from_secs(2);

const UP: &str = "echo up; exec sleep 1000";

/// Prevents a process from opening descriptors with this number or a higher one. Returns the former
/// limit.
fn limit(process: Pid, files: u64) -> Rlimit {
    let limit = Rlimit {
        current: Some(files),
        ..getrlimit(Resource::Nofile) // it has inherited the hard limit of this process
    };
    let before = prlimit(Some(process), Resource::Nofile, limit);
    before.expect("it is our child")
}

/// The lowest free descriptor number of a process.
fn next_number(process: Pid) -> u64 {
    let is_open =
        |number: &u64| fs::symlink_metadata(format!("/proc/{process}/fd/{number}")).is_ok();
    (0..).find(|number| !is_open(number)).expect("not all are open")
}

#[test]
fn command_starts_without_free_descriptors() {
    let mut agent = Agent::script("exit", LONG, UP);
    limit(agent.pid(), next_number(agent.pid()));
    agent.tell("lead");
    assert_eq!(agent.line(), "up");
}

#[test]
fn stopped_guardian_is_killed_without_free_descriptors() {
    let script = format!("echo $$; trap '' TERM; {TREE}");
    let mut agent = Agent::holding("exit", LONG, &script);
    let pids = agent.pids::<4>();
    stop(parent(pids[0]));
    limit(agent.pid(), 0);
    let until = agent.hold(7, TENURE);
    assert!(pids.iter().all(|pid| is_running(*pid)));
    assert_gone(&pids);
    let late = clock::now() - until;
    assert_eq!(late.to_string(), "0s", "beyond the end of the tenure");
}

/// Meanwhile another member may lead.
#[test]
fn failed_start_of_a_guardian_is_retried() {
    for at_end in ["exit", "restart"] {
        let mut agent = Agent::script(at_end, LONG, UP);
        let before = limit(agent.pid(), 0);
        agent.tell("lead");
        assert_eq!(agent.answer(), "resign: this member's command could not be started");
        agent.is_silent(SHORT);
        let limited = prlimit(Some(agent.pid()), Resource::Nofile, before);
        limited.expect("it is our child");
        assert_eq!(agent.line(), "up");
    }
}
