//! The mark that a draw leaves beside a member's key: nobody draws twice under one number, whatever became of the transcript.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::bytes::Digest;
use super::ring::Ring;

/// Where the mark of the draw on `ring` is, in the directory `marks`. The rest of the ring file makes no difference: a draw that
/// is held again with other members or rules has a new number.
pub(super) fn path(marks: &Path, ring: &Ring) -> PathBuf {
    // A name of a draw has no slash.
    marks.join(format!("{} {}", ring.draw, ring.number))
}

/// Leaves a mark, for good: it is on disk before anything is drawn.
///
/// # Errors
/// If there is one, or none can be left.
pub(super) fn leave(path: &Path, sitting: Digest, transcript: &Path) -> io::Result<()> {
    let marks = parent(path);
    fs::create_dir_all(marks)?;
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    writeln!(
        file,
        "sitting {sitting}\ntranscript {}",
        transcript.display()
    )?;
    file.sync_all()?;
    sync_name(path)?;
    sync_name(marks)
}

/// Makes the name of a new file last.
pub(super) fn sync_name(path: &Path) -> io::Result<()> {
    File::open(parent(path))?.sync_all()
}

/// The directory of a file.
pub(super) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}
