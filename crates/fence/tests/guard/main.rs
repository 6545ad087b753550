//! A guard with threads, processes and failing disks.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod disks;
mod processes;
mod rules;
#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::path::{Path, PathBuf};

/// A path in an empty directory for this test.
fn path_for(test: &str) -> PathBuf {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("guard-{test}"));
    let _ = fs::remove_dir_all(&home);
    fs::create_dir_all(&home).unwrap();
    home.join("fence")
}
