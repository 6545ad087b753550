//! A few bytes that must never be forgotten, in a file of two slots.
//!
//! Each store goes to the older slot and is synced before it counts, so the newer one is whole at every instant. A
//! slot lies in one sector, which a disk writes wholly or not at all: a crash leaves the old value or the new one.
//! Whatever is found beyond that is damage and is refused, for the slot that is still whole may say less than was
//! promised.
//!
//! What was read may not be on the disk yet: whoever wrote it may have been killed before the sync, or have been
//! told that the sync failed. So a file that is opened is synced, by writing once more what it says.
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

pub use error::OpenError;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use disk::Busy;
use format::Slot;

/// The longest payload.
pub const MOST_PAYLOAD_BYTES: usize = 400;

/// The longest tag.
pub const MOST_TAG_BYTES: usize = 84;

/// A slot file that is open, and locked: no second one of the same file can be opened, by any process of this host.
#[derive(Debug)]
pub struct SlotFile {
    path: PathBuf,
    file: File,
    /// The last that was stored, or read.
    newest: Slot,
}

impl SlotFile {
    /// Creates a file that belongs to `tag` and says `payload`. It is there wholly or not at all.
    ///
    /// # Errors
    /// If there is something at `path` already, or the file cannot be written.
    ///
    /// # Panics
    /// If `tag` is longer than [`MOST_TAG_BYTES`] or `payload` than [`MOST_PAYLOAD_BYTES`].
    pub fn create(path: &Path, tag: &[u8], payload: &[u8]) -> Result<Self, OpenError> {
        let newest = first(tag, payload);
        let file = disk::create(path, &image::founding(&newest))?;
        let path = path.to_owned();
        Ok(Self { path, file, newest })
    }

    /// Opens a file that belongs to `tag`, and tells what was stored last. That is on the disk then.
    ///
    /// # Errors
    /// If there is no such file, or it is in use, or it is not what it should be.
    pub fn open(path: &Path, tag: &[u8]) -> Result<(Self, Vec<u8>), OpenError> {
        Self::open_unless(Busy::GiveUp, path, tag)
    }

    /// As [`open`](Self::open), once nobody else has the file. For files that nobody has for long.
    ///
    /// # Errors
    /// If there is no such file, or it is not what it should be.
    pub fn open_when_free(path: &Path, tag: &[u8]) -> Result<(Self, Vec<u8>), OpenError> {
        Self::open_unless(Busy::Wait, path, tag)
    }

    fn open_unless(busy: Busy, path: &Path, tag: &[u8]) -> Result<(Self, Vec<u8>), OpenError> {
        let slots = Self::read(path, tag, busy)?;
        slots.confirm()?;
        let payload = slots.payload().to_owned();
        Ok((slots, payload))
    }

    /// Makes a file belong to `tag` and say `payload`, whatever it said before: for when it is damaged, or what it
    /// said may be forgotten. Creates it where there is none. If this is interrupted the file is of no use until
    /// it is reset again.
    ///
    /// # Errors
    /// If it is in use, was never a slot file, or cannot be written.
    ///
    /// # Panics
    /// As [`create`](Self::create) does.
    pub fn reset(path: &Path, tag: &[u8], payload: &[u8]) -> Result<Self, OpenError> {
        Self::reset_unless(Busy::GiveUp, path, tag, payload)
    }

    /// As [`reset`](Self::reset), once nobody else has the file.
    pub(crate) fn reset_when_free(
        path: &Path,
        tag: &[u8],
        payload: &[u8],
    ) -> Result<Self, OpenError> {
        Self::reset_unless(Busy::Wait, path, tag, payload)
    }

    fn reset_unless(
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
            return Err(OpenError::NotOurs { path });
        }
        let newest = first(tag, payload);
        let overwritten = disk::overwrite(&path, &file, &image::founding(&newest));
        overwritten.map_err(OpenError::io(&path))?;
        Ok(Self { path, file, newest })
    }

    /// Stores `payload`. It is on the disk when this returns, after one sync.
    ///
    /// # Errors
    /// If it cannot be written. Then the file may say the one or the other, and what it said before is safe: the next
    /// store writes to the same slot again. If the file was deleted or replaced since it was opened, with
    /// [`NotFound`](io::ErrorKind::NotFound): nobody would find again what is stored in it.
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
        self.see_that_it_is_there()?;
        self.newest = next;
        Ok(())
    }

    /// A file that has no name any more takes whatever is written to it, and is gone when it is closed.
    fn see_that_it_is_there(&self) -> io::Result<()> {
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

    /// As [`open_when_free`](Self::open_when_free), but what it says need not be on the disk: see
    /// [`confirm`](Self::confirm).
    pub(crate) fn read_when_free(path: &Path, tag: &[u8]) -> Result<Self, OpenError> {
        Self::read(path, tag, Busy::Wait)
    }

    /// What was stored last.
    pub(crate) fn payload(&self) -> &[u8] {
        &self.newest.payload
    }

    /// Makes sure that what the file says is on the disk, by writing it where it stands once more.
    pub(crate) fn confirm(&self) -> Result<(), OpenError> {
        self.write(&self.newest)
            .and_then(|()| disk::sync_directory(&self.path))
            .map_err(OpenError::io(&self.path))
    }

    fn read(path: &Path, tag: &[u8], busy: Busy) -> Result<Self, OpenError> {
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
        // To close it would not do: a process that is being started has a copy of it for a moment, and with it the
        // lock. If this fails, that moment is all that it costs.
        let _ = self.file.unlock();
    }
}

/// What a new file says.
fn first(tag: &[u8], payload: &[u8]) -> Slot {
    let length = tag.len();
    assert!(
        length <= MOST_TAG_BYTES,
        "a tag of {length} bytes: {MOST_TAG_BYTES} at most"
    );
    assert_payload_fits(payload);
    Slot {
        sequence: 2,
        tag: tag.to_owned(),
        payload: payload.to_owned(),
    }
}

fn assert_payload_fits(payload: &[u8]) {
    let length = payload.len();
    assert!(
        length <= MOST_PAYLOAD_BYTES,
        "a payload of {length} bytes: {MOST_PAYLOAD_BYTES} at most"
    );
}
