//! A command that runs under a tenure has ended before the tenure ends.

use std::time::Duration;

use hustings_protocol::Instant;
use hustings_system::clock;
use rustix::process::{Pid, Signal, kill_process};

use crate::agent::{Agent, LONG, scratch};
use crate::processes::{SHORT, TREE, assert_gone, eventually, is_running, parent, state};

/// The rest of a tenure whose end a test observes. Commands have started before the tenure is
/// shortened to this, because starting may take longer on a busy host.
const TENURE: Duration = Duration::from_secs(2);
/// The time that an agent may take to send an order to its guardian.
const TO_TELL: Duration = Duration::from_millis(800);

const UP: &str = "echo up $HUSTINGS_FENCE; exec sleep 1000";
/// Prints "asked" on TERM, and ends.
const POLITE: &str = "sleep 1000 & trap 'echo asked; exit' TERM; echo up; while :; do wait; done";

#[track_caller]
fn assert_alive(pids: &[Pid]) {
    assert!(pids.iter().all(|pid| is_running(*pid)));
}

#[track_caller]
fn assert_gone_before(until: Instant, pids: &[Pid]) {
    assert_gone(pids);
    let late = clock::now() - until;
    assert_eq!(late.to_string(), "0s", "beyond the end of the tenure");
}

#[test]
fn no_command_runs_without_a_tenure_with_the_fence_of_leadership() {
    let mut agent = Agent::fenced("exit", SHORT, UP);
    agent.tell("lead 7");
    agent.is_silent(SHORT);
    agent.hold(6, LONG);
    agent.is_silent(SHORT);
    agent.hold(7, Duration::ZERO);
    agent.is_silent(SHORT);
    agent.hold(7, LONG);
    assert_eq!(agent.line(), "up 7");
}

/// The children have left their process group and their session.
#[test]
fn nothing_is_left_when_an_unrenewed_tenure_ends() {
    for deaf in ["", "trap '' TERM;"] {
        let mut agent = Agent::holding("exit", SHORT, &format!("{deaf} {TREE}"));
        let pids = agent.pids::<3>();
        let until = agent.hold(7, TENURE);
        assert_alive(&pids);
        assert_gone_before(until, &pids);
        assert!(is_running(agent.pid()), "the agent goes on, and may be granted more");
    }
}

#[test]
fn nothing_is_left_when_a_tenure_ends_while_the_agent_is_stopped() {
    for deaf in ["", "trap '' TERM;"] {
        let script = format!("{deaf} {TREE}");
        let mut agent = Agent::holding("exit", SHORT, &script);
        let pids = agent.pids::<3>();
        let until = agent.hold(7, TENURE);
        agent.is_silent(TO_TELL);
        agent.send(Signal::STOP);
        eventually(|| (state(agent.pid())? == "T").then_some(()));
        assert_alive(&pids);
        assert_gone_before(until, &pids);
        agent.send(Signal::CONT);
        agent.hold(7, LONG);
        agent.pids::<3>();
    }
}

/// Stops the command's guardian, and its warden if `both`.
fn stop_watchers(command: Pid, both: bool) {
    let guardian = parent(command);
    let watchers = [guardian, parent(guardian)];
    for watcher in &watchers[..1 + usize::from(both)] {
        kill_process(*watcher, Signal::STOP).expect("it lives");
        eventually(|| (state(*watcher)? == "T").then_some(()));
    }
}

#[test]
fn nothing_is_left_when_a_tenure_ends_while_the_guardian_is_stopped() {
    for both in [false, true] {
        let script = format!("echo $$; trap '' TERM; {TREE}");
        let mut agent = Agent::holding("exit", LONG, &script);
        let pids = agent.pids::<4>();
        stop_watchers(pids[0], both);
        let until = agent.hold(7, TENURE);
        assert_alive(&pids);
        assert_gone_before(until, &pids);
    }
}

#[test]
fn stopped_guardian_does_not_prevent_stepping_down() {
    for both in [false, true] {
        let script = format!("echo $$; trap '' TERM; {TREE}");
        let mut agent = Agent::holding("exit", SHORT, &script);
        let pids = agent.pids::<4>();
        stop_watchers(pids[0], both);
        agent.tell("follow");
        agent.is_silent(SHORT);
        assert!(pids.iter().all(|pid| is_running(*pid)), "it may be slow");
        assert_gone(&pids);
        agent.tell("lead 7");
        let again = agent.pids::<4>();
        stop_watchers(again[0], both);
        agent.send(Signal::TERM);
        assert_eq!(agent.code(), Some(137), "its command was killed");
        assert_gone(&again);
    }
}

/// The guardian reads nothing, so its socket has no more room.
#[test]
fn guardian_that_does_not_read_renewals_is_killed() {
    let mut agent = Agent::holding("restart", LONG, &format!("echo $$; {TREE}"));
    let pids = agent.pids::<4>();
    stop_watchers(pids[0], false);
    eventually(|| {
        agent.hold(7, LONG);
        (!is_running(pids[0])).then_some(())
    });
    agent.pids::<4>();
    assert!(!pids.iter().any(|pid| is_running(*pid)));
}

#[test]
fn stopped_guardian_does_not_keep_a_dropped_command_alive() {
    let mut agent = Agent::holding("exit", LONG, &format!("echo $$; {TREE}"));
    let pids = agent.pids::<4>();
    stop_watchers(pids[0], true);
    agent.drop_supervision();
    assert_eq!(agent.answer(), "free");
    assert!(!pids.iter().any(|pid| is_running(*pid)));
}

