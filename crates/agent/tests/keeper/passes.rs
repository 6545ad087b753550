//! A program with a keeper is like one without.

use std::process::Command;

use rustix::process::Signal;

use crate::kept::{Kept, kill};
use crate::processes::{PATIENCE, assert_gone, eventually, example, lives, parent, pid, state};

#[test]
fn signals_are_passed_to_the_worker() {
    for signal in [
        Signal::TERM,
        Signal::INT,
        Signal::HUP,
        Signal::QUIT,
        Signal::USR1,
        Signal::USR2,
    ] {
        let mut kept = Kept::start("entrust");
        kill(kept.keeper(), signal);
        assert_eq!(kept.code(), Some(128 + signal.as_raw()), "{signal:?}");
        assert_gone(&[kept.worker]);
    }
}

/// As nohup starts it.
#[test]
fn a_signal_that_the_program_was_started_to_ignore_stays_ignored() {
    let mut line = Command::new("sh");
    line.args(["-c", r#"trap '' HUP; exec "$0" "$@""#])
        .arg(example("kept"));
    let mut kept = Kept::start_by(line, "entrust");
    kill(kept.keeper(), Signal::HUP);
    kill(kept.worker, Signal::HUP);
    kill(kept.keeper(), Signal::TERM);
    assert_eq!(kept.code(), Some(143), "TERM has ended it, not HUP");
}

/// As some programs start others. The worker's end has to be seen all the same.
#[test]
fn a_program_that_was_started_to_ignore_the_end_of_children_has_a_keeper_too() {
    let mut line = Command::new("env");
    line.arg("--ignore-signal=CHLD").arg(example("kept"));
    let mut kept = Kept::start_by(line, "entrust");
    kept.tell("exit 7");
    assert_eq!(kept.code(), Some(7));
}

#[test]
fn arguments_streams_and_name_are_the_programs_own() {
    let mut kept = Kept::start("entrust");
    kept.tell("arguments");
    let path = example("kept");
    assert_eq!(
        kept.line(),
        format!("Args {{ inner: [{path:?}, \"entrust\"] }}")
    );
    let name = std::fs::read_to_string(format!("/proc/{}/comm", kept.worker));
    assert_eq!(name.expect("it lives").trim(), "kept");
}

/// Whoever reads the output need not wait for the keeper.
#[test]
fn the_keeper_does_not_hold_the_workers_streams() {
    let kept = Kept::start("entrust");
    // Once it waits it has nothing of the start in its hands any more.
    eventually(|| (state(kept.keeper())? == "S").then_some(()));
    kill(kept.keeper(), Signal::STOP);
    eventually(|| (state(kept.keeper())? == "T").then_some(()));
    kill(kept.worker, Signal::KILL);
    assert!(kept.is_closed(PATIENCE));
    assert!(lives(kept.keeper()));
}

/// It finds in its environment that its parent has a keeper.
#[test]
fn a_program_below_a_worker_has_a_keeper_of_its_own() {
    let mut kept = Kept::start("entrust");
    let program = example("kept");
    kept.tell(&format!(
        "start exec {} entrust < /dev/null",
        program.display()
    ));
    assert_eq!(kept.line(), "up");
    let (worker, keeper) = (pid(&kept.line()), pid(&kept.line()));
    assert_ne!(worker, kept.worker);
    assert_ne!(keeper, kept.keeper());
    kept.tell("exit 0");
    assert_eq!(kept.code(), Some(0));
}

/// Private memory: what is shared with the worker, or with others of the program, costs nothing.
#[test]
fn a_keeper_is_small() {
    let kept = Kept::start("entrust");
    assert_eq!(parent(kept.worker), kept.keeper());
    let rollup = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", kept.keeper()));
    let rollup = rollup.expect("the keeper lives");
    let private = rollup.lines().filter(|line| line.starts_with("Private_"));
    let kibibytes = |line: &str| -> Option<u64> { line.split_whitespace().nth(1)?.parse().ok() };
    let private: u64 = private.filter_map(kibibytes).sum();
    assert!((1..1024).contains(&private), "{private} KiB");
}
