//! The file-system operations of a slot file.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::error::OpenError;
use super::image::{FILE_BYTES, Image};

/// The reaction to a file that is in use.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Busy {
    GiveUp,
    Wait,
}

/// Opens the file at `path`, locked until it is unlocked or closed.
pub(super) fn open_locked(path: &Path, busy: Busy) -> Result<File, OpenError> {
    loop {
        let opened = OpenOptions::new().read(true).write(true).open(path);
        let file = opened.map_err(OpenError::opening(path))?;
        match busy {
            Busy::GiveUp => lock(path, &file)?,
            Busy::Wait => wait_for_lock(&file).map_err(OpenError::io(path))?,
        }
        // If the file was replaced meanwhile, this lock is on the wrong one.
        if is_at(path, &file).map_err(OpenError::opening(path))? {
            return Ok(file);
        }
    }
}

/// True if the file at `path` is this very file.
pub(super) fn is_at(path: &Path, file: &File) -> io::Result<bool> {
    let (there, here) = (fs::metadata(path)?, file.metadata()?);
    Ok((there.dev(), there.ino()) == (here.dev(), here.ino()))
}

fn lock(path: &Path, file: &File) -> Result<(), OpenError> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => OpenError::InUse(path.to_owned()),
        TryLockError::Error(error) => OpenError::io(path)(error),
    })
}

fn wait_for_lock(file: &File) -> io::Result<()> {
    loop {
        match file.lock() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {} // by a signal
            locked => return locked,
        }
    }
}

/// Reads the contents of a file.
pub(super) fn read(path: &Path, file: &File) -> Result<Image, OpenError> {
    let metadata = file.metadata().map_err(OpenError::io(path))?;
    if !metadata.is_file() {
        // A device or a pipe, which might never end.
        return Err(OpenError::NotOurs(path.to_owned()));
    }
    let mut bytes = Vec::with_capacity(FILE_BYTES);
    let mut beginning = file.take(FILE_BYTES as u64);
    beginning.read_to_end(&mut bytes).map_err(OpenError::io(path))?;
    let length = metadata.len();
    Ok(Image { length, bytes })
}

/// Creates a locked file with `bytes` at `path`, wholly or not at all.
pub(super) fn create(path: &Path, bytes: &[u8]) -> Result<File, OpenError> {
    let (beside, file) = new_file_beside(path).map_err(OpenError::io(path))?;
    let written = file
        .write_all_at(bytes, 0)
        .and_then(|()| file.sync_all())
        .map_err(OpenError::io(path))
        .and_then(|()| lock(path, &file))
        // Unlike a rename, a link does not overwrite an existing file.
        .and_then(|()| fs::hard_link(&beside, path).map_err(OpenError::creating(path)));
    let removed = fs::remove_file(&beside).map_err(OpenError::io(path));
    written.and(removed)?;
    sync_directory(path).map_err(OpenError::io(path))?;
    Ok(file)
}

/// Creates a new file in the same directory, under an unused name.
fn new_file_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut number = 0_u32;
    loop {
        let mut beside = OsString::from(".");
        beside.push(name);
        beside.push(format!(".new-{number}"));
        let beside = path.with_file_name(beside);
        let mut options = OpenOptions::new();
        match options.read(true).write(true).create_new(true).open(&beside) {
            // Another process is creating it, or was killed and left it behind.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            opened => return opened.map(|file| (beside, file)),
        }
    }
}

/// Replaces the contents of a file by `bytes`. Until this is done the file has another length than
/// a slot file, or an empty slot, so that its former contents are not mistaken for valid.
pub(super) fn overwrite(path: &Path, file: &File, bytes: &[u8]) -> io::Result<()> {
    file.set_len(0)?;
    file.write_all_at(bytes, 0)?;
    file.sync_all()?;
    sync_directory(path)
}

/// Ensures that the file at `path` will exist after a crash.
pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    let path = path.canonicalize()?;
    let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    File::open(directory)?.sync_all()
}
