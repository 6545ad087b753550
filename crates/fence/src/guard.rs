//! The guard of a resource: the highest fence seen, in a file, and turns at writing for fences that
//! are not below it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use hustings_protocol::tenure::Fence;

use crate::slots::{Busy, OpenError, SlotFile};

/// The tag of guard files.
const TAG: &[u8] = b"fence guard";

/// Admits writes to a resource only if their fence is not below the highest one seen.
///
/// All threads and processes of a host that open a guard on the same file take turns: one at a
/// time, for as long as a turn is held. The fence of an admitted write is already on the disk.
///
/// A guard is cheap. An equal fence costs a lock and a read of 8 KiB from memory. A higher fence
/// costs a sync as well. Each guard syncs once more for a fence that another guard admitted.
#[derive(Debug)]
pub struct FenceGuard {
    path: PathBuf,
    /// The highest fence that this guard itself has synced to the disk. Values that others wrote
    /// may be in memory only: the writer may have been killed before the sync, or its sync may have
    /// failed.
    durable: AtomicU64,
}

impl FenceGuard {
    /// Opens the guard at `path`. If the file does not exist, creates it; a new guard admits any
    /// fence. Keep the file on the disk of the guarded resource, so that neither is lost without
    /// the other, and never remove it alone.
    ///
    /// # Errors
    /// If the file is not a guard's, is damaged, or cannot be written. No write is admitted then.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, GuardError> {
        let path = path.as_ref();
        match Self::open_existing(path) {
            Err(GuardError::File(OpenError::Missing { .. })) => {}
            opened => return opened,
        }
        // Closed at once, because it is locked.
        match SlotFile::create(path, TAG, &encode(Fence(0))).map(drop) {
            // `Exists`: another process was faster.
            Ok(()) | Err(OpenError::Exists { .. }) => Self::open_existing(path),
            Err(error) => Err(error.into()),
        }
    }

    /// As [`open`](Self::open), but a missing guard is an error. For programs that prefer to stop
    /// when a disk was lost.
    ///
    /// # Errors
    /// As [`open`](Self::open), and if there is no file.
    pub fn open_existing(path: impl AsRef<Path>) -> Result<Self, GuardError> {
        let path = path.as_ref();
        // An absolute path stays valid if the process changes its directory.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let slots = SlotFile::read(Busy::Wait, &path, TAG)?;
        let highest = decode(&path, &slots)?;
        slots.confirm()?;
        let durable = AtomicU64::new(highest.0);
        Ok(Self { path, durable })
    }

    /// Resets the guard at `path` on purpose, so that it admits `fence` and above. For a file that
    /// is damaged or lost. Choose a fence that no former tenure had: one above the present holder's
    /// is always right. Processes that have the guard open must open it again if `fence` is below
    /// the fences they saw.
    ///
    /// # Errors
    /// If the file was never a guard's, or cannot be written.
    pub fn reset_to(path: impl AsRef<Path>, fence: Fence) -> Result<(), GuardError> {
        SlotFile::reset_unless(Busy::Wait, path.as_ref(), TAG, &encode(fence))?;
        Ok(())
    }

    /// Runs `write` if `fence` is not below the highest. No other turn begins before it has ended.
    /// So its writes come after all writes of lower fences and before all writes of higher ones.
    ///
    /// `write` must not use a guard of the same file: it would wait for itself. If the process dies
    /// in `write`, the turn ends, and its writes are as complete as the program made them.
    ///
    /// # Errors
    /// If the fence is not admitted, or `write` fails.
    pub fn write<T, E>(
        &self,
        fence: Fence,
        write: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, WriteError<E>> {
        let _turn = self.admit(fence)?;
        write().map_err(WriteError::Write)
    }

    /// Checks that `fence` may write at this instant, and remembers it like a fence that does. The
    /// following write is not part of a turn: a higher fence may be admitted before it is done. For
    /// resources that write elsewhere and tolerate this.
    ///
    /// # Errors
    /// If the fence may not write.
    pub fn check(&self, fence: Fence) -> Result<(), GuardError> {
        self.admit(fence).map(drop)
    }

    /// Returns a turn at writing for `fence`, after all other turns have ended. For writes that do
    /// not fit into the closure of [`write`](Self::write). The turn may be sent to other threads.
    ///
    /// # Errors
    /// If `fence` is below the highest, or cannot be stored.
    pub fn admit(&self, fence: Fence) -> Result<Turn, GuardError> {
        let (mut slots, highest) = self.read_when_free()?;
        if fence < highest {
            return Err(GuardError::Refused { path: self.path.clone(), offered: fence, highest });
        }
        if highest != self.durable() {
            slots.confirm()?;
        }
        if fence > highest {
            slots.store(&encode(fence)).map_err(GuardError::Store)?;
        }
        self.durable.store(fence.0, Ordering::SeqCst);
        Ok(Turn { fence, _slots: slots })
    }

    /// The highest fence seen.
    ///
    /// # Errors
    /// If the file cannot be read, or is invalid.
    pub fn highest(&self) -> Result<Fence, GuardError> {
        self.read_when_free().map(|(_, highest)| highest)
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn read_when_free(&self) -> Result<(SlotFile, Fence), GuardError> {
        let slots = SlotFile::read(Busy::Wait, &self.path, TAG)?;
        let found = decode(&self.path, &slots)?;
        let seen = self.durable();
        if found < seen {
            let path = self.path.clone();
            return Err(GuardError::WentBack { path, seen, found });
        }
        Ok((slots, found))
    }

    fn durable(&self) -> Fence {
        Fence(self.durable.load(Ordering::SeqCst))
    }
}

/// A turn at writing. It lasts until this value is dropped.
#[derive(Debug)]
#[must_use = "the turn ends when this is dropped: bind it to a name while you write"]
pub struct Turn {
    fence: Fence,
    /// Locked while it exists.
    _slots: SlotFile,
}

impl Turn {
    /// The fence of this turn.
    pub fn fence(&self) -> Fence {
        self.fence
    }
}

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

fn encode(fence: Fence) -> [u8; 8] {
    fence.0.to_le_bytes()
}

fn decode(path: &Path, slots: &SlotFile) -> Result<Fence, OpenError> {
    let bytes = slots.payload().try_into();
    let bytes = bytes.map_err(|_| OpenError::Damaged { path: path.to_owned(), offset: 0 })?;
    Ok(Fence(u64::from_le_bytes(bytes)))
}
