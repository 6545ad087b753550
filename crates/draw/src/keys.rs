//! A member's key, which signs its messages and authenticates its links.
//!
//! One Ed25519 key serves both purposes. Its X25519 form (the same secret scalar, the same point)
//! authenticates the links. Members therefore exchange one key each and cannot confuse two.

use std::io;
use std::path::Path;

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};

use super::bytes::Bytes;
use hustings_system::secret_file::{self, SecretFileError};

/// A member's secret key.
#[derive(Clone)]
pub struct Secret(SigningKey);

/// A member's public key: 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Bytes<32>", into = "Bytes<32>")]
pub struct PublicKey(VerifyingKey);

const EXISTS: &str = "the file exists, and its key may be in use: choose another file";
const EXPOSED: &str = "users other than the owner can read this secret key: run chmod 600, and make a new key \
     if one of them may have read it";
const NOT_A_SECRET_KEY: &str =
    "not a secret key: 64 hexadecimal digits are needed (`hustings draw keygen` makes one)";
const NOT_A_PUBLIC_KEY: &str =
    "not a public key: it has no secret key (`hustings draw keygen` makes one)";

/// The reason for which a key cannot be read, written, generated or used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct KeyError(String);

impl Secret {
    /// Generates a new key from the operating system's randomness.
    ///
    /// # Errors
    /// If the operating system has no randomness.
    pub fn generate() -> Result<Self, KeyError> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| {
            KeyError(format!("the operating system gave no random bytes: {error}"))
        })?;
        Ok(Self(SigningKey::from_bytes(&bytes)))
    }

    /// Reads a key from a file that only its owner can read.
    ///
    /// # Errors
    /// If the file is readable by others, cannot be read, or does not contain a key.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let text = secret_file::read(path).map_err(|error| match error {
            SecretFileError::Io(error) => KeyError(format!("cannot read the key: {error}")),
            SecretFileError::Exposed => KeyError(EXPOSED.to_owned()),
        })?;
        let mut bytes = [0; 32];
        hex::decode_to_slice(text.trim(), &mut bytes)
            .map_err(|_| KeyError(NOT_A_SECRET_KEY.to_owned()))?;
        Ok(Self(SigningKey::from_bytes(&bytes)))
    }

    /// Writes the key to a new file that only its owner can read.
    ///
    /// # Errors
    /// If the file exists or cannot be created.
    pub fn write(&self, path: &Path) -> Result<(), KeyError> {
        let text = hex::encode(self.0.to_bytes()) + "\n";
        secret_file::write_new(path, &text).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => KeyError(EXISTS.to_owned()),
            _ => KeyError(format!("cannot write the key: {error}")),
        })
    }

    /// The public key that belongs to this secret.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    pub(super) fn sign(&self, signed: &[u8]) -> Bytes<64> {
        Bytes(self.0.sign(signed).to_bytes())
    }

    /// The X25519 form of the secret.
    pub(super) fn exchange(&self) -> [u8; 32] {
        self.0.to_scalar_bytes()
    }
}

impl PublicKey {
    /// True if the holder of the secret signed `signed`.
    pub(super) fn has_signed(&self, signed: &[u8], signature: &Bytes<64>) -> bool {
        let signature = Signature::from_bytes(&signature.0);
        self.0.verify_strict(signed, &signature).is_ok()
    }

    /// The X25519 form of the key.
    pub(super) fn exchange(&self) -> [u8; 32] {
        self.0.to_montgomery().to_bytes()
    }
}

impl TryFrom<Bytes<32>> for PublicKey {
    type Error = KeyError;

    fn try_from(bytes: Bytes<32>) -> Result<Self, KeyError> {
        let key = VerifyingKey::from_bytes(&bytes.0).ok().filter(|key| !key.is_weak());
        key.map(Self).ok_or_else(|| KeyError(NOT_A_PUBLIC_KEY.to_owned()))
    }
}

impl From<PublicKey> for Bytes<32> {
    fn from(key: PublicKey) -> Self {
        Self(key.0.to_bytes())
    }
}

impl std::fmt::Display for PublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Bytes::from(*self).fmt(f)
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)") // keeps the secret out of logs
    }
}

#[cfg(test)]
mod tests {
    use super::{PublicKey, Secret};
    use crate::bytes::Bytes;
    use curve25519_dalek::MontgomeryPoint;

    #[test]
    fn x25519_forms_of_a_key_pair_match() {
        let secret = Secret::generate().unwrap();
        let exchanged = MontgomeryPoint::mul_base_clamped(secret.exchange());
        assert_eq!(exchanged.to_bytes(), secret.public().exchange());
    }

    #[test]
    fn signature_fits_only_the_signed_bytes_and_key() {
        let (one, other) = (Secret::generate().unwrap(), Secret::generate().unwrap());
        let signature = one.sign(b"heads");
        assert!(one.public().has_signed(b"heads", &signature));
        assert!(!one.public().has_signed(b"tails", &signature));
        assert!(!other.public().has_signed(b"heads", &signature));
    }

    #[test]
    fn weak_public_key_is_refused() {
        let mut neutral = [0; 32];
        neutral[0] = 1;
        assert!(PublicKey::try_from(Bytes(neutral)).is_err());
    }
}
