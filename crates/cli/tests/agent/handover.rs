//! A command moves from one member to the next: it has ended on the first before it begins on the
//! second.

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::{self, Program, hustings};

/// Notes its begin and its end; ending takes a while.
const SLOW: &str = "echo $HUSTINGS_LEADER begins >> $NOTES
    trap 'sleep 0.3; echo $HUSTINGS_LEADER ends >> $NOTES; exit 0' TERM
    echo up; while :; do sleep 0.01; done";

/// Ignores TERM, and notes that it still runs.
const DEAF: &str = "trap '' TERM; echo $HUSTINGS_LEADER begins >> $NOTES; echo up
    while sleep 0.01; do echo $HUSTINGS_LEADER lives >> $NOTES; done";

/// A path for notes with no file there yet.
fn notes(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, "").expect("files can be written");
    path
}

/// Returns the notes in order; repeated notes count once.
fn read(notes: &Path) -> Vec<String> {
    let text = fs::read_to_string(notes).expect("it is there");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.dedup();
    lines
}

/// Starts a member that runs `script` while it leads, and returns its HTTP address.
fn run(group: &str, name: &str, options: &str, notes: &Path, script: &str) -> (Program, String) {
    let mut program = Program::start(
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
    hustings(&format!("step-down --http {http} --group {group} --for {span}")).text();
}

#[test]
fn command_ends_before_its_member_steps_down() {
    let (group, notes) = (process::group("handover"), notes("handover"));
    let (mut first, first_http) =
        run(&group, "first", "--priority 1 --at-end restart", &notes, SLOW);
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
        ["first begins", "first ends", "second begins", "second ends", "first begins"]
    );
    assert_eq!(first.stop(), Some(0), "the command's own end");
    assert_eq!(second.stop(), Some(0), "it runs none");
}

#[test]
fn command_that_ignores_term_is_killed_before_its_member_steps_down() {
    let (group, notes) = (process::group("deaf"), notes("deaf"));
    let (mut first, http) = run(&group, "first", "--priority 1 --grace 300ms", &notes, DEAF);
    first.until_printed("up");
    let (mut second, _) = run(&group, "second", "", &notes, SLOW);
    second.until_said_containing("first leads, at");
    step_down(&http, &group, "1h");
    second.until_printed("up");
    assert_eq!(read(&notes), ["first begins", "first lives", "second begins"]);
    assert_eq!(first.stop(), Some(0), "it runs none");
}

#[test]
fn member_that_steps_down_before_it_settles_starts_no_command() {
    let (group, notes) = (process::group("unsettled"), notes("unsettled"));
    let (mut member, http) = run(&group, "first", "--settle 1h", &notes, SLOW);
    member.until_said_containing("first leads (this member)");
    step_down(&http, &group, "1h");
    assert_eq!(member.stop(), Some(0), "no command, no code of its own");
    assert_eq!(read(&notes), [""; 0]);
}
