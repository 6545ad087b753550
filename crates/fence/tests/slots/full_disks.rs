//! Disks that accept no more writes.

use std::fs;
use std::io;
use std::process::Command;

use hustings_fence::slots::{OpenError, SlotFile};

use crate::support::{path_here, run_on_a_small_disk, run_where_files_are_short};
use crate::{TAG, names_beside, path_for, read};

#[test]
fn failed_store_is_retried_in_the_same_slot() {
    let Some(path) = path_here() else {
        let path = path_for("tried-again");
        SlotFile::create(&path, TAG, b"good").unwrap();
        let before = fs::read(&path).unwrap();
        let test = "full_disks::failed_store_is_retried_in_the_same_slot";
        run_where_files_are_short(test, &path);
        assert_eq!(fs::read(&path).unwrap(), before, "the valid slot is unchanged");
        assert_eq!(read(&path).unwrap(), b"good");
        return;
    };
    let (mut file, _) = SlotFile::open(&path, TAG).unwrap();
    for payload in [b"once", b"more"] {
        let error = file.store(payload).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        let place = path.display().to_string();
        assert!(error.to_string().starts_with(&place), "{error}");
    }
}

#[test]
fn file_that_cannot_be_synced_is_not_opened() {
    let Some(path) = path_here() else {
        let path = path_for("not-sure");
        let mut file = SlotFile::create(&path, TAG, b"first").unwrap();
        file.store(b"in the second page").unwrap();
        drop(file);
        let test = "full_disks::file_that_cannot_be_synced_is_not_opened";
        return run_where_files_are_short(test, &path);
    };
    assert!(matches!(read(&path), Err(OpenError::Io { .. })));
}

#[test]
fn full_disk_create_fails_and_leaves_nothing_behind() {
    let Some(path) = path_here() else {
        let test = "full_disks::full_disk_create_fails_and_leaves_nothing_behind";
        return run_on_a_small_disk(test, &path_for("full"));
    };
    fs::write(path.with_file_name("other"), [1; 4096]).unwrap();
    let error = SlotFile::create(&path, TAG, b"").unwrap_err();
    let OpenError::Io { source, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(source.kind(), io::ErrorKind::StorageFull);
    assert_eq!(names_beside(&path), ["other"]);
}

#[test]
fn full_disk_existing_file_can_be_stored_to() {
    let Some(path) = path_here() else {
        let test = "full_disks::full_disk_existing_file_can_be_stored_to";
        return run_on_a_small_disk(test, &path_for("full-after"));
    };
    let mut file = SlotFile::create(&path, TAG, b"").unwrap();
    assert!(fs::write(path.with_file_name("other"), [1]).is_err());
    for payload in [b"one", b"two", b"six"] {
        file.store(payload).unwrap();
    }
    drop(file);
    assert_eq!(read(&path).unwrap(), b"six");
}

#[test]
fn read_only_disk_opens_no_file() {
    let Some(path) = path_here() else {
        let test = "full_disks::read_only_disk_opens_no_file";
        return run_on_a_small_disk(test, &path_for("read-only"));
    };
    SlotFile::create(&path, TAG, b"").unwrap();
    let home = path.parent().unwrap();
    let remount = ["-o", "remount,ro"];
    let mut mount = Command::new("mount");
    assert!(mount.args(remount).arg(home).status().unwrap().success());
    let error = read(&path).unwrap_err();
    let OpenError::Io { source, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(source.kind(), io::ErrorKind::ReadOnlyFilesystem);
}
