//! The rules of admission.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use hustings_fence::slots::{OpenError, SlotFile};
use hustings_fence::{Fence, FenceGuard, GuardError, WriteError};

use crate::path_for;

/// True if a write with this fence was executed.
fn writes(guard: &FenceGuard, fence: u64) -> bool {
    let mut is_done = false;
    let written = guard.write(Fence(fence), || {
        is_done = true;
        Ok::<_, std::fmt::Error>(())
    });
    assert_eq!(written.is_ok(), is_done);
    is_done
}

#[test]
fn equal_and_higher_fences_write_and_lower_ones_never_do() {
    let path = path_for("order");
    let guard = FenceGuard::open(&path).unwrap();
    for (fence, expected) in [
        (0, true),
        (5, true),
        (5, true),
        (4, false),
        (0, false),
        (6, true),
        (5, false),
        (u64::MAX, true),
        (u64::MAX, true),
        (u64::MAX - 1, false),
    ] {
        assert_eq!(writes(&guard, fence), expected, "fence {fence}");
    }
    drop(guard);
    let again = FenceGuard::open(&path).unwrap();
    assert!(!writes(&again, 6), "a reopened guard remembers");
    assert_eq!(again.highest().unwrap(), Fence(u64::MAX));
}

#[test]
fn refusal_names_fence_file_and_remedy() {
    let path = path_for("refusal");
    let guard = FenceGuard::open(&path).unwrap();
    guard.check(Fence(8)).unwrap();
    let error = guard.check(Fence(7)).unwrap_err();
    let expected = format!(
        "fence 7 is below 8, which {} has seen: this tenure is over: stop writing, and stand again",
        path.display()
    );
    assert_eq!(error.to_string(), expected);
    assert!(matches!(error, GuardError::Refused { offered: Fence(7), highest: Fence(8), .. }));
}

#[test]
fn fence_is_stored_before_its_write_even_if_that_fails() {
    let path = path_for("before");
    let guard = FenceGuard::open(&path).unwrap();
    let mut during = Vec::new();
    let failed = guard.write(Fence(3), || {
        during = fs::read(&path).unwrap();
        Err::<(), _>("no room")
    });
    assert!(matches!(failed, Err(WriteError::Write("no room"))));
    assert!(matches!(guard.check(Fence(2)), Err(GuardError::Refused { .. })));

    let copy = path.with_file_name("during");
    fs::write(&copy, during).unwrap();
    assert_eq!(FenceGuard::open(&copy).unwrap().highest().unwrap(), Fence(3));
}

#[test]
fn panicking_write_ends_its_turn() {
    let guard = FenceGuard::open(path_for("panic")).unwrap();
    let panics = || guard.write(Fence(3), || -> Result<(), ()> { panic!("on purpose") });
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    assert!(writes(&guard, 3));
    assert!(!writes(&guard, 2));
}

#[test]
fn equal_fence_writes_nothing_to_the_disk() {
    let path = path_for("equal");
    let guard = FenceGuard::open(&path).unwrap();
    guard.check(Fence(3)).unwrap();
    let changed = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
    let before = (fs::read(&path).unwrap(), changed(&path));
    for _ in 0..100 {
        assert!(writes(&guard, 3));
    }
    assert_eq!((fs::read(&path).unwrap(), changed(&path)), before);
}

#[test]
fn threads_write_in_turns_with_rising_fences() {
    let path = path_for("threads");
    let guard = FenceGuard::open(&path).unwrap();
    let log = path.with_file_name("log");
    fs::write(&log, "0").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8_u64 {
            let (guard, log) = (&guard, &log);
            scope.spawn(move || {
                for step in 0..40_u64 {
                    // Read and replaced: an overlapping turn would lose the other's write.
                    let fence = step / 4 + thread % 3;
                    let _ = guard.write(Fence(fence), || {
                        let text = fs::read_to_string(log)?;
                        fs::write(log, format!("{text} {fence}"))
                    });
                }
            });
        }
    });
    let text = fs::read_to_string(&log).unwrap();
    let fences: Vec<u64> = text.split(' ').map(|it| it.parse().unwrap()).collect();
    assert!(fences.is_sorted(), "{fences:?}");
    // The highest fence is never refused.
    assert_eq!(fences.iter().filter(|it| **it == 11).count(), 2 * 4);
}

