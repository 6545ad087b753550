//! The program under test, and members on this host.

use std::process::Command;

pub(crate) use hustings_testkit::{DEADLINE, Outcome, Program, finish};

/// A group name unique to this test and this run.
pub(crate) fn group(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}

/// The program with these arguments and an empty environment.
pub(crate) fn command(arguments: &str) -> Command {
    hustings_testkit::command(env!("CARGO_BIN_EXE_hustings"), arguments)
}

/// Runs the program to its end.
pub(crate) fn hustings(arguments: &str) -> Outcome {
    finish(&mut command(arguments))
}

#[track_caller]
pub(crate) fn start(arguments: &str) -> Program {
    Program::start(&mut command(arguments))
}

/// Starts the program with one more argument, which may contain spaces.
#[track_caller]
pub(crate) fn start_with(arguments: &str, last: &str) -> Program {
    Program::start(command(arguments).arg(last))
}

/// Starts the program without a reader for its output.
#[track_caller]
pub(crate) fn unread(arguments: &str) -> Program {
    Program::closed(&mut command(arguments))
}

/// Starts a member on this host. Alpha has the highest priority.
#[track_caller]
pub(crate) fn agent(group: &str, name: &str, http: &str) -> Program {
    let priority = u8::from(name == "alpha");
    member(&format!(
        "--group {group} --name {name} --priority {priority} --bind 127.0.0.1:0 --http {http}"
    ))
}

/// Starts a member with these options and waits until it is up.
#[track_caller]
pub(crate) fn member(options: &str) -> Program {
    Program::up(&mut command(&format!("agent --events {options}")))
}
