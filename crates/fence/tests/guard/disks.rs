//! Disks that keep nothing more let nobody in.

use std::fs;
use std::io;

use hustings_fence::{Fence, FenceGuard, GuardError, WriteError};

use crate::path_for;
use crate::support::{path_here, run_on_a_small_disk, run_where_files_are_short};

#[test]
fn a_higher_fence_that_cannot_be_kept_is_not_let_in() {
    let Some(path) = path_here() else {
        let path = path_for("not-kept");
        FenceGuard::open(&path).unwrap();
        let test = "disks::a_higher_fence_that_cannot_be_kept_is_not_let_in";
        run_where_files_are_short(test, &path);
        let guard = FenceGuard::open(&path).unwrap();
        assert_eq!(guard.highest().unwrap(), Fence(0));
        return;
    };
    let guard = FenceGuard::open(&path).unwrap();
    for fence in [1, 2] {
        let written = guard.write(Fence(fence), || -> Result<(), ()> {
            panic!("let in without a trace")
        });
        let Err(WriteError::Guard(GuardError::Store(error))) = written else {
            panic!("{written:?}");
        };
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }
    guard.check(Fence(0)).unwrap();
}

/// Who wrote it may have died before it was synced.
#[test]
fn what_somebody_else_wrote_is_put_on_the_disk_before_it_is_relied_on() {
    let Some(path) = path_here() else {
        let path = path_for("relied-on");
        FenceGuard::open(&path).unwrap();
        let other = FenceGuard::open(path.with_file_name("other")).unwrap();
        other.check(Fence(5)).unwrap(); // in the second page
        let test = "disks::what_somebody_else_wrote_is_put_on_the_disk_before_it_is_relied_on";
        return run_where_files_are_short(test, &path);
    };
    let guard = FenceGuard::open(&path).unwrap();
    fs::rename(path.with_file_name("other"), &path).unwrap();
    assert!(matches!(
        guard.check(Fence(4)),
        Err(GuardError::Refused { .. })
    ));
    assert!(matches!(guard.check(Fence(5)), Err(GuardError::File(_))));
}

#[test]
fn no_guard_opens_where_there_is_no_room_for_one() {
    let Some(path) = path_here() else {
        let test = "disks::no_guard_opens_where_there_is_no_room_for_one";
        return run_on_a_small_disk(test, &path_for("no-room"));
    };
    fs::write(path.with_file_name("other"), [1; 8192]).unwrap();
    assert!(matches!(FenceGuard::open(&path), Err(GuardError::File(_))));
    assert!(!path.exists());
}
