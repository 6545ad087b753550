//! Sealed frames: without the group's key no process can read, forge or alter a message.
//!
//! Purpose     authenticated encryption of frames, with a header that says why a frame cannot be
//!             opened
//! Inputs      the keys, and a fresh random nonce for each frame
//! Outputs     sealed frames; the content of opened ones, or a [`Rejected`] reason
//! Owns        the keys of one member of one group
//! Invariants  the header is authenticated together with the content; the first key seals, all keys
//!             open
//!
//! The layout of a frame on the wire:
//!
//! | Bytes | Field | Purpose |
//! |---|---|---|
//! | 1 | version | the layout: [`VERSION`] |
//! | 4 | group tag | from the group's name, public: separates other groups from wrong keys |
//! | 4 | key id | from the key, reveals nothing of it: selects the key of the ring |
//! | 4 | receiver tag | from the receiver's identity; zero if every member may open it |
//! | 24 | nonce | drawn at random for each frame |
//! | n | content | a [`Frame`](crate::frame::Frame), encrypted with XChaCha20 |
//! | 16 | tag | Poly1305 over header and content |
//!
//! The nonce is long enough to be drawn at random. It contains no counter: a machine that is
//! started twice from one snapshot would use the same counter values twice.

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{Tag, XChaCha20Poly1305, XNonce};
use hustings_protocol::MemberId;
use serde::{Deserialize, Serialize};

use crate::identity::group_id;

/// The version of the layout that this program reads and writes.
pub const VERSION: u8 = 3;

const SHORT_TAG_BYTES: usize = 4;
const NONCE_BYTES: usize = 24;
const SEAL_BYTES: usize = 16;
const HEADER_BYTES: usize = 1 + 3 * SHORT_TAG_BYTES + NONCE_BYTES;

/// The number of bytes that sealing adds to a frame.
pub const OVERHEAD_BYTES: usize = HEADER_BYTES + SEAL_BYTES;

/// Bytes that no two frames under one key may share. Drawn at random for each frame.
pub type Nonce = [u8; NONCE_BYTES];

/// A few public bytes that distinguish groups, keys or receivers.
type ShortTag = [u8; SHORT_TAG_BYTES];

/// The receiver tag of frames that every member may open.
const FOR_ALL: ShortTag = [0; SHORT_TAG_BYTES];

/// The secret that the members of a group share: 32 bytes, written as 64 hexadecimal digits.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Key([u8; 32]);

impl Key {
    /// Draws a new key from the operating system.
    ///
    /// # Errors
    /// Fails if the operating system has no randomness to give.
    pub fn generate() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// The key of a group that has no secret. It separates groups and detects damaged frames, but
    /// does not stop an attacker.
    pub fn public(group: &str) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&group_id(group).to_le_bytes());
        Self(bytes)
    }

    /// A public identifier of this key, which reveals nothing of the key.
    fn id(&self) -> ShortTag {
        // The cipher's own key stream at the all-zero nonce, which no frame draws.
        let mut block = [0; SHORT_TAG_BYTES];
        let cipher = XChaCha20Poly1305::new(&self.0.into());
        // Four bytes are within the cipher's limit, so this cannot fail.
        let _ =
            cipher.encrypt_inout_detached(&XNonce::default(), b"id", block.as_mut_slice().into());
        block
    }
}

impl TryFrom<String> for Key {
    type Error = BadKey;

    fn try_from(text: String) -> Result<Self, BadKey> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text.trim(), &mut bytes).map_err(|_| BadKey)?;
        Ok(Self(bytes))
    }
}

impl From<Key> for String {
    fn from(key: Key) -> Self {
        hex::encode(key.0)
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)") // keeps the key out of logs
    }
}

/// A text that is not a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a key: 64 hexadecimal digits are needed (`hustings keys generate` prints one)")]
pub struct BadKey;

/// The keys of one member of one group. The first key seals and all keys open, so that keys can be
/// changed without a pause.
pub struct Keyring {
    group: ShortTag,
    own: ShortTag,
    keys: Vec<(ShortTag, XChaCha20Poly1305)>,
}

/// The part of a frame's header that is read before the frame is opened.
struct Header {
    group: ShortTag,
    key: ShortTag,
    receiver: ShortTag,
}

