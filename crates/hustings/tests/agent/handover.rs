//! A command is handed from one member to the next: what one of them runs has ended before the other begins.

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::{self, Program, hustings};

/// Notes when it begins and when it has ended, which takes it a while.
const SLOW: &str = "echo $HUSTINGS_LEADER begins >> $NOTES
    trap 'sleep 0.3; echo $HUSTINGS_LEADER ends >> $NOTES; exit 0' TERM
    echo up; while :; do sleep 0.01; done";

/// Does not end when asked, and notes that it still lives.
const DEAF: &str = "trap '' TERM; echo $HUSTINGS_LEADER begins >> $NOTES; echo up
    while sleep 0.01; do echo $HUSTINGS_LEADER lives >> $NOTES; done";

/// A file that nobody has written to.
fn notes(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, "").expect("files can be written");
    path
}

/// What was written, in its order; what was said again and again counts once.
fn read(notes: &Path) -> Vec<String> {
    let text = fs::read_to_string(notes).expect("it is there");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.dedup();
    lines
}

/// A member that runs `script` while it leads, and where it can be asked.
fn run(group: &str, name: &str, options: &str, notes: &Path, script: &str) -> (Program, String) {
    let mut program = Program::start_by(
        process::command(&format!(
            "run --group {group} --name {name} --bind 127.0.0.1:0 --http 127.0.0.1:0 {options} -- sh -c"
        ))
        .arg(script)
        .env("NOTES", notes),
    );
    let up = program.until_said_containing(", HTTP at ");
    let (_, http) = up.split_once(", HTTP at ").expect("it contains it");
    (program, http.to_owned())
}

fn step_down(http: &str, group: &str, span: &str) {
    hustings(&format!(
        "step-down --http {http} --group {group} --for {span}"
    ))
    .text();
}

#[test]
fn a_command_ends_before_its_member_steps_down() {
    let (group, notes) = (process::group("handover"), notes("handover"));
    let (mut first, first_http) = run(
        &group,
        "first",
        "--priority 1 --at-end restart",
        &notes,
        SLOW,
    );
    first.until_printed("up");
    let (mut second, second_http) = run(&group, "second", "", &notes, SLOW);
    second.until_said_containing("first leads, at");

    step_down(&first_http, &group, "1s");
    second.until_printed("up");
    first.until_said_containing("second leads, at");
    step_down(&second_http, &group, "1h");
    first.until_printed("up");
    assert_eq!(
        read(&notes),
        [
            "first begins",
            "first ends",
            "second begins",
            "second ends",
            "first begins"
        ]
    );
    assert_eq!(first.stop(), Some(0), "the command's own end");
    assert_eq!(second.stop(), Some(0), "it runs none");
}

#[test]
fn a_command_that_does_not_end_is_killed_before_its_member_steps_down() {
    let (group, notes) = (process::group("deaf"), notes("deaf"));
    let (mut first, http) = run(&group, "first", "--priority 1 --grace 300ms", &notes, DEAF);
    first.until_printed("up");
    let (mut second, _) = run(&group, "second", "", &notes, SLOW);
    second.until_said_containing("first leads, at");
    step_down(&http, &group, "1h");
    second.until_printed("up");
    assert_eq!(
        read(&notes),
        ["first begins", "first lives", "second begins"]
    );
    assert_eq!(first.stop(), Some(0), "it runs none");
}

#[test]
fn a_member_that_steps_down_before_it_has_settled_starts_nothing() {
    let (group, notes) = (process::group("unsettled"), notes("unsettled"));
    let (mut member, http) = run(&group, "first", "--settle 1h", &notes, SLOW);
    member.until_said_containing("first leads (this member)");
    step_down(&http, &group, "1h");
    assert_eq!(member.stop(), Some(0), "no command, no code of its own");
    assert_eq!(read(&notes), [""; 0]);
}
