//! A program with a death witness behaves like one without.

use std::process::Command;

use rustix::process::Signal;

use crate::kept::{Kept, kill};
use crate::processes::{
    PATIENCE, assert_gone, eventually, example, is_running, parent, pid, state,
};

#[test]
fn signals_are_forwarded_to_the_worker() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT, Signal::USR1, Signal::USR2]
    {
        let mut kept = Kept::start("entrust");
        kill(kept.death_witness(), signal);
        assert_eq!(kept.code(), Some(128 + signal.as_raw()), "{signal:?}");
        assert_gone(&[kept.worker]);
    }
}

/// Started as by nohup.
#[test]
fn signal_ignored_at_the_start_of_the_program_stays_ignored() {
    let mut line = Command::new("sh");
    line.args(["-c", r#"trap '' HUP; exec "$0" "$@""#]).arg(example("kept"));
    let mut kept = Kept::start_by(line, "entrust");
    kill(kept.death_witness(), Signal::HUP);
    kill(kept.worker, Signal::HUP);
    kill(kept.death_witness(), Signal::TERM);
    assert_eq!(kept.code(), Some(143), "TERM has ended it, not HUP");
}

/// Some programs start others this way. The end of the worker must be noticed all the same.
#[test]
fn program_started_to_ignore_child_signals_has_a_death_witness() {
    let mut line = Command::new("env");
    line.arg("--ignore-signal=CHLD").arg(example("kept"));
    let mut kept = Kept::start_by(line, "entrust");
    kept.tell("exit 7");
    assert_eq!(kept.code(), Some(7));
}

#[test]
fn arguments_streams_and_name_are_those_of_the_program() {
    let mut kept = Kept::start("entrust");
    kept.tell("arguments");
    let path = example("kept");
    assert_eq!(kept.line(), format!("Args {{ inner: [{path:?}, \"entrust\"] }}"));
    let name = std::fs::read_to_string(format!("/proc/{}/comm", kept.worker));
    assert_eq!(name.expect("it lives").trim(), "kept");
}

/// A reader of the output need not wait for the death witness.
#[test]
fn death_witness_does_not_hold_the_streams_of_the_worker() {
    let kept = Kept::start("entrust");
    // Once the process waits, it has closed the descriptors of the start.
    eventually(|| (state(kept.death_witness())? == "S").then_some(()));
    kill(kept.death_witness(), Signal::STOP);
    eventually(|| (state(kept.death_witness())? == "T").then_some(()));
    kill(kept.worker, Signal::KILL);
    assert!(kept.is_closed(PATIENCE));
    assert!(is_running(kept.death_witness()));
}

/// The environment says that its parent has a death witness.
#[test]
fn program_started_by_a_worker_has_its_own_death_witness() {
    let mut kept = Kept::start("entrust");
    let program = example("kept");
    kept.tell(&format!("start exec {} entrust < /dev/null", program.display()));
    assert_eq!(kept.line(), "up");
    let (worker, death_witness) = (pid(&kept.line()), pid(&kept.line()));
    assert_ne!(worker, kept.worker);
    assert_ne!(death_witness, kept.death_witness());
    kept.tell("exit 0");
    assert_eq!(kept.code(), Some(0));
}

/// Only private memory counts: memory shared with the worker, or with other processes of the
/// program, costs nothing.
#[test]
fn death_witness_uses_little_memory() {
    let kept = Kept::start("entrust");
    assert_eq!(parent(kept.worker), kept.death_witness());
    let rollup = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", kept.death_witness()));
    let rollup = rollup.expect("the keeper lives");
    let private = rollup.lines().filter(|line| line.starts_with("Private_"));
    let kibibytes = |line: &str| -> Option<u64> { line.split_whitespace().nth(1)?.parse().ok() };
    let private: u64 = private.filter_map(kibibytes).sum();
    assert!((1..1024).contains(&private), "{private} KiB");
}
