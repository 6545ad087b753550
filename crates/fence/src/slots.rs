//! A few bytes that must never be lost, in a file of two slots.
//!
//! Each store goes to the older slot and is synced before it counts, so the newer slot is intact at
//! every instant. A slot lies in one sector, which a disk writes wholly or not at all: a crash
//! leaves the old value or the new one. Any other content is damage and is refused, because the
//! remaining slot may hold an older promise.
//!
//! A value that was read may not be on the disk yet: its writer may have been killed before the
//! sync, or its sync may have failed. So opening a file writes its value once more and syncs it.
//!
//! ```
//! use hustings_fence::slots::SlotFile;
//! # let home = std::env::temp_dir().join(format!("hustings-slots-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&home)?;
//! # let path = home.join("promise");
//! # let _ = std::fs::remove_file(&path);
//! let tag = b"voter of group orders";
//! let mut file = SlotFile::create(&path, tag, b"nothing promised")?;
//! file.store(b"promised 7")?;
//! drop(file);
//!
//! let (_file, payload) = SlotFile::open(&path, tag)?;
//! assert_eq!(payload, b"promised 7");
//! # std::fs::remove_dir_all(&home)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod disk;
mod error;
mod format;
mod image;

pub(crate) use disk::Busy;
pub use error::OpenError;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use format::Slot;

/// The maximum length of a payload.
pub const MOST_PAYLOAD_BYTES: usize = 400;

/// The maximum length of a tag.
pub const MOST_TAG_BYTES: usize = 84;

/// An open and locked slot file: no process of this host can open the same file a second time.
#[derive(Debug)]
pub struct SlotFile {
    path: PathBuf,
    file: File,
    /// The slot that was stored or read last.
    newest: Slot,
}

impl SlotFile {
    /// Creates a file with `tag` and `payload`, wholly or not at all.
    ///
    /// # Errors
    /// If `path` exists, or the file cannot be written.
    ///
    /// # Panics
    /// If `tag` is longer than [`MOST_TAG_BYTES`] or `payload` than [`MOST_PAYLOAD_BYTES`].
    pub fn create(path: &Path, tag: &[u8], payload: &[u8]) -> Result<Self, OpenError> {
        let newest = first(tag, payload);
        let file = disk::create(path, &image::founding(&newest))?;
        let path = path.to_owned();
        Ok(Self { path, file, newest })
    }

    /// Opens a file with `tag`, and returns the payload that was stored last. The payload is then
    /// on the disk.
    ///
    /// # Errors
    /// If the file does not exist, is in use, or is invalid.
    pub fn open(path: &Path, tag: &[u8]) -> Result<(Self, Vec<u8>), OpenError> {
        Self::open_unless(Busy::GiveUp, path, tag)
    }

    /// As [`open`](Self::open), but waits until the file is free. For files that are never in use
    /// for long.
    ///
    /// # Errors
    /// If the file does not exist, or is invalid.
    pub fn open_when_free(path: &Path, tag: &[u8]) -> Result<(Self, Vec<u8>), OpenError> {
        Self::open_unless(Busy::Wait, path, tag)
    }

    fn open_unless(busy: Busy, path: &Path, tag: &[u8]) -> Result<(Self, Vec<u8>), OpenError> {
        let slots = Self::read(busy, path, tag)?;
        slots.confirm()?;
        let payload = slots.payload().to_owned();
        Ok((slots, payload))
    }

    /// Gives a file a new `tag` and `payload`, whatever it held before. For a file that is damaged,
    /// or whose content may be lost. Creates the file if it does not exist. If this is interrupted
    /// the file is unusable until it is reset again.
    ///
    /// # Errors
    /// If the file is in use, was never a slot file, or cannot be written.
    ///
    /// # Panics
    /// As [`create`](Self::create) does.
    pub fn reset(path: &Path, tag: &[u8], payload: &[u8]) -> Result<Self, OpenError> {
        Self::reset_unless(Busy::GiveUp, path, tag, payload)
    }

