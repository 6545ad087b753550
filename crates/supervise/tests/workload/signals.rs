//! Signals to the agent are forwarded to the command.

use std::process::Command;

use rustix::process::{Signal, kill_process};

use crate::agent::{Agent, LONG, program};
use crate::processes::{SHORT, TREE, assert_gone, parent};

/// Prints the signals that it receives, and that its child receives none.
const LISTENER: &str = r#"
    for name in HUP QUIT USR1 USR2; do trap "echo $name" $name; done
    sleep 1000 & child=$!
    echo up
    while kill -0 $child; do wait $child; done
    echo alone
"#;

#[test]
fn signals_are_forwarded_only_to_the_command() {
    let agent = Agent::leading("exit", LONG, LISTENER);
    assert_eq!(agent.line(), "up");
    for (signal, name) in [
        (Signal::HUP, "HUP"),
        (Signal::QUIT, "QUIT"),
        (Signal::USR1, "USR1"),
        (Signal::USR2, "USR2"),
        (Signal::HUP, "HUP"),
    ] {
        agent.send(signal);
        assert_eq!(agent.line(), name);
    }
}

/// The reaction to a command that ends by itself does not matter here.
#[test]
fn terminating_signal_ends_the_agent_with_the_commands_exit_code() {
    let handled = "sleep 1000 & trap 'exit 7' TERM INT; echo up; while :; do wait; done";
    let unhandled = "echo up; exec sleep 1000";
    let deaf = "trap '' TERM INT; echo up; sleep 1000";
    for at_end in ["exit", "resign", "restart"] {
        for (script, signal, grace, code) in [
            (handled, Signal::TERM, LONG, 7),
            (handled, Signal::INT, LONG, 7),
            (unhandled, Signal::TERM, LONG, 143),
            (unhandled, Signal::INT, LONG, 130),
            (deaf, Signal::TERM, SHORT, 137),
        ] {
            let agent = Agent::leading(at_end, grace, script);
            assert_eq!(agent.line(), "up");
            agent.send(signal);
            assert_eq!(agent.code(), Some(code), "{at_end} {signal:?} {script}");
        }
    }
}

#[test]
fn no_process_survives_an_agent_told_to_end() {
    let agent = Agent::leading("exit", SHORT, &format!("trap '' TERM; {TREE}"));
    let pids = agent.pids::<3>();
    agent.send(Signal::TERM);
    assert_eq!(agent.code(), Some(137));
    assert_gone(&pids);
}

#[test]
fn follower_told_to_end_does_so() {
    for signal in [Signal::TERM, Signal::INT, Signal::QUIT] {
        let agent = Agent::script("exit", LONG, "echo up");
        agent.send(signal);
        assert_eq!(agent.code(), Some(0), "{signal:?}");
    }
}

#[test]
fn follower_ignores_signals_for_a_command() {
    let agent = Agent::script("exit", LONG, "echo up");
    for signal in [Signal::HUP, Signal::USR1, Signal::USR2, Signal::TERM] {
        agent.send(signal);
    }
    assert_eq!(agent.code(), Some(0));
}

/// A service manager that stops a service signals all its processes at once.
#[test]
fn signals_do_not_end_the_watchers() {
    let agent = Agent::leading("exit", LONG, "echo $$; exec sleep 1000");
    let [command] = agent.pids();
    let guardian = parent(command);
    let warden = parent(guardian);
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::USR1] {
        kill_process(guardian, signal).expect("the guardian lives");
        kill_process(warden, signal).expect("the warden lives");
    }
    // If a watcher had ended, the command would have been killed, with code 137.
    agent.send(Signal::USR2);
    assert_eq!(agent.code(), Some(140));
}

/// Started as by nohup.
#[test]
fn signal_ignored_at_the_start_of_the_agent_stays_ignored() {
    let mut line = Command::new("sh");
    line.args(["-c", r#"trap '' HUP; exec "$0" "$@""#]).arg(program());
    let command = ["sh", "-c", "echo $$; exec sleep 1000"];
    let mut agent = Agent::start_by(line, "exit", LONG, &command);
    agent.tell("lead");
    let [pid] = agent.pids();
    agent.send(Signal::HUP);
    kill_process(pid, Signal::HUP).expect("the command lives");
    agent.send(Signal::TERM);
    assert_eq!(agent.code(), Some(143), "TERM has ended it, not HUP");
}
