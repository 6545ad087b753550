//! Files that are refused, and the errors.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;

use hustings_fence::slots::{OpenError, SlotFile};

use crate::{TAG, names_beside, path_for, read};

const FILE_BYTES: usize = 8192;
const PAGE_BYTES: usize = 4096;

/// Writes a file with payload `two`, which was `one` before.
fn write_file(path: &Path) -> Vec<u8> {
    let mut file = SlotFile::create(path, TAG, b"one").unwrap();
    file.store(b"two").unwrap();
    fs::read(path).unwrap()
}

#[test]
fn flip_of_any_byte_is_damage_and_never_the_older_value() {
    let path = path_for("flips");
    let whole = write_file(&path);
    assert_eq!(whole.len(), FILE_BYTES);
    let file = File::options().write(true).open(&path).unwrap();
    for (at, byte) in whole.iter().enumerate() {
        let flipped = byte ^ (1 << (at % 8));
        file.write_all_at(&[flipped], at as u64).unwrap();
        let page = at / PAGE_BYTES * PAGE_BYTES;
        match read(&path) {
            Err(OpenError::Damaged { offset, .. }) => assert_eq!(offset, page as u64),
            other => panic!("byte {at}: {other:?}"),
        }
        file.write_all_at(&[*byte], at as u64).unwrap();
    }
    assert_eq!(read(&path).unwrap(), b"two");
}

#[test]
fn every_other_length_is_refused() {
    let path = path_for("lengths");
    let whole = write_file(&path);
    let file = File::options().write(true).open(&path).unwrap();
    for length in (0..whole.len()).rev() {
        file.set_len(length as u64).unwrap();
        match read(&path) {
            Err(OpenError::Truncated { found, .. }) => assert_eq!(found, length as u64),
            other => panic!("{length} bytes: {other:?}"),
        }
    }
    fs::write(&path, [&whole[..], b"\0"].concat()).unwrap();
    assert!(matches!(read(&path), Err(OpenError::Truncated { found: 8193, .. })));
}

#[test]
fn blank_or_misplaced_slot_is_damage() {
    let path = path_for("blank");
    let whole = write_file(&path);
    let (even, odd) = whole.split_at(PAGE_BYTES);
    let blank = vec![0; PAGE_BYTES];
    for pages in
        [[&blank, odd], [even, &blank], [&blank, &blank], [odd, even], [even, even], [odd, odd]]
    {
        fs::write(&path, pages.concat()).unwrap();
        assert!(matches!(read(&path), Err(OpenError::Damaged { .. })));
    }
}

#[test]
fn other_files_are_not_mistaken_for_slot_files() {
    let path = path_for("not-ours");
    for bytes in
        [&b"x"[..], b"HUSTSLOU", &[b'x'; FILE_BYTES], &[b'x'; 3 * FILE_BYTES], &[0; 3 * FILE_BYTES]]
    {
        fs::write(&path, bytes).unwrap();
        assert!(matches!(read(&path), Err(OpenError::NotOurs { .. })));
        let reset = SlotFile::reset(&path, TAG, b"");
        assert!(matches!(reset, Err(OpenError::NotOurs { .. })));
        assert_eq!(fs::read(&path).unwrap(), bytes, "the file is unchanged");
    }
    let device = Path::new("/dev/zero");
    assert!(matches!(read(device), Err(OpenError::NotOurs { .. })));
}

#[test]
fn directory_is_reported_as_such() {
    let path = path_for("directory");
    let home = path.parent().unwrap();
    let error = read(home).unwrap_err();
    assert!(matches!(error, OpenError::Io { .. }), "{error:?}");
    assert!(error.to_string().contains("directory"), "{error}");
}

#[test]
fn file_of_another_version_is_reported_as_such() {
    let path = path_for("version");
    let mut bytes = write_file(&path);
    for page in [0, PAGE_BYTES] {
        bytes[page + 8] = 9;
        let checksum = crc32fast::hash(&bytes[page..page + 508]);
        bytes[page + 508..page + 512].copy_from_slice(&checksum.to_le_bytes());
        fs::write(&path, &bytes).unwrap();
        assert!(matches!(read(&path), Err(OpenError::OtherVersion { found: 9, .. })));
    }
}

#[test]
fn file_with_another_tag_is_refused_by_name() {
    let path = path_for("another");
    write_file(&path);
    let error = SlotFile::open(&path, b"voter of group billing").unwrap_err();
    let expected = format!(
        "{}: belongs to `voter of group orders`, not to `voter of group billing`: check the path",
        path.display()
    );
    assert_eq!(error.to_string(), expected);
}

#[test]
fn opening_a_missing_file_does_not_create_it() {
    let path = path_for("missing");
    assert!(matches!(read(&path), Err(OpenError::Missing { .. })));
    assert_eq!(names_beside(&path), [""; 0]);
    symlink("nowhere", &path).unwrap();
    assert!(matches!(read(&path), Err(OpenError::Missing { .. })));
}

#[test]
fn existing_file_is_not_created_again() {
    let path = path_for("exists");
    write_file(&path);
    let again = SlotFile::create(&path, TAG, b"three");
    assert!(matches!(again, Err(OpenError::Exists { .. })));
    assert_eq!(read(&path).unwrap(), b"two");
    assert_eq!(names_beside(&path), ["promise"]);
}

#[test]
fn file_is_created_despite_remains_of_another_process() {
    let path = path_for("left-behind");
    fs::write(path.with_file_name(".promise.new-0"), b"half").unwrap();
    write_file(&path);
    assert_eq!(read(&path).unwrap(), b"two");
}

#[test]
fn create_fails_without_its_directory() {
    let path = path_for("no-directory").join("below");
    let created = SlotFile::create(&path, TAG, b"");
    assert!(matches!(created, Err(OpenError::Io { .. })));
}

#[test]
fn file_has_one_owner_at_a_time() {
    let path = path_for("in-use");
    let created = SlotFile::create(&path, TAG, b"one").unwrap();
    assert!(matches!(read(&path), Err(OpenError::InUse { .. })));
    drop(created);
    let opened = SlotFile::open(&path, TAG).unwrap();
    assert!(matches!(read(&path), Err(OpenError::InUse { .. })));
    let reset = SlotFile::reset(&path, TAG, b"two");
    assert!(matches!(reset, Err(OpenError::InUse { .. })));
    drop(opened);
    assert_eq!(read(&path).unwrap(), b"one");
}

#[test]
fn damaged_slot_file_can_be_reset() {
    let path = path_for("reset");
    let whole = write_file(&path);
    let mut damaged = whole.clone();
    damaged[0] ^= 1;
    for bytes in [
        &whole[..],
        &damaged,
        &whole[..5000],
        &whole[..5],
        b"",
        &[0; FILE_BYTES],
        &[&whole[..], b"more"].concat(),
    ] {
        fs::write(&path, bytes).unwrap();
        let mut file = SlotFile::reset(&path, b"another", b"anew").unwrap();
        file.store(b"and on").unwrap();
        drop(file);
        let (_, payload) = SlotFile::open(&path, b"another").unwrap();
        assert_eq!(payload, b"and on");
    }
    fs::remove_file(&path).unwrap();
    SlotFile::reset(&path, TAG, b"founded").unwrap();
    assert_eq!(read(&path).unwrap(), b"founded");
}
