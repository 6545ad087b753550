//! The marker file that a draw leaves beside a member's key. It prevents a second draw under the
//! same number, even if the transcript was deleted.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::bytes::Digest;
use super::ring::Ring;

/// The path of the marker for the draw on `ring`, in the directory `marks`. Only the draw's name
/// and number count: a draw repeated with other members or rules needs a new number.
pub(super) fn path(marks: &Path, ring: &Ring) -> PathBuf {
    // `check_name` allows no slash in the name of a draw.
    marks.join(format!("{} {}", ring.draw, ring.number))
}

/// Checks that a marker can be created, without creating it. Returns false if it exists: this
/// member has taken part in the draw.
///
/// # Errors
/// If the directory is not writable.
pub(super) fn check(path: &Path) -> io::Result<bool> {
    if is_taken(path) {
        return Ok(false);
    }
    fs::create_dir_all(parent(path))?;
    probe(parent(path))?;
    Ok(true)
}

/// True if the path exists, including a dangling symbolic link: no new file can be created there.
pub(super) fn is_taken(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Checks that files can be created in a directory.
///
/// # Errors
/// The operating system's error if not.
pub(super) fn probe(directory: &Path) -> io::Result<()> {
    let name = format!(".hustings-probe-{}", std::process::id());
    let path = directory.join(name);
    File::create(&path)?;
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()), // or another thread removed it first
    }
}

/// Creates the marker and syncs it to disk. Called before anything is drawn. Returns false if the
/// marker exists.
///
/// # Errors
/// If the marker cannot be created.
pub(super) fn leave(path: &Path, session: Digest, transcript: &Path) -> io::Result<bool> {
    let marks = parent(path);
    fs::create_dir_all(marks)?;
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).open(path);
    // `AlreadyExists` means a marker only here. From `create_dir_all` it means that a file is in
    // the place of the directory.
    let mut file = match opened {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        opened => opened?,
    };
    writeln!(file, "sitting {session}\ntranscript {}", transcript.display())?;
    file.sync_all()?;
    sync_name(path)?;
    sync_name(marks)?;
    Ok(true)
}

/// Syncs the directory entry of a new file to disk.
pub(super) fn sync_name(path: &Path) -> io::Result<()> {
    File::open(parent(path))?.sync_all()
}

/// The directory that holds `path`.
pub(super) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::{fs, io};

    use super::{check, leave};
    use crate::bytes::Bytes;

    /// A temporary directory, removed on drop.
    struct Home(PathBuf);

    impl Home {
        fn new(name: &str) -> Self {
            let name = format!("hustings-mark-{}-{name}", std::process::id());
            let home = std::env::temp_dir().join(name);
            fs::create_dir_all(&home).unwrap();
            Self(home)
        }
    }

    impl Drop for Home {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0); // a leftover temporary directory does no harm
        }
    }

    fn left(home: &Home, once_marker: &str) -> io::Result<bool> {
        leave(&home.0.join(once_marker), Bytes([7; 32]), &home.0.join("t.jsonl"))
    }

    #[test]
    fn second_marker_for_one_draw_is_refused() {
        let home = Home::new("twice");
        assert!(left(&home, "marks/chair 7").unwrap());
        let once_marker = fs::read_to_string(home.0.join("marks/chair 7")).unwrap();
        assert!(once_marker.starts_with("sitting 0707"), "{once_marker}");
        let again = left(&home, "marks/chair 7");
        assert!(matches!(again, Ok(false)), "{again:?}");
        assert!(left(&home, "marks/chair 8").unwrap());
    }

    #[test]
    fn io_failure_is_not_mistaken_for_a_marker() {
        let home = Home::new("refused");
        fs::write(home.0.join("file"), "").unwrap();
        // For one of the two paths the operating system reports `AlreadyExists`.
        for once_marker in ["file/chair 7", "file/marks/chair 7"] {
            let refused = left(&home, once_marker);
            assert!(refused.is_err(), "{refused:?}");
        }
    }

    #[test]
    fn dangling_symlink_counts_as_a_marker() {
        let home = Home::new("link");
        let once_marker = home.0.join("chair 7");
        std::os::unix::fs::symlink("nothing", &once_marker).unwrap();
        let refused = check(&once_marker);
        assert!(matches!(refused, Ok(false)), "{refused:?}");
    }
}
