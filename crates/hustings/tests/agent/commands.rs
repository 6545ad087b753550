//! `hustings demo`, `hustings run` and the example, for real.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::process::{self, Program, finish, hustings};

#[test]
fn the_demo_tells_its_story_and_ends_by_itself() {
    let told = hustings("demo").text();
    let count = |what: &str| told.matches(what).count();
    assert_eq!(count("kill -9 "), 1, "{told}");
    assert_eq!(count("all five name "), 1, "{told}");
    assert_eq!(count("the four others all name "), 1, "{told}");
    assert!(count(" leads with fence ") >= 3, "{told}");
    // The last line tells the fences of the three, in their order.
    let (_, fences) = told.split_once("\nFences ").expect("it sums up");
    let (fences, _) = fences.split_once(':').expect("a list");
    let fences = fences.split(", ").map(|it| it.parse().expect("a number"));
    let fences: Vec<u64> = fences.collect();
    assert!(fences.is_sorted_by(|one, next| one < next), "{told}");
    assert_eq!(fences.len(), 3, "{told}");
    assert!(
        told.contains("a leader that works is not unseated"),
        "{told}"
    );
    assert!(
        !told.contains('\x1b'),
        "no colours where nobody sees them: {told}"
    );
}

fn pid(text: &str) -> Pid {
    text.parse().ok().and_then(Pid::from_raw).expect("a number")
}

/// Its guardian has ended the command meanwhile, and itself: both in time.
#[test]
fn who_was_stopped_past_its_tenure_does_not_say_that_its_guardian_hung() {
    let group = process::group("stopped");
    let run = format!("run --http off --settle 0s {} -- sh -c", alone(&group));
    let mut program = Program::start_with(&run, "echo $PPID; exec sleep 1000");
    for _ in 0..3 {
        let guardian = program.next_line("the guardian");
        program.pause();
        program.is_silent(Duration::from_secs(3)); // its tenure is of two
        assert!(!Path::new("/proc").join(&guardian).exists(), "it has ended");
        program.resume();
    }
    program.next_line("it goes on");
    kill_process(program.pid(), Signal::TERM).expect("it runs");
    let (_, said) = program.ended_saying();
    assert!(said.contains("the command has started"), "{said}");
    assert!(!said.contains("guardian"), "{said}");
}

/// The options of a member that is its only voter, which is initialised.
fn alone(group: &str) -> String {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(group);
    let options = format!(
        "--group {group} --name a --bind 127.0.0.1:0 --voters a --ttl 2s --state {}",
        home.display()
    );
    hustings(&format!("voter init --new --within 1s {options}")).text();
    options
}

/// All who watched over it were killed at one moment.
#[test]
fn a_command_of_which_nobody_saw_the_end_is_not_said_to_have_ended() {
    let group = process::group("unseen");
    let run = format!("run --http off {} -- sh -c", alone(&group));
    let mut program = Program::start_with(&run, "echo $PPID; exec sleep 1000");
    let guardian = program.next_line("the guardian");
    let stat = fs::read_to_string(format!("/proc/{guardian}/stat")).expect("it lives");
    let (_, stat) = stat.rsplit_once(')').expect("its name");
    let warden = pid(stat.split_whitespace().nth(1).expect("its parent"));
    // Or it would see to the rest.
    kill_process(warden, Signal::STOP).expect("it lives");
    for watcher in [pid(&guardian), warden] {
        kill_process(watcher, Signal::KILL).expect("it lives");
    }
    let (code, said) = program.ended_saying();
    assert_eq!(code, Some(125), "{said}");
    assert!(said.contains("nobody has seen the command end"), "{said}");
    assert!(!said.contains("and the command with it"), "{said}");
}

#[test]
fn a_command_runs_for_one_member_only_and_for_another_when_that_one_is_killed() {
    let group = process::group("run");
    let script = "echo lead by $HUSTINGS_LEADER; exec sleep 1000";
    let mut first = Program::start_with(
        &format!("run --group {group} --name first --priority 1 --bind 127.0.0.1:0 -- sh -c"),
        script,
    );
    first.until_printed("lead by first");
    let mut second = Program::start_with(
        &format!("run --group {group} --name second --bind 127.0.0.1:0 -- sh -c"),
        script,
    );
    second.until_said_containing("first leads, at");
    first.kill();
    second.until_printed("lead by second");
    assert_eq!(second.stop(), Some(128 + 15), "the command's own end");
}

#[test]
fn the_commands_exit_code_is_ours() {
    let group = process::group("code");
    let ended = hustings(&format!(
        "run --group {group} --name a --bind 127.0.0.1:0 -- false"
    ));
    assert_eq!(ended.code, Some(1), "{}", ended.said);
    let missing = hustings(&format!(
        "run --group {group} --name a --bind 127.0.0.1:0 -- no-such-command-here"
    ));
    assert_eq!(missing.code, Some(127), "{}", missing.said);
    assert!(
        missing.said.contains("no-such-command-here"),
        "{}",
        missing.said
    );
}

/// Runs an example to its end. Returns what it printed.
fn run_example(name: &str) -> String {
    let programs = Path::new(env!("CARGO_BIN_EXE_hustings")).parent();
    let examples = programs.expect("in a directory").join("examples");
    let example = examples.join(name);
    // Cargo builds it beside the tests, but not if asked for one of them alone.
    assert!(
        example.exists(),
        "there is no {}: build it: cargo build -p hustings --examples",
        example.display()
    );
    finish(&mut Command::new(example)).text()
}

#[test]
fn the_late_write_of_a_paused_writer_is_refused() {
    let said = run_example("paused_writer");
    let fence = |line: &str| line.rsplit(' ').next()?.parse::<u64>().ok();
    let lines: Vec<&str> = said.lines().collect();
    let [red, stopped, blue, wrote, goes_on, refused, written] = lines[..] else {
        panic!("seven lines: {said}");
    };
    assert!(red.starts_with("red holds tenure"), "{said}");
    assert!(stopped.starts_with("red is stopped"), "{said}");
    assert!(blue.starts_with("blue holds tenure"), "{said}");
    assert!(fence(blue) > fence(red), "{said}");
    assert!(wrote.starts_with("blue wrote"), "{said}");
    assert_eq!(goes_on, "red goes on");
    assert!(refused.starts_with("red was refused"), "{said}");
    assert_eq!(written, "written: blue");
}

#[test]
fn the_example_elects_resigns_and_ends() {
    let said = run_example("elect");
    let mut lines = said.lines();
    let leader = lines.next().expect("a leader");
    assert!(
        ["red leads", "green leads", "blue leads"].contains(&leader),
        "{said}"
    );
    assert_eq!(lines.next(), Some("it leads no more"));
    assert_eq!(lines.next(), None);
}

#[test]
fn the_example_is_short() {
    let example = include_str!("../../examples/elect.rs");
    assert!(example.lines().count() < 40);
}
