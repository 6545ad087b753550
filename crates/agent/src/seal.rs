//! Sealed frames: nobody without the group's key reads, forges or alters what members say.
//!
//! A frame on the wire is a version byte, four bytes that tell the key, a nonce of 24 bytes, and the
//! content under XChaCha20-Poly1305. Two thirds of the long nonce are drawn at random when a member comes up, the
//! rest counts its frames: so no two processes that share a key need to agree on who has used which.

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{Tag, XChaCha20Poly1305, XNonce};
use serde::{Deserialize, Serialize};

/// The layout that this program speaks.
pub const VERSION: u8 = 1;

const KEY_ID_BYTES: usize = 4;
const NONCE_BYTES: usize = 24;
const DRAWN_BYTES: usize = 16;
const TAG_BYTES: usize = 16;
const HEADER_BYTES: usize = 1 + KEY_ID_BYTES + NONCE_BYTES;

/// By how much sealing lengthens a frame.
pub const OVERHEAD_BYTES: usize = HEADER_BYTES + TAG_BYTES;

/// A secret that the members of a group share: 32 bytes, written as 64 hexadecimal digits.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Key([u8; 32]);

impl Key {
    /// A new one, drawn by the operating system.
    ///
    /// # Errors
    /// If the operating system has no randomness to give.
    pub fn generate() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// For a group that has no secret: keeps groups apart and damaged frames out, and no enemy.
    pub fn public(group: &str) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&crate::identity::group_id(group).to_le_bytes());
        Self(bytes)
    }

    /// What tells this key from others, and tells nothing of it.
    fn id(&self) -> [u8; KEY_ID_BYTES] {
        // The cipher's own key stream at the nonce of all zeros, which no frame draws.
        let mut block = [0; KEY_ID_BYTES];
        let cipher = XChaCha20Poly1305::new(&self.0.into());
        // Four bytes are within what the cipher can seal, so this cannot fail.
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
        f.write_str("Key(..)") // never into a log
    }
}

/// A key that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a key: 64 hexadecimal digits are needed (`hustings keys generate` prints one)")]
pub struct BadKey;

/// The keys of one group: the first seals, all open, so that keys change without a pause.
pub struct Keyring {
    keys: Vec<([u8; KEY_ID_BYTES], XChaCha20Poly1305)>,
    nonces: Nonces,
}

/// Nonces that nobody else uses: the operating system is asked for randomness once, not for each frame.
#[derive(Debug, Default)]
struct Nonces {
    drawn: Option<[u8; DRAWN_BYTES]>,
    used: u64,
}

impl Nonces {
    fn next(&mut self) -> Result<[u8; NONCE_BYTES], getrandom::Error> {
        let drawn = match self.drawn.filter(|_| self.used < u64::MAX) {
            Some(drawn) => drawn,
            None => {
                let mut drawn = [0; DRAWN_BYTES];
                getrandom::fill(&mut drawn)?;
                self.used = 0;
                *self.drawn.insert(drawn)
            }
        };
        self.used += 1;
        let mut nonce = [0; NONCE_BYTES];
        nonce[..DRAWN_BYTES].copy_from_slice(&drawn);
        nonce[DRAWN_BYTES..].copy_from_slice(&self.used.to_le_bytes());
        Ok(nonce)
    }
}

impl Keyring {
    /// The first key seals.
    pub fn new(sealing: &Key, others: &[Key]) -> Self {
        let keys = std::iter::once(sealing).chain(others);
        Self {
            keys: keys
                .map(|key| (key.id(), XChaCha20Poly1305::new(&key.0.into())))
                .collect(),
            nonces: Nonces::default(),
        }
    }

    /// Whether `frame` is sealed under one of these keys, by what it says.
    pub fn knows(&self, frame: &[u8]) -> bool {
        let id = frame.get(1..=KEY_ID_BYTES);
        self.keys.iter().any(|(known, _)| Some(&known[..]) == id)
    }

    /// What tells these keys from others.
    pub fn ids(&self) -> Vec<[u8; KEY_ID_BYTES]> {
        self.keys.iter().map(|(id, _)| *id).collect()
    }

    /// Seals `content` into `frame`, which is emptied first.
    ///
    /// # Errors
    /// If the operating system has no randomness to give.
    pub fn seal(&mut self, content: &[u8], frame: &mut Vec<u8>) -> Result<(), getrandom::Error> {
        let nonce = self.nonces.next()?;
        let (id, cipher) = &self.keys[0]; // `new` has put one there
        frame.clear();
        frame.push(VERSION);
        frame.extend_from_slice(id);
        frame.extend_from_slice(&nonce);
        frame.extend_from_slice(content);
        let (header, body) = frame.split_at_mut(HEADER_BYTES);
        let sealed = cipher.encrypt_inout_detached(&XNonce::from(nonce), header, body.into());
        // Fails only for more than 256 GiB, which is no frame of ours.
        if let Ok(tag) = sealed {
            frame.extend_from_slice(&tag);
        }
        Ok(())
    }

