//! Several processes with one guard. Each test starts itself again in these processes.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use hustings_fence::{Fence, FenceGuard, GuardError, WriteError};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::path_for;
use crate::support::{PATH, path_here};

const SEED: &str = "HUSTINGS_TEST_SEED";

fn start(test: &str, path: &Path, seed: u64) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", &format!("processes::{test}"), "--nocapture"])
        .env(PATH, path)
        .env(SEED, seed.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn chance() -> Xoshiro256PlusPlus {
    let seed = env::var(SEED).unwrap().parse().unwrap();
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

#[test]
fn processes_write_in_turns_with_rising_fences() {
    let test = "processes_write_in_turns_with_rising_fences";
    let Some(path) = path_here() else {
        let path = path_for("many-processes");
        let children: Vec<Child> = (0..4).map(|seed| start(test, &path, seed)).collect();
        for child in children {
            assert!(child.wait_with_output().unwrap().status.success());
        }
        let log = fs::read_to_string(path.with_file_name("log")).unwrap();
        return assert_in_turns(&log);
    };

    let guard = FenceGuard::open(&path).unwrap();
    let mut chance = chance();
    let mut options = OpenOptions::new();
    let log = path.with_file_name("log");
    let mut log = options.append(true).create(true).open(log).unwrap();
    for _ in 0..200 {
        let near = guard.highest().unwrap().0 + u64::from(chance.next_u32() % 6);
        let fence = Fence(near.saturating_sub(3));
        // Two writes, so that overlapping turns would show.
        let written = guard.write(fence, || {
            writeln!(log, "begin {fence}")?;
            writeln!(log, "end {fence}")
        });
        match written {
            Ok(()) | Err(WriteError::Guard(GuardError::Refused { .. })) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

/// Asserts that every turn is complete, and no fence is below the one before.
fn assert_in_turns(log: &str) {
    let lines: Vec<&str> = log.lines().collect();
    let mut last = 0;
    for (turn, pair) in lines.chunks(2).enumerate() {
        let fence: u64 = pair[0].strip_prefix("begin ").unwrap().parse().unwrap();
        assert_eq!(pair, [format!("begin {fence}"), format!("end {fence}")]);
        assert!(fence >= last, "turn {turn}: {fence} after {last}");
        last = fence;
    }
    let turns = lines.len() / 2;
    assert!(turns > 200, "only {turns} of 800 turns were admitted");
    assert!(turns < 800, "no fence was refused");
}

#[test]
fn killed_process_leaves_a_guard_that_never_regresses() {
    let test = "killed_process_leaves_a_guard_that_never_regresses";
    let Some(path) = path_here() else {
        return kill_again_and_again(test, &path_for("killed"));
    };
    let guard = FenceGuard::open(&path).unwrap();
    let first = guard.highest().unwrap().0 + 1;
    for fence in first.. {
        let tell = || writeln!(io::stdout(), "\nlet in {fence}");
        guard.write(Fence(fence), tell).unwrap();
    }
}

fn kill_again_and_again(test: &str, path: &Path) {
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut highest = 0;
    for round in 0..60 {
        let mut child = start(test, path, 0);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut told = || {
            let line = lines.find(|line| line.as_ref().is_ok_and(|it| it.starts_with("let in ")));
            let number = line?.unwrap().strip_prefix("let in ")?.parse::<u64>();
            Some(number.unwrap())
        };
        for _ in 0..chance.next_u32() % 20 {
            highest = told().unwrap();
        }
        // At any point after the last line that it has written.
        child.kill().unwrap();
        child.wait().unwrap();
        while let Some(fence) = told() {
            highest = fence;
        }

        let found = FenceGuard::open(path).unwrap().highest().unwrap().0;
        let kept = highest..=highest + 1;
        assert!(kept.contains(&found), "round {round}: {found}, not {kept:?}");
        highest = found;
    }
    assert!(highest > 60, "too few fences admitted: {highest}");
}

#[test]
fn turn_ends_with_its_process() {
    let test = "turn_ends_with_its_process";
    let Some(path) = path_here() else {
        let path = path_for("turn-ends");
        let mut child = start(test, &path, 0);
        let told = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(told.map_while(Result::ok).any(|line| line == "in its turn"));
        child.kill().unwrap();
        child.wait().unwrap();
        let guard = FenceGuard::open(&path).unwrap();
        assert_eq!(guard.admit(Fence(2)).unwrap().fence(), Fence(2));
        return;
    };
    let guard = FenceGuard::open(&path).unwrap();
    let stay = || {
        writeln!(io::stdout(), "\nin its turn")?;
        io::stdin().read_to_end(&mut Vec::new())
    };
    guard.write(Fence(1), stay).unwrap();
}

#[test]
fn processes_that_create_a_guard_at_once_agree_on_one_file() {
    let test = "processes_that_create_a_guard_at_once_agree_on_one_file";
    let Some(path) = path_here() else {
        for round in 0..5 {
            let path = path_for("first-at-once");
            let children: Vec<Child> = (1..=6).map(|fence| start(test, &path, fence)).collect();
            for child in children {
                assert!(child.wait_with_output().unwrap().status.success());
            }
            let guard = FenceGuard::open(&path).unwrap();
            assert_eq!(guard.highest().unwrap(), Fence(6), "round {round}");
            let names = fs::read_dir(path.parent().unwrap()).unwrap().count();
            assert_eq!(names, 1, "nothing is left behind");
        }
        return;
    };
    let fence = env::var(SEED).unwrap().parse().unwrap();
    match FenceGuard::open(&path).unwrap().check(Fence(fence)) {
        Ok(()) | Err(GuardError::Refused { .. }) => {}
        Err(other) => panic!("{other}"),
    }
}