impl Header {
    fn read(frame: &[u8]) -> Result<Self, Rejected> {
        match frame.first() {
            None => return Err(Rejected::Truncated),
            Some(&VERSION) => {}
            Some(_) => return Err(Rejected::Version),
        }
        if frame.len() < OVERHEAD_BYTES {
            return Err(Rejected::Truncated);
        }
        let ([group, key, receiver, ..], _) = frame[1..].as_chunks() else {
            return Err(Rejected::Truncated); // checked above
        };
        Ok(Self { group: *group, key: *key, receiver: *receiver })
    }
}

/// The tag of one member. It is never zero, the tag of all members.
fn receiver_tag(id: MemberId) -> ShortTag {
    (id.0 as u32).max(1).to_le_bytes()
}

impl Keyring {
    /// The keys of the member `own` of the group `group`. `sealing` seals, and all keys open.
    pub fn new(group: &str, own: MemberId, sealing: &Key, others: &[Key]) -> Self {
        let keys = std::iter::once(sealing).chain(others);
        Self {
            group: (group_id(group) as u32).to_le_bytes(),
            own: receiver_tag(own),
            keys: keys.map(|key| (key.id(), XChaCha20Poly1305::new(&key.0.into()))).collect(),
        }
    }

    /// True if the header of `frame` names this group, under any key.
    pub fn is_of_group(&self, frame: &[u8]) -> bool {
        Header::read(frame).is_ok_and(|it| it.group == self.group)
    }

    /// True if the header of `frame` names this group and a key of this ring.
    pub fn knows(&self, frame: &[u8]) -> bool {
        let knows = |key: ShortTag| self.keys.iter().any(|(known, _)| *known == key);
        Header::read(frame).is_ok_and(|it| it.group == self.group && knows(it.key))
    }

    /// Clears `frame` and seals `content` into it, for the member `receiver` or, with `None`, for
    /// every member.
    pub fn seal(
        &self,
        nonce: &Nonce,
        receiver: Option<MemberId>,
        content: &[u8],
        frame: &mut Vec<u8>,
    ) {
        let (id, cipher) = &self.keys[0]; // `new` stores at least one
        let receiver = receiver.map_or(FOR_ALL, receiver_tag);
        *frame = [&[VERSION], &self.group[..], id, &receiver, nonce, content].concat();
        let (header, body) = frame.split_at_mut(HEADER_BYTES);
        let sealed = cipher.encrypt_inout_detached(&XNonce::from(*nonce), header, body.into());
        // Fails only for more than 256 GiB, and frames are shorter.
        if let Ok(tag) = sealed {
            frame.extend_from_slice(&tag);
        }
    }

    /// Opens `frame` in place and returns its content.
    ///
    /// # Errors
    /// The reason why the frame is not one of this group's, or is not for this member.
    pub fn open<'f>(&self, frame: &'f mut [u8]) -> Result<&'f [u8], Rejected> {
        let read = Header::read(frame)?;
        if read.group != self.group {
            return Err(Rejected::Group);
        }
        let key = self.keys.iter().find(|(known, _)| *known == read.key);
        let (_, cipher) = key.ok_or(Rejected::Key)?;
        if read.receiver != FOR_ALL && read.receiver != self.own {
            return Err(Rejected::Receiver);
        }
        let (header, rest) = frame.split_at_mut(HEADER_BYTES);
        let nonce = &header[HEADER_BYTES - NONCE_BYTES..];
        let (body, tag) = rest.split_at_mut(rest.len() - SEAL_BYTES);
        // The splits above give exactly NONCE_BYTES and SEAL_BYTES.
        let (Ok(nonce), Ok(tag)) = (XNonce::try_from(nonce), Tag::try_from(&*tag)) else {
            return Err(Rejected::Truncated);
        };
        let opened = cipher.decrypt_inout_detached(&nonce, header, (&mut *body).into(), &tag);
        opened.map(|()| &*body).map_err(|_| Rejected::Seal)
    }
}

/// The reason why a frame is refused. The node counts the refusal and does nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejected {
    /// Shorter than the shortest frame.
    Truncated,
    /// A layout that this program does not support.
    Version,
    /// Sealed under a key that this group does not have.
    Key,
    /// Altered in transit, or forged.
    Seal,
    /// Sealed correctly, but the content is not a valid message.
    Malformed,
    /// A frame of another group.
    Group,
    /// Sealed for another member.
    Receiver,
    /// Received before, or too old to decide.
    Replayed,
}

