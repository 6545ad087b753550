//! The contents of a whole slot file.

use std::path::Path;

use super::error::OpenError;
use super::format::{Fault, MAGIC, SLOT_BYTES, Slot};

/// Each slot has a page of its own, of which it uses the first sector: no disk writes both at once.
const PAGE_BYTES: usize = 4096;

/// The length of every slot file.
pub(super) const FILE_BYTES: usize = 2 * PAGE_BYTES;

/// A file's length, and its contents up to the length of a slot file.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) length: u64,
    pub(super) bytes: Vec<u8>,
}

/// The offset of the slot with this sequence number.
pub(super) fn offset_of(sequence: u64) -> usize {
    (sequence % 2) as usize * PAGE_BYTES
}

/// The contents of a new file, with the same payload in both slots. An empty slot is then always
/// damage.
pub(super) fn founding(newest: &Slot) -> [u8; FILE_BYTES] {
    let older = Slot { sequence: newest.sequence - 1, ..newest.clone() };
    let mut bytes = [0; FILE_BYTES];
    for slot in [newest, &older] {
        let offset = offset_of(slot.sequence);
        bytes[offset..offset + SLOT_BYTES].copy_from_slice(&slot.encode());
    }
    bytes
}

impl Image {
    /// The newest slot of the file at `path`, if it has `tag`.
    pub(super) fn newest(&self, path: &Path, tag: &[u8]) -> Result<Slot, OpenError> {
        let path = path.to_owned();
        if !self.is_ours() {
            return Err(OpenError::NotOurs(path));
        }
        if self.length != FILE_BYTES as u64 {
            let found = self.length;
            return Err(OpenError::Truncated { path, found });
        }
        let (even, odd) = self.bytes.split_at(PAGE_BYTES);
        let pages = [(0, decode(even)), (PAGE_BYTES, decode(odd))];
        // Checked first: the rest applies only to this version.
        for (_, slot) in &pages {
            if let Err(Fault::Version(found)) = *slot {
                return Err(OpenError::OtherVersion { path, found });
            }
        }
        let mut newest: Option<Slot> = None;
        for (offset, slot) in pages {
            let Some(slot) = slot.ok().filter(|it| offset_of(it.sequence) == offset) else {
                let offset = offset as u64;
                return Err(OpenError::Damaged { path, offset });
            };
            if slot.tag != tag {
                let [found, expected] =
                    [&slot.tag, tag].map(|tag| String::from_utf8_lossy(tag).into_owned());
                return Err(OpenError::Another { path, found, expected });
            }
            if newest.as_ref().is_none_or(|it| it.sequence < slot.sequence) {
                newest = Some(slot);
            }
        }
        Ok(newest.expect("there are two pages"))
    }

    /// True for a slot file and for any state in which a crash may leave one. A file system that
    /// crashed may leave zeros.
    pub(super) fn is_ours(&self) -> bool {
        let bytes = &self.bytes[..];
        let begins = |page: &[u8]| page.starts_with(&MAGIC);
        let is_short = self.length <= FILE_BYTES as u64;
        begins(bytes)
            || bytes.get(PAGE_BYTES..).is_some_and(begins)
            || MAGIC.starts_with(bytes)
            || (is_short && bytes.iter().all(|byte| *byte == 0))
    }
}

fn decode(page: &[u8]) -> Result<Slot, Fault> {
    let (slot, rest) = page.split_first_chunk::<SLOT_BYTES>().ok_or(Fault::Damaged)?;
    let slot = Slot::decode(slot)?;
    // The rest of the page is never written.
    if rest.iter().all(|byte| *byte == 0) { Ok(slot) } else { Err(Fault::Damaged) }
}
