//! Slot files on a real file system: contents, and everything that is refused.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod full_disks;
mod opening;
mod stores;
#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::path::{Path, PathBuf};

use hustings_fence::slots::{OpenError, SlotFile};

const TAG: &[u8] = b"voter of group orders";

/// A path in an empty directory for this test.
fn path_for(test: &str) -> PathBuf {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("slots-{test}"));
    let _ = fs::remove_dir_all(&home);
    fs::create_dir_all(&home).unwrap();
    home.join("promise")
}

/// Opens and closes a file; returns its payload.
fn read(path: &Path) -> Result<Vec<u8>, OpenError> {
    SlotFile::open(path, TAG).map(|(_, payload)| payload)
}

/// The names in the directory of a file.
fn names_beside(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path.parent().unwrap()).unwrap();
    let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
    entries.map(|entry| name(entry.unwrap())).collect()
}