#[cfg(test)]
mod tests {
    use super::{
        HEADER_BYTES, Key, Keyring, NONCE_BYTES, Nonce, OVERHEAD_BYTES, Rejected, VERSION,
    };
    use hustings_protocol::MemberId;

    const OWN: MemberId = MemberId(7);
    const OTHER: MemberId = MemberId(8);
    const NONCE: Nonce = [5; NONCE_BYTES];

    fn ring(key: &Key, others: &[Key]) -> Keyring {
        Keyring::new("group", OWN, key, others)
    }

    fn sealed(key: &Key, content: &[u8]) -> Vec<u8> {
        sealed_for(None, key, content)
    }

    fn sealed_for(receiver: Option<MemberId>, key: &Key, content: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        ring(key, &[]).seal(&NONCE, receiver, content, &mut frame);
        frame
    }

    #[test]
    fn any_key_of_the_ring_opens_a_frame() {
        let (old, new) = (Key::generate().unwrap(), Key::generate().unwrap());
        let both = ring(&new, std::slice::from_ref(&old));
        for key in [&old, &new] {
            let mut frame = sealed(key, b"vote");
            assert_eq!(frame.len(), 4 + OVERHEAD_BYTES);
            assert_eq!(both.open(&mut frame), Ok(&b"vote"[..]));
        }
        let mut frame = sealed(&new, b"vote");
        assert_eq!(ring(&old, &[]).open(&mut frame), Err(Rejected::Key));
    }

    #[test]
    fn other_group_differs_from_other_key() {
        let (key, other_key) = (Key::generate().unwrap(), Key::generate().unwrap());
        for key in [&key, &other_key] {
            let mut frame = Vec::new();
            Keyring::new("elsewhere", OTHER, key, &[]).seal(&NONCE, None, b"vote", &mut frame);
            let ours = ring(key, &[]);
            assert!(!ours.is_of_group(&frame) && !ours.knows(&frame));
            assert_eq!(ours.open(&mut frame), Err(Rejected::Group));
        }
        let mut frame = sealed(&other_key, b"vote");
        let ours = ring(&key, &[]);
        assert!(ours.is_of_group(&frame) && !ours.knows(&frame));
        assert_eq!(ours.open(&mut frame), Err(Rejected::Key));
    }

    #[test]
    fn frame_for_one_member_is_refused_by_the_others() {
        let key = Key::generate().unwrap();
        let opened = |receiver| {
            let mut frame = sealed_for(receiver, &key, b"vote");
            ring(&key, &[]).open(&mut frame).map(<[u8]>::to_vec)
        };
        assert_eq!(opened(Some(OTHER)), Err(Rejected::Receiver));
        for receiver in [Some(OWN), None] {
            assert_eq!(opened(receiver), Ok(b"vote".to_vec()));
        }
        // The receiver tag is authenticated: an attacker cannot redirect a frame.
        let mut moved = sealed_for(Some(OTHER), &key, b"vote");
        let own = sealed_for(Some(OWN), &key, b"");
        let header = HEADER_BYTES - NONCE_BYTES;
        moved[..header].copy_from_slice(&own[..header]);
        assert_eq!(ring(&key, &[]).open(&mut moved), Err(Rejected::Seal));
    }

    #[test]
    fn flipped_or_truncated_frames_are_refused() {
        let key = Key::generate().unwrap();
        let ring = ring(&key, &[]);
        let frame = sealed(&key, b"I lead");
        for bit in 0..frame.len() * 8 {
            let mut flipped = frame.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(ring.open(&mut flipped).is_err(), "bit {bit}");
        }
        for length in 0..frame.len() {
            assert!(ring.open(&mut frame.clone()[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn key_is_written_in_hexadecimal_and_never_logged() {
        let key = Key::generate().unwrap();
        let text = String::from(key.clone());
        assert_eq!(Key::try_from(text.clone()), Ok(key.clone()));
        assert!(!format!("{key:?}").contains(&text));
        assert!(Key::try_from("abc".to_owned()).is_err());
    }

    /// An operator decides by that page whether two builds can run in one group.
    #[test]
    fn configuration_page_names_the_layout_version() {
        let page = include_str!("../../../docs/src/configuration.md");
        for text in [format!("It is {VERSION} now"), format!("| 1 | version | {VERSION} |")] {
            assert!(page.contains(&text), "{text}");
        }
    }
}
