//! The command starts only when leadership has lasted.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::agent::{Agent, LONG};
use crate::processes::SHORT;

const SCRIPT: &str = "echo up; exec sleep 1000";

#[test]
fn short_leadership_starts_nothing() {
    let mut agent = Agent::settling("exit", SHORT * 10, SCRIPT);
    agent.is_silent(SHORT);
    agent.tell("follow");
    agent.is_silent(SHORT * 15);
    agent.tell("lead");
    assert_eq!(agent.line(), "up");
}

#[test]
fn lasting_leadership_starts_the_command_once() {
    let begun = Instant::now();
    let agent = Agent::settling("exit", SHORT * 3, SCRIPT);
    assert_eq!(agent.line(), "up");
    assert!(begun.elapsed() >= SHORT * 3);
    agent.is_silent(SHORT * 6);
}

/// The sum of both does not count.
#[test]
fn each_tenure_has_to_last() {
    let mut agent = Agent::settling("exit", SHORT * 6, SCRIPT);
    agent.is_silent(SHORT * 3);
    agent.tell("follow");
    let begun = Instant::now();
    agent.tell("lead");
    assert_eq!(agent.line(), "up");
    assert!(begun.elapsed() >= SHORT * 6);
}

/// The pauses between restarts are far shorter.
#[test]
fn restart_in_a_settled_tenure_does_not_wait_again() {
    let settle = Duration::from_secs(3);
    let agent = Agent::settling("restart", settle, "echo up; exit 1");
    assert_eq!(agent.line(), "up");
    let first = Instant::now();
    assert_eq!(agent.line(), "up");
    assert!(first.elapsed() < settle);
}

#[test]
fn agent_told_to_end_while_settling_ends_at_once() {
    let agent = Agent::settling("exit", LONG, SCRIPT);
    agent.is_silent(SHORT);
    agent.send(Signal::TERM);
    assert_eq!(agent.code(), Some(0));
}

#[test]
fn agent_without_a_source_of_leadership_ends_at_once() {
    let mut agent = Agent::settling("exit", LONG, SCRIPT);
    agent.is_silent(SHORT);
    agent.tell_no_more();
    assert_eq!(agent.code(), Some(125));
}
