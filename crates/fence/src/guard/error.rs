//! Errors of a guard.

use std::io;
use std::path::PathBuf;

use hustings_protocol::tenure::Fence;

use crate::slots::OpenError;

/// The reason why a fence was not admitted. Nothing was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuardError {
    /// A higher fence was seen before: the tenure has passed on.
    #[error(
        "fence {offered} is below {highest}, which {} has seen: this tenure is over: stop writing, and stand again",
        path.display()
    )]
    Refused {
        /// The guard's file.
        path: PathBuf,
        /// The refused fence.
        offered: Fence,
        /// The highest fence seen.
        highest: Fence,
    },

    /// The file was restored to an older state, or removed and created again.
    #[error(
        "{}: has fence {found}, but had {seen} before: if it was reset on purpose open the guard again, else reset it to \
         a fence above {seen}", path.display()
    )]
    WentBack {
        /// The guard's file.
        path: PathBuf,
        /// The highest fence that this guard saw before.
        seen: Fence,
        /// The fence that the file has now.
        found: Fence,
    },

    /// The file is missing or invalid.
    #[error(transparent)]
    File(#[from] OpenError),

    /// A higher fence could not be stored on the disk.
    #[error(transparent)]
    Store(io::Error),
}

/// The reason why a guarded write did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum WriteError<E> {
    /// The fence was not admitted, and the write did not begin.
    #[error(transparent)]
    Guard(#[from] GuardError),

    /// The write began, and failed.
    #[error(transparent)]
    Write(E),
}
