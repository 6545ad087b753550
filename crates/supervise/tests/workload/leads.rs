//! The command runs while the member leads.

use std::io::Write;
use std::process::Command;

use crate::agent::{Agent, LONG, line, program, scratch};
use crate::processes::{SHORT, TREE, assert_gone, eventually, is_running, state};

const ENVIRONMENT: &str =
    "echo $HUSTINGS_GROUP $HUSTINGS_LEADER ${HUSTINGS_FENCE-unset}; exec sleep 1000";

#[test]
fn command_gets_group_and_leader_but_no_fence_if_there_is_none() {
    let mut line = line(&program());
    line.env("HUSTINGS_FENCE", "somebody else's");
    let mut agent = Agent::start_by(line, "exit", LONG, &["sh", "-c", ENVIRONMENT]);
    agent.tell("lead");
    assert_eq!(agent.line(), "choir alto unset");
}

/// The command must not learn the group's key.
#[test]
fn command_gets_none_of_our_other_variables() {
    let mut line = line(&program());
    for name in ["KEY", "KEY_FILE", "POSTGRES", "GROUP", "KEEPER", "FENCE"] {
        line.env(format!("HUSTINGS_{name}"), "secret");
    }
    line.env("OTHER_HUSTINGS_KEY", "theirs");
    let script = "env | grep HUSTINGS_ | sort; echo end";
    let mut agent = Agent::start_by(line, "exit", LONG, &["sh", "-c", script]);
    agent.tell("lead 41");
    let lines: [String; 5] = std::array::from_fn(|_| agent.line());
    let expected = [
        "HUSTINGS_FENCE=41",
        "HUSTINGS_GROUP=choir",
        "HUSTINGS_LEADER=alto",
        "OTHER_HUSTINGS_KEY=theirs",
        "end",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn new_fence_is_a_new_tenure_and_restarts_the_command() {
    let mut agent = Agent::script("exit", LONG, ENVIRONMENT);
    agent.tell("lead 41");
    assert_eq!(agent.line(), "choir alto 41");
    agent.tell("lead 42");
    assert_eq!(agent.line(), "choir alto 42");
}

#[test]
fn command_has_the_streams_of_the_agent() {
    let mut agent = Agent::leading("exit", LONG, "cat; echo complaint >&2");
    let mut stdin = agent.stdin.take().expect("it is piped");
    writeln!(stdin, "input").expect("somebody reads");
    assert_eq!(agent.line(), "input");
    drop(stdin);
    assert_eq!(agent.end(), (Some(0), "complaint\n".to_owned()));
}

#[test]
fn arguments_reach_the_command_unchanged() {
    let command = ["printf", r"%s\n", "a b", "", "--grace", "$x \"'"];
    let mut agent = Agent::start("exit", LONG, &command);
    agent.tell("lead");
    let lines: [String; 4] = std::array::from_fn(|_| agent.line());
    assert_eq!(lines, ["a b", "", "--grace", "$x \"'"]);
    assert_eq!(agent.code(), Some(0));
}

#[test]
fn command_whose_member_no_longer_leads_is_told_to_end() {
    let script = "sleep 1000 & trap 'echo asked; exit' TERM; echo up; while :; do wait; done";
    let mut agent = Agent::leading("exit", LONG, script);
    for _ in 0..3 {
        assert_eq!(agent.line(), "up");
        agent.tell("follow");
        assert_eq!(agent.line(), "asked");
        agent.tell("lead");
    }
}

#[test]
fn no_process_survives_the_end_of_a_tenure() {
    for deaf in ["", "trap '' TERM;"] {
        let mut agent = Agent::leading("exit", SHORT, &format!("{deaf} {TREE}"));
        let pids = agent.pids::<3>();
        agent.tell("follow");
        assert_gone(&pids);
        assert!(is_running(agent.pid()), "the agent stays as a follower");
        agent.tell("lead");
        agent.pids::<3>();
    }
}

/// The grace is longer than the test.
#[test]
fn processes_outside_the_process_group_are_told_to_end_too() {
    let mut agent = Agent::leading("exit", LONG, TREE);
    let pids = agent.pids::<3>();
    agent.tell("follow");
    assert_gone(&pids);
}

/// A process that is stopped, as by Ctrl-Z, does not handle TERM.
#[test]
fn stopped_command_ends_too() {
    let mut agent = Agent::leading("exit", LONG, "echo $$; kill -STOP $$; sleep 1000");
    let [pid] = agent.pids();
    eventually(|| (state(pid)? == "T").then_some(()));
    agent.tell("follow");
    assert_gone(&[pid]);
}

#[test]
fn new_tenure_waits_for_the_last_process_of_the_previous_one() {
    let gate = scratch("gate");
    let made = Command::new("mkfifo").arg(&gate).status();
    assert!(made.expect("mkfifo starts").success());
    let gate = gate.display();
    let script = format!(
        "sleep 1000 &
         trap 'echo stopping; read line < {gate}; echo stopped; exit' TERM
         echo started
         while :; do wait; done"
    );
    let mut agent = Agent::leading("exit", LONG, &script);
    assert_eq!(agent.line(), "started");
    agent.tell("follow");
    assert_eq!(agent.line(), "stopping");
    for line in ["lead", "follow", "lead"] {
        agent.tell(line);
    }
    std::fs::write(gate.to_string(), "go\n").expect("the command waits at the gate");
    assert_eq!(agent.line(), "stopped");
    assert_eq!(agent.line(), "started");
}

#[test]
fn command_is_stopped_when_the_source_of_leadership_ends() {
    let mut agent = Agent::leading("restart", LONG, TREE);
    let pids = agent.pids::<3>();
    agent.tell_no_more();
    let (code, said) = agent.end();
    assert_eq!(code, Some(125));
    let expected =
        "error: the agent ended without reporting the leader: see its log for the reason\n";
    assert_eq!(said, expected);
    assert_gone(&pids);
}

/// An upgrade removes the executable.
#[test]
fn agent_whose_executable_was_removed_still_runs_its_command() {
    let copy = scratch("copy");
    std::fs::copy(program(), &copy).expect("programs can be copied");
    let mut agent = Agent::start_by(line(&copy), "exit", LONG, &["echo", "up"]);
    std::fs::remove_file(copy).expect("it is there");
    agent.tell("lead");
    assert_eq!(agent.line(), "up");
    assert_eq!(agent.code(), Some(0));
}
