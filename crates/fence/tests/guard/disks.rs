//! On disks that accept no writes, no fence is admitted.

use std::fs;
use std::io;

use hustings_fence::{Fence, FenceGuard, GuardError, WriteError};

use crate::path_for;
use crate::support::{path_here, run_on_a_small_disk, run_where_files_are_short};

#[test]
fn higher_fence_that_cannot_be_stored_is_refused() {
    let Some(path) = path_here() else {
        let path = path_for("not-kept");
        FenceGuard::open(&path).unwrap();
        let test = "disks::higher_fence_that_cannot_be_stored_is_refused";
        run_where_files_are_short(test, &path);
        let guard = FenceGuard::open(&path).unwrap();
        assert_eq!(guard.highest().unwrap(), Fence(0));
        return;
    };
    let guard = FenceGuard::open(&path).unwrap();
    for fence in [1, 2] {
        let written = guard
            .write(Fence(fence), || -> Result<(), ()> { panic!("admitted without being stored") });
        let Err(WriteError::Guard(GuardError::Store(error))) = written else {
            panic!("{written:?}");
        };
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }
    guard.check(Fence(0)).unwrap();
}

/// Its writer may have died before the sync.
#[test]
fn fence_written_by_another_process_is_synced_before_use() {
    let Some(path) = path_here() else {
        let path = path_for("relied-on");
        FenceGuard::open(&path).unwrap();
        let other = FenceGuard::open(path.with_file_name("other")).unwrap();
        other.check(Fence(5)).unwrap(); // in the second page
        let test = "disks::fence_written_by_another_process_is_synced_before_use";
        return run_where_files_are_short(test, &path);
    };
    let guard = FenceGuard::open(&path).unwrap();
    fs::rename(path.with_file_name("other"), &path).unwrap();
    assert!(matches!(guard.check(Fence(4)), Err(GuardError::Refused { .. })));
    assert!(matches!(guard.check(Fence(5)), Err(GuardError::File(_))));
}

#[test]
fn guard_does_not_open_on_a_full_disk() {
    let Some(path) = path_here() else {
        let test = "disks::guard_does_not_open_on_a_full_disk";
        return run_on_a_small_disk(test, &path_for("no-room"));
    };
    fs::write(path.with_file_name("other"), [1; 8192]).unwrap();
    assert!(matches!(FenceGuard::open(&path), Err(GuardError::File(_))));
    assert!(!path.exists());
}
