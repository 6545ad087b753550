//! A member's key: who signs what it says, and to whom a link leads.
//!
//! One Ed25519 key serves both. Its signatures bind a member to what it said, and its X25519 form (the same secret number,
//! the same point) authenticates the links, so that there is one key to exchange and none to mix up with it.

use std::io;
use std::path::Path;

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};

use super::bytes::Bytes;
use crate::secret_file::{self, SecretFileError};

/// What a member keeps to itself.
#[derive(Clone)]
pub struct Secret(SigningKey);

/// What all others know it by: 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Bytes<32>", into = "Bytes<32>")]
pub struct PublicKey(VerifyingKey);

/// Why a secret key cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// There is no chance to be had.
    #[error("the operating system has no randomness to give: {0}")]
    Randomness(getrandom::Error),
    /// The file cannot be read.
    #[error("cannot read the key: {0}")]
    Read(io::Error),
    /// The file cannot be written.
    #[error("cannot write the key: {0}")]
    Write(io::Error),
    /// There is one.
    #[error("there is a key already, and it may be in use: choose another file")]
    Exists,
    /// Others may know it.
    #[error(
        "others than its owner can read this secret key: chmod 600, and make a new one if they may have"
    )]
    Readable,
    /// It holds something else.
    #[error(
        "not a secret key: 64 hexadecimal digits are needed (`hustings draw keygen` makes one)"
    )]
    Malformed,
}

/// A public key that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a public key: nobody can hold the secret to it (`hustings draw keygen` makes one)")]
pub struct BadPublicKey;

impl Secret {
    /// A new one, drawn by the operating system.
    ///
    /// # Errors
    /// If that has no randomness to give.
    pub fn generate() -> Result<Self, KeyError> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(KeyError::Randomness)?;
        Ok(Self(SigningKey::from_bytes(&bytes)))
    }

    /// Reads one from a file that nobody but its owner can read.
    ///
    /// # Errors
    /// If it is no such file, or holds no key.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let text = secret_file::read(path).map_err(|error| match error {
            SecretFileError::Io(error) => KeyError::Read(error),
            SecretFileError::Exposed => KeyError::Readable,
        })?;
        let mut bytes = [0; 32];
        hex::decode_to_slice(text.trim(), &mut bytes).map_err(|_| KeyError::Malformed)?;
        Ok(Self(SigningKey::from_bytes(&bytes)))
    }

    /// Writes it to a new file that nobody but its owner can read.
    ///
    /// # Errors
    /// If there is a file already, or none can be made.
    pub fn write(&self, path: &Path) -> Result<(), KeyError> {
        let text = hex::encode(self.0.to_bytes()) + "\n";
        secret_file::write_new(path, &text).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => KeyError::Exists,
            _ => KeyError::Write(error),
        })
    }

    /// What all others know it by.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    pub(super) fn sign(&self, said: &[u8]) -> Bytes<64> {
        Bytes(self.0.sign(said).to_bytes())
    }

    /// The same secret for X25519.
    pub(super) fn exchange(&self) -> [u8; 32] {
        self.0.to_scalar_bytes()
    }
}

impl PublicKey {
    /// Whether the holder of the secret signed `said`.
    pub(super) fn has_signed(&self, said: &[u8], signature: &Bytes<64>) -> bool {
        let signature = Signature::from_bytes(&signature.0);
        self.0.verify_strict(said, &signature).is_ok()
    }

    /// The same key for X25519.
    pub(super) fn exchange(&self) -> [u8; 32] {
        self.0.to_montgomery().to_bytes()
    }
}

impl TryFrom<Bytes<32>> for PublicKey {
    type Error = BadPublicKey;

    fn try_from(bytes: Bytes<32>) -> Result<Self, BadPublicKey> {
        let key = VerifyingKey::from_bytes(&bytes.0).map_err(|_| BadPublicKey)?;
        match key.is_weak() {
            true => Err(BadPublicKey),
            false => Ok(Self(key)),
        }
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

impl std::fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Bytes::from(*self).fmt(f)
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)") // never into a log
    }
}

#[cfg(test)]
mod tests {
    use super::{PublicKey, Secret};
    use crate::draw::bytes::Bytes;
    use curve25519_dalek::MontgomeryPoint;

    #[test]
    fn the_two_forms_of_a_key_belong_together() {
        let secret = Secret::generate().unwrap();
        let exchanged = MontgomeryPoint::mul_base_clamped(secret.exchange());
        assert_eq!(exchanged.to_bytes(), secret.public().exchange());
    }

    #[test]
    fn a_signature_fits_what_was_signed_and_nothing_else() {
        let (one, other) = (Secret::generate().unwrap(), Secret::generate().unwrap());
        let signature = one.sign(b"heads");
        assert!(one.public().has_signed(b"heads", &signature));
        assert!(!one.public().has_signed(b"tails", &signature));
        assert!(!other.public().has_signed(b"heads", &signature));
    }

    #[test]
    fn a_key_that_anybody_can_sign_for_is_none() {
        let mut neutral = [0; 32];
        neutral[0] = 1;
        assert!(PublicKey::try_from(Bytes(neutral)).is_err());
    }
}