    /// Opens `frame` in place and returns its content.
    ///
    /// # Errors
    /// Tells why it is not one of this group's.
    pub fn open<'f>(&self, frame: &'f mut [u8]) -> Result<&'f [u8], Rejected> {
        match frame.first() {
            None => return Err(Rejected::Truncated),
            Some(&VERSION) => {}
            Some(_) => return Err(Rejected::Version),
        }
        if frame.len() < OVERHEAD_BYTES {
            return Err(Rejected::Truncated);
        }
        let (header, rest) = frame.split_at_mut(HEADER_BYTES);
        let (id, nonce) = header[1..].split_at(KEY_ID_BYTES);
        let key = self.keys.iter().find(|(known, _)| known == id);
        let (_, cipher) = key.ok_or(Rejected::Key)?;
        let (body, tag) = rest.split_at_mut(rest.len() - TAG_BYTES);
        // Lengths: NONCE_BYTES and TAG_BYTES, by the splits above.
        let (Ok(nonce), Ok(tag)) = (XNonce::try_from(nonce), Tag::try_from(&*tag)) else {
            return Err(Rejected::Truncated);
        };
        let opened = cipher.decrypt_inout_detached(&nonce, header, (&mut *body).into(), &tag);
        match opened {
            Ok(()) => Ok(body),
            Err(_) => Err(Rejected::Seal),
        }
    }
}

/// Why a frame is not let in. Each is counted, and nothing else happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// Shorter than the shortest frame.
    #[error("truncated")]
    Truncated,
    /// A layout that this program does not speak.
    #[error("unknown version")]
    Version,
    /// Sealed under a key that this group does not have.
    #[error("unknown key")]
    Key,
    /// Altered on the way, or forged.
    #[error("broken seal")]
    Seal,
    /// Sealed rightly, but not what a member would say.
    #[error("malformed content")]
    Malformed,
    /// Of another group.
    #[error("another group's")]
    Group,
    /// Heard before, or too old to tell.
    #[error("replayed")]
    Replayed,
}

#[cfg(test)]
mod tests {
    use super::{
        DRAWN_BYTES, HEADER_BYTES, KEY_ID_BYTES, Key, Keyring, Nonces, OVERHEAD_BYTES, Rejected,
    };
    use std::collections::BTreeSet;

    fn sealed(key: &Key, content: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        Keyring::new(key, &[]).seal(content, &mut frame).unwrap();
        frame
    }

    #[test]
    fn what_is_sealed_opens_with_any_key_of_the_ring() {
        let (old, new) = (Key::generate().unwrap(), Key::generate().unwrap());
        let ring = Keyring::new(&new, std::slice::from_ref(&old));
        for key in [&old, &new] {
            let mut frame = sealed(key, b"vote");
            assert_eq!(frame.len(), 4 + OVERHEAD_BYTES);
            assert_eq!(ring.open(&mut frame), Ok(&b"vote"[..]));
        }
        let mut frame = sealed(&new, b"vote");
        let only_old = Keyring::new(&old, &[]);
        assert_eq!(only_old.open(&mut frame), Err(Rejected::Key));
    }

    #[test]
    fn no_nonce_is_used_twice_by_one_ring_or_by_two() {
        let key = Key::generate().unwrap();
        let mut rings = [Keyring::new(&key, &[]), Keyring::new(&key, &[])];
        let mut nonces = BTreeSet::new();
        for _ in 0..1_000 {
            for ring in &mut rings {
                let mut frame = Vec::new();
                ring.seal(b"vote", &mut frame).unwrap();
                assert!(nonces.insert(frame[1 + KEY_ID_BYTES..HEADER_BYTES].to_vec()));
            }
        }
        let mut worn_out = Nonces {
            drawn: Some([7; DRAWN_BYTES]),
            used: u64::MAX,
        };
        assert_ne!(worn_out.next().unwrap()[..DRAWN_BYTES], [7; DRAWN_BYTES]);
    }

    #[test]
    fn no_flip_and_no_cut_gets_through() {
        let key = Key::generate().unwrap();
        let ring = Keyring::new(&key, &[]);
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
    fn a_key_is_written_in_hexadecimal_and_never_logged() {
        let key = Key::generate().unwrap();
        let text = String::from(key.clone());
        assert_eq!(Key::try_from(text.clone()), Ok(key.clone()));
        assert!(!format!("{key:?}").contains(&text));
        assert!(Key::try_from("abc".to_owned()).is_err());
    }
}
