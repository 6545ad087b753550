//! A fixed number of bytes: hexadecimal digits where people read, as they are elsewhere.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// `N` bytes: a digest, a signature.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes<const N: usize>(pub [u8; N]);

/// What stands for something longer.
pub type Digest = Bytes<32>;

impl<const N: usize> fmt::Display for Bytes<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl<const N: usize> fmt::Debug for Bytes<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
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
            true => deserializer.deserialize_str(Written),
            false => deserializer.deserialize_bytes(Written),
        }
    }
}

/// Bytes as they are written.
struct Written<const N: usize>;

impl<const N: usize> Visitor<'_> for Written<N> {
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