    /// As [`reset`](Self::reset), if the file is not `busy` or becomes free.
    pub(crate) fn reset_unless(
        busy: Busy,
        path: &Path,
        tag: &[u8],
        payload: &[u8],
    ) -> Result<Self, OpenError> {
        let file = match disk::open_locked(path, busy) {
            Err(OpenError::Missing { .. }) => return Self::create(path, tag, payload),
            opened => opened?,
        };
        let path = path.to_owned();
        if !disk::read(&path, &file)?.is_ours() {
            return Err(OpenError::NotOurs(path));
        }
        let newest = first(tag, payload);
        let overwritten = disk::overwrite(&path, &file, &image::founding(&newest));
        overwritten.map_err(OpenError::io(&path))?;
        Ok(Self { path, file, newest })
    }

    /// Stores `payload`. It is on the disk when this returns, after one sync.
    ///
    /// # Errors
    /// If the payload cannot be written. Then the file may hold either payload, and the previous
    /// one is safe: the next store writes to the same slot again. If the file was deleted or
    /// replaced since it was opened, the error is [`NotFound`](io::ErrorKind::NotFound), because
    /// its content could not be found again.
    ///
    /// # Panics
    /// If `payload` is longer than [`MOST_PAYLOAD_BYTES`].
    pub fn store(&mut self, payload: &[u8]) -> io::Result<()> {
        assert_payload_fits(payload);
        let used_up = || io::Error::other("the sequence number of the file is used up");
        let next = Slot {
            sequence: self.newest.sequence.checked_add(1).ok_or_else(used_up)?,
            tag: self.newest.tag.clone(),
            payload: payload.to_owned(),
        };
        self.write(&next).map_err(|error| {
            let path = self.path.display();
            let what = format!("{path}: cannot be written: {error}: check the disk and try again");
            io::Error::new(error.kind(), what)
        })?;
        self.check_still_linked()?;
        self.newest = next;
        Ok(())
    }

    /// Checks that the file still has its name. A file without a name accepts writes, and is gone
    /// when it is closed.
    fn check_still_linked(&self) -> io::Result<()> {
        let path = self.path.display();
        match disk::is_at(&self.path, &self.file) {
            Ok(true) => Ok(()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(false) | Err(_) => Err(io::Error::new(
                io::ErrorKind::NotFound,
                format!("{path}: was deleted, or replaced by another file, while it was in use"),
            )),
        }
    }

    /// The payload that was stored last.
    pub(crate) fn payload(&self) -> &[u8] {
        &self.newest.payload
    }

    /// Ensures that the payload is on the disk, by writing it once more in place.
    pub(crate) fn confirm(&self) -> Result<(), OpenError> {
        self.write(&self.newest)
            .and_then(|()| disk::sync_directory(&self.path))
            .map_err(OpenError::io(&self.path))
    }

    /// As [`open`](Self::open), but the payload need not be on the disk: see
    /// [`confirm`](Self::confirm).
    pub(crate) fn read(busy: Busy, path: &Path, tag: &[u8]) -> Result<Self, OpenError> {
        let file = disk::open_locked(path, busy)?;
        let newest = disk::read(path, &file)?.newest(path, tag)?;
        let path = path.to_owned();
        Ok(Self { path, file, newest })
    }

    fn write(&self, slot: &Slot) -> io::Result<()> {
        let offset = image::offset_of(slot.sequence) as u64;
        self.file.write_all_at(&slot.encode(), offset)?;
        self.file.sync_data()
    }
}

impl Drop for SlotFile {
    fn drop(&mut self) {
        // Closing the file would not suffice: a process that is being started has a copy of it for
        // a moment, and with it the lock. If the unlock fails, this moment is its only cost.
        let _ = self.file.unlock();
    }
}

/// The first slot of a new file.
fn first(tag: &[u8], payload: &[u8]) -> Slot {
    let length = tag.len();
    assert!(length <= MOST_TAG_BYTES, "a tag of {length} bytes: {MOST_TAG_BYTES} at most");
    assert_payload_fits(payload);
    Slot { sequence: 2, tag: tag.to_owned(), payload: payload.to_owned() }
}

fn assert_payload_fits(payload: &[u8]) {
    let length = payload.len();
    assert!(
        length <= MOST_PAYLOAD_BYTES,
        "a payload of {length} bytes: {MOST_PAYLOAD_BYTES} at most"
    );
}
