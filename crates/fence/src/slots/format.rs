//! One slot as bytes: one checksum, in one sector.
//!
//! | Bytes | Content |
//! |---|---|
//! | 0..8 | [`MAGIC`] |
//! | 8..12 | the version of this layout |
//! | 12..14 | the tag's length |
//! | 14..16 | the payload's length |
//! | 16..24 | the sequence number |
//! | 24..508 | the tag, the payload, zeros |
//! | 508..512 | CRC-32 of all before it |
//!
//! Numbers are little-endian. Every version keeps the magic, the version and the checksum in place,
//! so that an older program can distinguish a newer file from a damaged one.

use super::{MOST_PAYLOAD_BYTES, MOST_TAG_BYTES};

/// The first bytes of a slot.
pub(super) const MAGIC: [u8; 8] = *b"HUSTSLOT";

/// The version of the layout.
pub(super) const VERSION: u32 = 1;

/// The smallest sector of any disk: a disk writes it wholly or not at all.
pub(super) const SLOT_BYTES: usize = 512;

const HEADER_BYTES: usize = 24;
const CHECKED_BYTES: usize = SLOT_BYTES - 4;
const _: () = assert!(HEADER_BYTES + MOST_TAG_BYTES + MOST_PAYLOAD_BYTES <= CHECKED_BYTES);

/// The content of a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) sequence: u64,
    pub(super) tag: Vec<u8>,
    pub(super) payload: Vec<u8>,
}

/// The reason why bytes are not a slot of this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The bytes do not begin as a slot does.
    Magic,
    /// The bytes begin as a slot does, but the rest is damaged.
    Damaged,
    /// An intact slot of another version.
    Version(u32),
}

impl Slot {
    pub(super) fn encode(&self) -> [u8; SLOT_BYTES] {
        let Self { sequence, tag, payload } = self;
        let mut bytes = Vec::with_capacity(SLOT_BYTES);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((tag.len() as u16).to_le_bytes());
        bytes.extend((payload.len() as u16).to_le_bytes());
        bytes.extend(sequence.to_le_bytes());
        bytes.extend(tag);
        bytes.extend(payload);

        let mut slot = [0; SLOT_BYTES];
        slot[..bytes.len()].copy_from_slice(&bytes);
        seal(&mut slot);
        slot
    }

    pub(super) fn decode(bytes: &[u8; SLOT_BYTES]) -> Result<Self, Fault> {
        let (checked, checksum) = bytes.split_at(CHECKED_BYTES);
        if !checked.starts_with(&MAGIC) {
            return Err(Fault::Magic);
        }
        if crc32fast::hash(checked).to_le_bytes() != checksum {
            return Err(Fault::Damaged);
        }
        let version = u32::from_le_bytes(array(bytes, 8));
        if version != VERSION {
            return Err(Fault::Version(version));
        }
        let tag_bytes = usize::from(u16::from_le_bytes(array(bytes, 12)));
        let payload_bytes = usize::from(u16::from_le_bytes(array(bytes, 14)));
        if tag_bytes > MOST_TAG_BYTES || payload_bytes > MOST_PAYLOAD_BYTES {
            return Err(Fault::Damaged); // no program writes this, even if the checksum matches
        }
        let (tag, rest) = checked[HEADER_BYTES..].split_at(tag_bytes);
        Ok(Self {
            sequence: u64::from_le_bytes(array(bytes, 16)),
            tag: tag.to_owned(),
            payload: rest[..payload_bytes].to_owned(),
        })
    }
}

/// Sets the checksum of a slot.
pub(super) fn seal(slot: &mut [u8; SLOT_BYTES]) {
    let checksum = crc32fast::hash(&slot[..CHECKED_BYTES]);
    slot[CHECKED_BYTES..].copy_from_slice(&checksum.to_le_bytes());
}

/// The `N` bytes at `offset`, which must lie within the slot.
pub(super) fn array<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[offset..offset + N]);
    array
}

#[cfg(test)]
mod tests {
    use super::{Fault, SLOT_BYTES, Slot, seal};
    use crate::slots::{MOST_PAYLOAD_BYTES, MOST_TAG_BYTES};

    fn slot(tag: usize, payload: usize) -> Slot {
        Slot { sequence: 0x0102_0304_0506_0708, tag: vec![b't'; tag], payload: vec![b'p'; payload] }
    }

    #[test]
    fn slot_decodes_to_what_was_encoded() {
        for tag in [0, 1, MOST_TAG_BYTES] {
            for payload in [0, 1, MOST_PAYLOAD_BYTES] {
                let slot = slot(tag, payload);
                assert_eq!(Slot::decode(&slot.encode()), Ok(slot));
            }
        }
    }

    #[test]
    fn the_layout_does_not_change_by_accident() {
        let bytes = slot(2, 3).encode();
        let head = b"HUSTSLOT\x01\0\0\0\x02\0\x03\0\x08\x07\x06\x05\x04\x03\x02\x01ttppp\0";
        assert_eq!(&bytes[..head.len()], head);
        assert_eq!(bytes[508..], [0xea, 0xb1, 0x44, 0x9c]);
    }

    #[test]
    fn no_bit_can_flip_unnoticed() {
        let bytes = slot(5, 40).encode();
        for bit in 0..SLOT_BYTES * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            let expected = match bit / 8 {
                ..8 => Fault::Magic,
                _ => Fault::Damaged,
            };
            assert_eq!(Slot::decode(&flipped), Err(expected), "bit {bit}");
        }
    }

    #[test]
    fn slot_of_another_version_is_distinguished_from_damage() {
        let mut bytes = slot(5, 40).encode();
        bytes[8] = 7;
        seal(&mut bytes);
        assert_eq!(Slot::decode(&bytes), Err(Fault::Version(7)));
    }

    #[test]
    fn impossible_lengths_are_damage() {
        for offset in [12, 14] {
            let mut bytes = slot(5, 40).encode();
            bytes[offset..offset + 2].copy_from_slice(&u16::MAX.to_le_bytes());
            seal(&mut bytes);
            assert_eq!(Slot::decode(&bytes), Err(Fault::Damaged));
        }
    }
}
