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

/// Whether a mark can be left, as far as can be told without doing so.
///
/// # Errors
/// Tells why not.
pub(super) fn check(path: &Path) -> Result<(), Unmarked> {
    if path.exists() {
        return Err(Unmarked::Drawn);
    }
    fs::create_dir_all(parent(path))?;
    Ok(probe(parent(path))?)
}

/// Whether files can be made in a directory.
///
/// # Errors
/// What the system says if not.
pub(super) fn probe(directory: &Path) -> io::Result<()> {
    let name = format!(".hustings-probe-{}", std::process::id());
    let path = directory.join(name);
    File::create(&path)?;
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()), // or another thread was quicker
    }
}

/// Why no mark is left.
#[derive(Debug)]
pub(super) enum Unmarked {
    /// There is one.
    Drawn,
    /// The system refuses.
    Refused(io::Error),
}

impl From<io::Error> for Unmarked {
    fn from(error: io::Error) -> Self {
        Self::Refused(error)
    }
}

/// Leaves a mark, for good: it is on disk before anything is drawn.
///
/// # Errors
/// If there is one, or none can be left.
pub(super) fn leave(path: &Path, sitting: Digest, transcript: &Path) -> Result<(), Unmarked> {
    let marks = parent(path);
    fs::create_dir_all(marks)?;
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).open(path);
    // Only here it means a mark: a file in the place of the directory is another thing.
    let mut file = opened.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Unmarked::Drawn,
        _ => Unmarked::Refused(error),
    })?;
    writeln!(
        file,
        "sitting {sitting}\ntranscript {}",
        transcript.display()
    )?;
    file.sync_all()?;
    sync_name(path)?;
    Ok(sync_name(marks)?)
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
