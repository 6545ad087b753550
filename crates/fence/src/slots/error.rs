//! Errors of slot files.

use std::io;
use std::path::{Path, PathBuf};

use super::image::FILE_BYTES;

/// The reason why a slot file could not be opened, created or reset.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file does not exist.
    #[error(
        "{}: no such file: if it is new create it, else find the disk that has it", .0.display()
    )]
    Missing(PathBuf),

    /// The file to be created exists already.
    #[error("{}: exists already: open it, or reset it if its content may be lost", .0.display())]
    Exists(PathBuf),

    /// Another process, or another part of this one, has the file open.
    #[error("{}: is in use: stop the other process that has it open", .0.display())]
    InUse(PathBuf),

    /// The file never was a slot file.
    #[error("{}: is not a file of Hustings: check the path; if it is right, move the file away", .0.display())]
    NotOurs(PathBuf),

    /// The file has the wrong length: it was truncated or extended.
    #[error(
        "{}: has {found} bytes instead of {FILE_BYTES}: its last content is lost, and an older copy of it must not \
         be used: reset it on purpose", path.display()
    )]
    Truncated {
        /// The path of the file.
        path: PathBuf,
        /// The length of the file.
        found: u64,
    },

    /// The contents are not what was written. A slot is written wholly or not at all, so this is no
    /// interrupted write: the disk has failed, or another program wrote. The other slot may hold an
    /// older promise.
    #[error(
        "{}: is damaged at byte {offset} or after it: its last content is lost, and an older copy of it must not \
         be used: check the disk, then reset it on purpose", path.display()
    )]
    Damaged {
        /// The path of the file.
        path: PathBuf,
        /// The offset at which the damaged part begins.
        offset: u64,
    },

    /// The file has another version of the layout.
    #[error("{}: has layout {found}, which this program does not know: use the program that wrote it", path.display())]
    OtherVersion {
        /// The path of the file.
        path: PathBuf,
        /// The version of the layout.
        found: u32,
    },

    /// The file has another tag.
    #[error("{}: belongs to `{found}`, not to `{expected}`: check the path", path.display())]
    Another {
        /// The path of the file.
        path: PathBuf,
        /// Its tag.
        found: String,
        /// The requested tag.
        expected: String,
    },

    /// The file system returned an error.
    #[error("{}: {source}: check the path, its permissions and the disk", path.display())]
    Io {
        /// The path of the file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

impl OpenError {
    /// Converts an error of the file system about `path`.
    pub(super) fn io(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), source }
    }

    /// As [`io`](Self::io), for a file that should exist.
    pub(super) fn opening(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| match error.kind() {
            io::ErrorKind::NotFound => Self::Missing(path.to_owned()),
            _ => Self::io(path)(error),
        }
    }

    /// As [`io`](Self::io), for a file that should not exist.
    pub(super) fn creating(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| match error.kind() {
            io::ErrorKind::AlreadyExists => Self::Exists(path.to_owned()),
            _ => Self::io(path)(error),
        }
    }
}
