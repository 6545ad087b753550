//! Why somebody is not let in.

use std::io;
use std::path::PathBuf;

use hustings_protocol::tenure::Fence;

use crate::slots::OpenError;

/// Why a fence was not let in. Nothing was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuardError {
    /// Somebody with a higher fence was here before: the tenure has passed on.
    #[error(
        "fence {offered} is below {highest}, which {} has seen: this tenure is over: stop writing, and stand again",
        path.display()
    )]
    Refused {
        /// The guard's file.
        path: PathBuf,
        /// The fence that asked to be let in.
        offered: Fence,
        /// The highest that ever was.
        highest: Fence,
    },

    /// The file was put back to an older state, or removed and created again.
    #[error(
        "{}: says fence {found}, and has said {seen}: if it was reset on purpose open the guard again, else reset it to \
         a fence above {seen}", path.display()
    )]
    WentBack {
        /// The guard's file.
        path: PathBuf,
        /// What this guard saw before.
        seen: Fence,
        /// What is there now.
        found: Fence,
    },

    /// The file is not there, or not what it should be.
    #[error(transparent)]
    File(#[from] OpenError),

    /// A higher fence could not be put on the disk.
    #[error(transparent)]
    Store(io::Error),
}

/// Why a guarded write was not done.
#[derive(Debug, thiserror::Error)]
pub enum WriteError<E> {
    /// It was not let in, and did not begin.
    #[error(transparent)]
    Guard(#[from] GuardError),

    /// It began, and failed.
    #[error(transparent)]
    Write(E),
}
