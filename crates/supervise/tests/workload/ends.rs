//! Reactions to a command that ends by itself or cannot start.

use std::ffi::OsString;
use std::fs;
use std::pin::Pin;

use hustings_protocol::Instant;
use hustings_protocol::leadership::{Leadership, Mode};
use hustings_supervise::workload::{AtEnd, Error, Workload, supervise};
use rustix::process::Signal;
use tokio::sync::{mpsc, watch};

use crate::agent::{Agent, LONG, scratch};
use crate::processes::{SHORT, assert_gone, eventually};

#[test]
fn agent_ends_with_the_exit_code_of_the_command() {
    for (script, code) in [
        ("exit 0", 0),
        ("exit 3", 3),
        ("exit 127", 127),
        ("kill -KILL $$", 137),
        ("kill -USR1 $$", 138),
    ] {
        let (ended_with, said) = Agent::leading("exit", LONG, script).end();
        assert_eq!(ended_with, Some(code), "{script}");
        assert_eq!(said, "", "{script}");
    }
}

#[test]
fn orphans_of_a_command_end_before_the_agent_does() {
    for deaf in ["", "trap '' TERM;"] {
        let another_session = "echo $(setsid sh -c 'sleep 1000 > /dev/null & echo $!')";
        let script = format!("{deaf} {another_session}; sleep 1000 & echo $!; exit 5");
        let agent = Agent::leading("exit", SHORT, &script);
        let pids = agent.pids::<2>();
        assert_eq!(agent.code(), Some(5));
        assert_gone(&pids);
    }
}

#[test]
fn member_resigns_when_its_command_ends_and_runs_it_again_later() {
    let mut agent = Agent::script("resign", LONG, "echo up; exit 1");
    for _ in 0..3 {
        agent.tell("lead");
        assert_eq!(agent.line(), "up");
        assert_eq!(agent.answer(), "resign: this member's command ended with code 1");
        agent.tell("follow");
    }
    agent.send(Signal::TERM);
    assert_eq!(agent.code(), Some(0));
}

#[test]
fn resignation_names_the_signal_that_killed_the_command() {
    let mut agent = Agent::leading("resign", LONG, "kill -KILL $$");
    assert_eq!(agent.answer(), "resign: this member's command was killed by signal 9");
}

/// The member may be elected again before any task has noticed the gap.
#[test]
fn tenure_that_follows_without_a_gap_is_a_new_one() {
    let mut agent = Agent::leading("resign", LONG, "echo up");
    assert_eq!(agent.line(), "up");
    assert_eq!(agent.answer(), "resign: this member's command ended with code 0");
    agent.tell("lead");
    assert_eq!(agent.line(), "up");
    assert_eq!(agent.answer(), "resign: this member's command ended with code 0");
}

#[test]
fn ended_command_is_restarted_until_the_tenure_ends() {
    let mut agent = Agent::leading("restart", LONG, "echo $HUSTINGS_FENCE; exit 1");
    for _ in 0..3 {
        assert_eq!(agent.line(), "");
    }
    agent.tell("lead 42");
    eventually(|| (agent.line() == "42").then_some(()));
    assert_eq!(agent.line(), "42");
}

/// The check precedes leadership, whatever the reaction to the command's end.
#[test]
fn command_that_cannot_be_run_is_refused_at_once_with_a_remedy() {
    let plain = scratch("plain");
    fs::write(&plain, "no program").expect("files can be written");
    let plain = plain.to_str().expect("paths of tests are text");
    let denied = "Permission denied (os error 13): name a program that you may execute";
    let cases = [
        (
            "no-such-program",
            127,
            "command \"no-such-program\" not found: give its path, or a name in PATH".to_owned(),
        ),
        (plain, 126, format!("cannot run command {plain:?}: {denied}")),
        ("/", 126, format!("cannot run command \"/\": {denied}")),
    ];
    for at_end in [AtEnd::Exit, AtEnd::Resign, AtEnd::Restart] {
        for (command, code, said) in &cases {
            let error = refusal(vec![command.into()], at_end);
            assert_eq!((error.exit_code(), error.to_string()), (*code, said.clone()));
        }
    }
}

/// The program may be missing during an upgrade. A member that was told to continue does.
#[test]
fn command_whose_program_is_missing_counts_as_ended() {
    for at_end in ["exit", "resign", "restart"] {
        let file = scratch(at_end);
        let install = || fs::copy("/bin/echo", &file).expect("programs can be copied");
        install();
        let path = file.to_str().expect("paths of tests are text");
        let mut agent = Agent::start(at_end, LONG, &[path, "up"]);
        fs::remove_file(&file).expect("it is there");
        agent.tell("lead");
        match at_end {
            "exit" => assert_eq!(agent.code(), Some(127)),
            "resign" => {
                assert_eq!(agent.answer(), "resign: this member's command ended with code 127");
                install();
                agent.tell("lead");
                assert_eq!(agent.line(), "up");
            }
            _ => {
                agent.is_silent(SHORT);
                install();
                assert_eq!(agent.line(), "up");
            }
        }
    }
}

#[test]
fn workload_without_a_command_is_refused() {
    let error = refusal(Vec::new(), AtEnd::Exit);
    assert_eq!(error.to_string(), "no command to run: give one after --");
}

/// Returns the error for a command of a member that does not lead.
fn refusal(command: Vec<OsString>, at_end: AtEnd) -> Error {
    let workload = Workload { command, settle: SHORT, grace: SHORT, at_end };
    let nobody = Leadership::unknown("choir", "alto", Mode::Advisory, Instant(0));
    let (_tell, leadership) = watch::channel(nobody);
    let (_ask, step_downs) = mpsc::channel(1);
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    // Boxed as `Send`, because any thread may run it.
    let supervision: Pin<Box<dyn Future<Output = _> + Send>> =
        Box::pin(supervise(workload, leadership, step_downs, None, |_| ()));
    let supervised = runtime.expect("it can be built").block_on(supervision);
    supervised.expect_err("it is refused")
}