#[test]
fn command_runs_while_tenure_is_renewed_and_ends_after_the_last() {
    let mut agent = Agent::holding("exit", SHORT, &format!("trap '' TERM; {TREE}"));
    let pids = agent.pids::<3>();
    let first = agent.hold(7, TENURE);
    let mut until = first;
    while clock::now() < first {
        until = agent.hold(7, TENURE);
        agent.is_silent(TENURE / 8);
    }
    assert_alive(&pids);
    assert_gone_before(until, &pids);
}

/// The agent must not end with the command, whatever its reaction to the command's end.
#[test]
fn command_stopped_by_the_clock_is_restarted_if_tenure_continues() {
    let gate = scratch("renewed");
    let made = std::process::Command::new("mkfifo").arg(&gate).status();
    assert!(made.expect("mkfifo starts").success());
    let gate = gate.display();
    let script = format!(
        "sleep 1000 &
         trap 'echo stopping; read line < {gate}; echo stopped; exit' TERM
         echo started
         while :; do wait; done"
    );
    for at_end in ["exit", "resign"] {
        let mut agent = Agent::holding(at_end, LONG, &script);
        assert_eq!(agent.line(), "started");
        let until = agent.hold(7, TENURE);
        assert_eq!(agent.line(), "stopping");
        agent.hold(7, LONG);
        // The renewal lets the command use its grace beyond the old end.
        while clock::now() < until {
            agent.is_silent(SHORT);
        }
        std::fs::write(gate.to_string(), "go\n").expect("the command waits at the gate");
        assert_eq!(agent.line(), "stopped");
        assert_eq!(agent.line(), "started");
    }
}

#[test]
fn command_is_not_restarted_near_the_end_of_a_tenure() {
    let mut agent = Agent::holding("restart", LONG, POLITE);
    assert_eq!(agent.line(), "up");
    let until = agent.hold(7, TENURE);
    assert_eq!(agent.line(), "asked");
    while clock::now() < until {
        agent.is_silent(SHORT);
    }
    agent.hold(7, LONG);
    assert_eq!(agent.line(), "up");
}

/// Another member may hold tenure by then. So the command is killed even within its grace, and
/// though its tenure would last for long.
#[test]
fn command_whose_tenure_is_lost_is_killed_at_once() {
    for before in ["", "follow"] {
        let mut agent = Agent::holding("exit", LONG, &format!("trap '' TERM; {TREE}"));
        let pids = agent.pids::<3>();
        if !before.is_empty() {
            agent.tell(before);
            agent.is_silent(TO_TELL);
        }
        assert_alive(&pids);
        let soon = clock::now() + hustings_protocol::Duration::from_secs(5);
        agent.tell("lose");
        assert_gone_before(soon, &pids);
    }
}

/// The grace is longer than the test.
#[test]
fn command_does_not_outlast_its_tenure_after_leadership_is_lost() {
    let mut agent = Agent::holding("exit", LONG, &format!("trap '' TERM; {TREE}"));
    let pids = agent.pids::<3>();
    let until = agent.hold(7, TENURE);
    agent.is_silent(TO_TELL);
    assert_alive(&pids);
    agent.tell("follow");
    assert_gone_before(until, &pids);
}

#[test]
fn new_tenure_starts_a_new_command() {
    let mut agent = Agent::fenced("exit", LONG, UP);
    for fence in [7, 8, 9] {
        agent.hold(fence, LONG);
        agent.tell(&format!("lead {fence}"));
        assert_eq!(agent.line(), format!("up {fence}"));
    }
}

/// The guardian is stopped for a while, so that it cannot kill the command at once.
#[test]
fn tenure_is_kept_until_the_command_of_a_dropped_supervision_ends() {
    let mut agent = Agent::holding("exit", LONG, &format!("echo $$; {TREE}"));
    let pids = agent.pids::<4>();
    let guardian = parent(pids[0]);
    kill_process(guardian, Signal::STOP).expect("it lives");
    eventually(|| (state(guardian)? == "T").then_some(()));
    agent.drop_supervision();
    agent.answers_nothing(SHORT);
    kill_process(guardian, Signal::CONT).expect("it lives");
    assert_eq!(agent.answer(), "free");
    assert!(!pids.iter().any(|pid| is_running(*pid)));
}

/// The descendants of the command still run, and no process can know whether they have ended.
#[test]
fn tenure_is_kept_if_the_end_of_a_dropped_command_was_not_seen() {
    let mut agent = Agent::holding("exit", LONG, &format!("echo $$; {TREE}"));
    let pids = agent.pids::<4>();
    let guardian = parent(pids[0]);
    let warden = parent(guardian);
    for watcher in [warden, guardian] {
        kill_process(watcher, Signal::STOP).expect("it lives");
        eventually(|| (state(watcher)? == "T").then_some(()));
    }
    agent.drop_supervision();
    for watcher in [guardian, warden] {
        kill_process(watcher, Signal::KILL).expect("it lives");
    }
    agent.answers_nothing(SHORT * 5);
    for pid in pids {
        // The command itself died with its guardian.
        let _ = kill_process(pid, Signal::KILL);
    }
}
