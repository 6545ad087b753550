//! Why a slot file cannot be had.

use std::io;
use std::path::{Path, PathBuf};

use super::image::FILE_BYTES;

/// Why a slot file could not be opened, created or reset.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is no file.
    #[error(
        "{}: no such file: if nothing was ever kept there create it, else find the disk that has it", path.display()
    )]
    Missing {
        /// Where it should be.
        path: PathBuf,
    },

    /// There is a file already, where one was to be created.
    #[error("{}: is there already: open it, or reset it if what it says may be forgotten", path.display())]
    Exists {
        /// Where it is.
        path: PathBuf,
    },

    /// Another process, or another part of this one, has it.
    #[error("{}: is in use: stop the other process that has it open", path.display())]
    InUse {
        /// Where it is.
        path: PathBuf,
    },

    /// Something else, that no slot file ever was.
    #[error("{}: is not a file of Hustings: check the path; if it is right, move the file away", path.display())]
    NotOurs {
        /// Where it is.
        path: PathBuf,
    },

    /// It was once longer, or something was added to it.
    #[error(
        "{}: has {found} bytes instead of {FILE_BYTES}: what it said last is lost, and an older copy of it must not \
         be used: reset it on purpose", path.display()
    )]
    Truncated {
        /// Where it is.
        path: PathBuf,
        /// How many bytes it has.
        found: u64,
    },

    /// What is there is not what was written. A slot is written wholly or not at all, so this is no write that was
    /// interrupted: the disk has failed, or somebody else wrote. The other slot may say less than was promised.
    #[error(
        "{}: is damaged at byte {offset} or after it: what it said last is lost, and an older copy of it must not \
         be used: check the disk, then reset it on purpose", path.display()
    )]
    Damaged {
        /// Where it is.
        path: PathBuf,
        /// Where the part begins that is not as it was written.
        offset: u64,
    },

    /// Written by another version of the layout.
    #[error("{}: has layout {found}, which this program does not know: use the program that wrote it", path.display())]
    OtherVersion {
        /// Where it is.
        path: PathBuf,
        /// The version of the layout.
        found: u32,
    },

    /// It belongs to somebody else.
    #[error("{}: belongs to `{found}`, not to `{expected}`: check the path", path.display())]
    Another {
        /// Where it is.
        path: PathBuf,
        /// Its tag.
        found: String,
        /// The tag asked for.
        expected: String,
    },

    /// The file system refused.
    #[error("{}: {source}: check the path, its permissions and the disk", path.display())]
    Io {
        /// Where it is or should be.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
}

impl OpenError {
    /// What the file system said about `path`.
    pub(super) fn io(path: &Path) -> impl Fn(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            path: path.clone(),
            source,
        }
    }

    /// As [`io`](Self::io), of a file that should be there.
    pub(super) fn opening(path: &Path) -> impl Fn(io::Error) -> Self {
        let path = path.to_owned();
        move |error| match error.kind() {
            io::ErrorKind::NotFound => Self::Missing { path: path.clone() },
            _ => Self::io(&path)(error),
        }
    }

    /// As [`io`](Self::io), of a file that should not be there.
    pub(super) fn creating(path: &Path) -> impl Fn(io::Error) -> Self {
        let path = path.to_owned();
        move |error| match error.kind() {
            io::ErrorKind::AlreadyExists => Self::Exists { path: path.clone() },
            _ => Self::io(&path)(error),
        }
    }
}
