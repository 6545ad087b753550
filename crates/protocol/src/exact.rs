//! Numbers of 64 bits in JSON that every program reads unchanged.
//!
//! Many programs, such as `jq` and every browser, keep JSON numbers as floating point and round
//! those above 2^53. An identity must not change. It is therefore written as a string in formats
//! for people, and as a plain number in binary formats (the bytes of frames stay as they are). Both
//! forms are read.
//!
//! For a field: `#[serde(with = "hustings_protocol::exact")]`.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use serde::ser::Serializer;

/// Writes a string in human-readable formats, else the number.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() {
        serializer.collect_str(number)
    } else {
        serializer.serialize_u64(*number)
    }
}

/// Reads a string of decimal digits or a number in human-readable formats, else a number.
///
/// # Errors
/// Those of the deserializer, and a value that is neither.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    if deserializer.is_human_readable() {
        deserializer.deserialize_any(Digits)
    } else {
        u64::deserialize(deserializer)
    }
}

struct Digits;

impl Visitor<'_> for Digits {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number below 2^64, as decimal digits in a string or plain")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        Ok(number)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
        let is_digits = text.bytes().all(|it| it.is_ascii_digit());
        let number = text.parse().ok().filter(|_| is_digits);
        number.ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}
