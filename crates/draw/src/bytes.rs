//! Byte arrays of fixed length. Text formats hold them as hexadecimal digits, binary formats as raw
//! bytes.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An array of `N` bytes, such as a digest or a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes<const N: usize>(pub [u8; N]);

/// A SHA-256 digest.
pub type Digest = Bytes<32>;

impl<const N: usize> Default for Bytes<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> fmt::Display for Bytes<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl<const N: usize> Serialize for Bytes<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serializer.collect_str(self),
            false => serializer.serialize_bytes(&self.0),
        }
    }
}

impl<'de, const N: usize> Deserialize<'de> for Bytes<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.is_human_readable() {
            true => deserializer.deserialize_str(Sourced),
            false => deserializer.deserialize_bytes(Sourced),
        }
    }
}

/// Visitor that reads `N` bytes from hexadecimal text or from raw bytes.
struct Sourced<const N: usize>;

impl<const N: usize> Visitor<'_> for Sourced<N> {
    type Value = Bytes<N>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} hexadecimal digits", 2 * N)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Bytes<N>, E> {
        let mut bytes = [0; N];
        match hex::decode_to_slice(text, &mut bytes) {
            Ok(()) => Ok(Bytes(bytes)),
            Err(_) => Err(E::custom(format!("not {} hexadecimal digits", 2 * N))),
        }
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Bytes<N>, E> {
        let bytes = bytes.try_into();
        let bytes = bytes.map_err(|_| E::custom(format!("not {N} bytes")))?;
        Ok(Bytes(bytes))
    }
}

/// Encodes a value as links send it and as signatures and hashes cover it.
pub(crate) fn encode(value: &impl Serialize) -> Vec<u8> {
    // Serializing the crate's own plain types to memory cannot fail.
    postcard::to_allocvec(value).unwrap_or_default()
}