#[test]
fn restored_older_file_admits_no_fence() {
    let path = path_for("went-back");
    let guard = FenceGuard::open(&path).unwrap();
    guard.check(Fence(3)).unwrap();
    let backup = fs::read(&path).unwrap();
    guard.check(Fence(4)).unwrap();
    fs::write(&path, backup).unwrap();
    for fence in [3, 4, 5] {
        assert!(matches!(
            guard.check(Fence(fence)),
            Err(GuardError::WentBack { seen: Fence(4), found: Fence(3), .. })
        ));
    }
    fs::remove_file(&path).unwrap();
    assert!(matches!(guard.check(Fence(5)), Err(GuardError::File(OpenError::Missing { .. }))));
}

#[test]
fn waiter_for_a_replaced_file_gets_a_turn_at_the_new_one() {
    let path = path_for("replaced");
    let guard = FenceGuard::open(&path).unwrap();
    let next = path.with_file_name("next");
    FenceGuard::reset_to(&next, Fence(10)).unwrap();
    let turn = guard.admit(Fence(1)).unwrap();
    let inode = fs::metadata(&path).unwrap().ino();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| guard.check(Fence(9)));
        while !is_waited_for(inode) {
            std::thread::yield_now();
        }
        fs::rename(&next, &path).unwrap();
        drop(turn);
        assert!(matches!(
            waiting.join().unwrap(),
            Err(GuardError::Refused { highest: Fence(10), .. })
        ));
    });
}

/// True if a process waits for a lock on this file, according to the kernel: `1: -> FLOCK ...
/// 08:02:INODE 0 EOF`.
fn is_waited_for(inode: u64) -> bool {
    let locks = fs::read_to_string("/proc/locks").unwrap();
    let file = format!(":{inode} ");
    locks.lines().any(|line| line.contains("->") && line.contains(&file))
}

#[test]
fn file_that_is_no_guard_admits_no_fence() {
    let path = path_for("no-guard");
    let home = path.parent().unwrap();
    let opened = |path: &Path| match FenceGuard::open(path) {
        Err(GuardError::File(error)) => error,
        other => panic!("{other:?}"),
    };
    assert!(matches!(opened(home), OpenError::Io { .. }));

    fs::write(&path, "").unwrap();
    assert!(matches!(opened(&path), OpenError::Truncated { found: 0, .. }));
    fs::write(&path, "stock: 12").unwrap();
    assert!(matches!(opened(&path), OpenError::NotOurs { .. }));
    let reset = FenceGuard::reset_to(&path, Fence(1));
    assert!(reset.is_err(), "a file of another kind is not overwritten");
    fs::remove_file(&path).unwrap();

    drop(SlotFile::create(&path, b"voter of group orders", b"").unwrap());
    assert!(matches!(opened(&path), OpenError::Another { .. }));
    fs::remove_file(&path).unwrap();

    drop(SlotFile::create(&path, b"fence guard", b"seven b").unwrap());
    assert!(matches!(opened(&path), OpenError::Damaged { .. }));
    fs::remove_file(&path).unwrap();

    let existing = FenceGuard::open_existing(&path);
    assert!(matches!(existing, Err(GuardError::File(OpenError::Missing { .. }))));
    assert!(!path.exists());
}

#[test]
fn damaged_guard_admits_no_fence_until_reset() {
    let path = path_for("damaged");
    let guard = FenceGuard::open(&path).unwrap();
    guard.check(Fence(3)).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[30] ^= 1;
    fs::write(&path, bytes).unwrap();
    for fence in [2, 3, 4] {
        assert!(matches!(
            guard.check(Fence(fence)),
            Err(GuardError::File(OpenError::Damaged { .. }))
        ));
    }
    assert!(FenceGuard::open(&path).is_err());

    FenceGuard::reset_to(&path, Fence(9)).unwrap();
    assert!(!writes(&guard, 8), "an open guard continues after the reset");
    assert!(writes(&guard, 9));
}
