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
    if is_taken(path) {
        return Err(Unmarked::Drawn);
    }
    fs::create_dir_all(parent(path))?;
    Ok(probe(parent(path))?)
}

/// Whether there is anything by that name, also a link to nothing: no new file can have it.
pub(super) fn is_taken(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::{Unmarked, check, leave};
    use crate::draw::bytes::Bytes;

    /// A directory of its own, which goes with it.
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
            let _ = fs::remove_dir_all(&self.0); // it lies among temporary files
        }
    }

    fn left(home: &Home, mark: &str) -> Result<(), Unmarked> {
        leave(&home.0.join(mark), Bytes([7; 32]), &home.0.join("t.jsonl"))
    }

    #[test]
    fn one_mark_is_left_and_no_second() {
        let home = Home::new("twice");
        left(&home, "marks/chair 7").unwrap();
        let mark = fs::read_to_string(home.0.join("marks/chair 7")).unwrap();
        assert!(mark.starts_with("sitting 0707"), "{mark}");
        let again = left(&home, "marks/chair 7");
        assert!(matches!(again, Err(Unmarked::Drawn)), "{again:?}");
        left(&home, "marks/chair 8").unwrap();
    }

    /// That a member has drawn is said only where it has.
    #[test]
    fn what_keeps_a_mark_from_being_left_is_no_mark() {
        let home = Home::new("refused");
        fs::write(home.0.join("file"), "").unwrap();
        // Of these the system says in part that something exists.
        for mark in ["file/chair 7", "file/marks/chair 7"] {
            let refused = left(&home, mark);
            assert!(matches!(refused, Err(Unmarked::Refused(_))), "{refused:?}");
        }
    }

    #[test]
    fn a_link_to_nothing_is_in_the_place_of_a_mark() {
        let home = Home::new("link");
        let mark = home.0.join("chair 7");
        std::os::unix::fs::symlink("nothing", &mark).unwrap();
        let refused = check(&mark);
        assert!(matches!(refused, Err(Unmarked::Drawn)), "{refused:?}");
    }
}
