//! The highest fence that a resource has seen, in a file, and turns at writing for those that are not below it.

mod error;

pub use error::{GuardError, WriteError};

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use hustings_protocol::tenure::Fence;

use crate::slots::{OpenError, SlotFile};

/// To whom its files belong.
const TAG: &[u8] = b"fence guard";

/// Lets only those write to a resource whose fence is not below the highest that came by.
///
/// All threads and processes of a host that open a guard on the same file take turns, one at a time and for as long as
/// a turn is held. Whoever is let in has its fence on the disk already.
///
/// It is cheap: an equal fence costs a lock and a read of 8 KiB from memory, a higher one a sync as well, and each
/// guard once more for a fence that another one let in.
#[derive(Debug)]
pub struct FenceGuard {
    path: PathBuf,
    /// The highest fence that this guard has put on the disk with its own hands. What others wrote may be in memory
    /// alone: they may have been killed before the sync, or have been told that it failed.
    durable: AtomicU64,
}

impl FenceGuard {
    /// Opens the guard at `path`. Where there is none it is created, and lets any fence in: keep the file on the disk
    /// of what it guards, so that neither is lost without the other, and never remove it alone.
    ///
    /// # Errors
    /// If the file is not a guard's, is damaged, or cannot be written. Nobody is let in then.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, GuardError> {
        let path = path.as_ref();
        match Self::open_existing(path) {
            Err(GuardError::File(OpenError::Missing { .. })) => {}
            opened => return opened,
        }
        // Closed at once, for it is locked.
        match SlotFile::create(path, TAG, &encode(Fence(0))).map(drop) {
            // In the latter case another process was quicker.
            Ok(()) | Err(OpenError::Exists { .. }) => Self::open_existing(path),
            Err(error) => Err(error.into()),
        }
    }

    /// As [`open`](Self::open), but a guard that is missing is an error: for whoever would rather stop than begin
    /// anew where a disk was lost.
    ///
    /// # Errors
    /// As [`open`](Self::open), and if there is no file.
    pub fn open_existing(path: impl AsRef<Path>) -> Result<Self, GuardError> {
        let path = path.as_ref();
        // The guard stays where it is, wherever the process goes.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let slots = SlotFile::read_when_free(&path, TAG)?;
        let highest = decode(&path, &slots)?;
        slots.confirm()?;
        let durable = AtomicU64::new(highest.0);
        Ok(Self { path, durable })
    }

    /// Makes the guard at `path` forget, on purpose: it lets in `fence` and those above it. For a file that is damaged
    /// or lost, with a fence that no former tenure had: one above the present holder's is always right. Those who
    /// have the guard open must open it again if `fence` is below what they saw.
    ///
    /// # Errors
    /// If the file was never a guard's, or cannot be written.
    pub fn reset_to(path: impl AsRef<Path>, fence: Fence) -> Result<(), GuardError> {
        SlotFile::reset_when_free(path.as_ref(), TAG, &encode(fence))?;
        Ok(())
    }

    /// Runs `write` if `fence` is not below the highest. No other turn begins before it has ended, so whatever it
    /// writes comes after all that lower fences wrote and before all that higher ones will.
    ///
    /// It must not use a guard of the same file: it would wait for itself. If the process dies in it, the turn ends,
    /// and what it wrote is as complete as its own writes are.
    ///
    /// # Errors
    /// If it is not let in, or `write` fails.
    pub fn write<T, E>(
        &self,
        fence: Fence,
        write: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, WriteError<E>> {
        let _turn = self.admit(fence)?;
        write().map_err(WriteError::Write)
    }

    /// Whether `fence` may write, at this instant. It is remembered like one that does. What follows is not part of a
    /// turn: a higher fence may be let in before it is done. For resources that do the writing elsewhere, and can
    /// bear that.
    ///
    /// # Errors
    /// If it may not.
    pub fn check(&self, fence: Fence) -> Result<(), GuardError> {
        self.admit(fence).map(drop)
    }

    /// A turn at writing for `fence`, once all others have ended. For writes that do not fit into the closure of
    /// [`write`](Self::write); the turn may be sent to other threads.
    ///
    /// # Errors
    /// If `fence` is below the highest, or cannot be kept.
    pub fn admit(&self, fence: Fence) -> Result<Turn, GuardError> {
        let (mut slots, highest) = self.read_when_free()?;
        if fence < highest {
            return Err(GuardError::Refused {
                path: self.path.clone(),
                offered: fence,
                highest,
            });
        }
        if highest != self.durable() {
            slots.confirm()?;
        }
        if fence > highest {
            slots.store(&encode(fence)).map_err(GuardError::Store)?;
        }
        self.durable.store(fence.0, Ordering::SeqCst);
        Ok(Turn {
            fence,
            _slots: slots,
        })
    }

    /// The highest fence so far.
    ///
    /// # Errors
    /// If the file cannot be read, or is not what it should be.
    pub fn highest(&self) -> Result<Fence, GuardError> {
        self.read_when_free().map(|(_, highest)| highest)
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn read_when_free(&self) -> Result<(SlotFile, Fence), GuardError> {
        let slots = SlotFile::read_when_free(&self.path, TAG)?;
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

/// A turn at writing. It lasts until this is dropped.
#[derive(Debug)]
#[must_use = "the turn ends when this is dropped: bind it to a name while you write"]
pub struct Turn {
    fence: Fence,
    /// Locked while it is there.
    _slots: SlotFile,
}

impl Turn {
    /// Whose turn it is.
    pub fn fence(&self) -> Fence {
        self.fence
    }
}

fn encode(fence: Fence) -> [u8; 8] {
    fence.0.to_le_bytes()
}

fn decode(path: &Path, slots: &SlotFile) -> Result<Fence, OpenError> {
    let bytes = slots.payload().try_into();
    let bytes = bytes.map_err(|_| OpenError::Damaged {
        path: path.to_owned(),
        offset: 0,
    })?;
    Ok(Fence(u64::from_le_bytes(bytes)))
}
