//! The cryptographic primitives of a link, for the Noise implementation `snow`. They come from
//! crates that the workspace depends on anyway, in the same versions.

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Nonce, Tag};
use curve25519_dalek::MontgomeryPoint;
use sha2::{Digest, Sha256};
use snow::params::{CipherChoice, DHChoice, HashChoice, NoiseParams};
use snow::resolvers::CryptoResolver;
use snow::types::{Cipher, Dh, Hash, Random};
use snow::{Builder, Error};

/// The KK pattern: both ends know each other's key beforehand, from the ring file.
const PATTERN: &str = "Noise_KK_25519_ChaChaPoly_SHA256";

const TAG_BYTES: usize = 16;

/// Returns the builder of a handshake.
pub(super) fn builder<'b>() -> Result<Builder<'b>, Error> {
    let params: NoiseParams = PATTERN.parse()?;
    Ok(Builder::with_resolver(params, Box::new(Suite)))
}

struct Suite;

impl CryptoResolver for Suite {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(OsRandom))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        (*choice == DHChoice::Curve25519).then(|| Box::new(X25519::default()) as Box<dyn Dh>)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        (*choice == HashChoice::SHA256).then(|| Box::new(Sha(Sha256::new())) as Box<dyn Hash>)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        let cipher = || Box::new(ChaChaPoly(ChaCha20Poly1305::new(&[0; 32].into())));
        (*choice == CipherChoice::ChaChaPoly).then(|| cipher() as Box<dyn Cipher>)
    }
}

/// The operating system's randomness.
struct OsRandom;

impl Random for OsRandom {
    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), Error> {
        getrandom::fill(dest).map_err(|_| Error::Rng)
    }
}

#[derive(Default)]
struct X25519 {
    secret: [u8; 32],
    public: [u8; 32],
}

impl Dh for X25519 {
    fn name(&self) -> &'static str {
        "25519"
    }

    fn pub_len(&self) -> usize {
        32
    }

    fn priv_len(&self) -> usize {
        32
    }

    fn set(&mut self, privkey: &[u8]) {
        self.secret.copy_from_slice(privkey);
        self.public = MontgomeryPoint::mul_base_clamped(self.secret).to_bytes();
    }

    fn generate(&mut self, rng: &mut dyn Random) -> Result<(), Error> {
        let mut secret = [0; 32];
        rng.try_fill_bytes(&mut secret)?;
        self.set(&secret);
        Ok(())
    }

    fn pubkey(&self) -> &[u8] {
        &self.public
    }

    fn privkey(&self) -> &[u8] {
        &self.secret
    }

    fn dh(&self, pubkey: &[u8], out: &mut [u8]) -> Result<(), Error> {
        // `snow` passes a buffer of the largest key size. Our key is its first 32 bytes.
        let point = pubkey.get(..32).and_then(|it| it.try_into().ok());
        let point = MontgomeryPoint(point.ok_or(Error::Dh)?);
        let shared = point.mul_clamped(self.secret).to_bytes();
        // A zero result comes from a point of small order, which is no honest member's key.
        if shared == [0; 32] {
            return Err(Error::Dh);
        }
        out[..32].copy_from_slice(&shared);
        Ok(())
    }
}

struct ChaChaPoly(ChaCha20Poly1305);

impl Cipher for ChaChaPoly {
    fn name(&self) -> &'static str {
        "ChaChaPoly"
    }

    fn set(&mut self, key: &[u8; 32]) {
        self.0 = ChaCha20Poly1305::new(&(*key).into());
    }

    fn encrypt(&self, nonce: u64, authtext: &[u8], plaintext: &[u8], out: &mut [u8]) -> usize {
        let length = plaintext.len();
        let (body, tag) = out.split_at_mut(length);
        body.copy_from_slice(plaintext);
        let sealed = self.0.encrypt_inout_detached(&counted(nonce), authtext, body.into());
        // Encryption fails only for more than 256 GiB, which is longer than any Noise message.
        if let Ok(sealed) = sealed {
            tag[..TAG_BYTES].copy_from_slice(&sealed);
        }
        length + TAG_BYTES
    }

    fn decrypt(
        &self,
        nonce: u64,
        authtext: &[u8],
        ciphertext: &[u8],
        out: &mut [u8],
    ) -> Result<usize, Error> {
        let length = ciphertext.len().checked_sub(TAG_BYTES);
        let length = length.ok_or(Error::Decrypt)?;
        let (body, tag) = ciphertext.split_at(length);
        let tag = Tag::try_from(tag).map_err(|_| Error::Decrypt)?;
        let out = &mut out[..length];
        out.copy_from_slice(body);
        self.0
            .decrypt_inout_detached(&counted(nonce), authtext, out.into(), &tag)
            .map_err(|_| Error::Decrypt)?;
        Ok(length)
    }
}

/// The nonce that Noise defines for this cipher: four zero bytes, then the counter.
fn counted(nonce: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&nonce.to_le_bytes());
    bytes.into()
}

struct Sha(Sha256);

impl Hash for Sha {
    fn name(&self) -> &'static str {
        "SHA256"
    }

    fn block_len(&self) -> usize {
        64
    }

    fn hash_len(&self) -> usize {
        32
    }

    fn reset(&mut self) {
        self.0 = Sha256::new();
    }

    fn input(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn result(&mut self, out: &mut [u8]) {
        let hash = std::mem::take(&mut self.0).finalize();
        out[..32].copy_from_slice(&hash);
    }
}

#[cfg(test)]
mod tests {
    use super::builder;

    /// Test vector of Cacophony, another implementation of Noise.
    #[test]
    fn handshake_matches_a_published_test_vector() {
        let bytes = |text: &str| hex::decode(text).unwrap();
        let prologue = bytes("4a6f686e2047616c74");
        let keys = [
            "e61ef9919cde45dd5f82166404bd08e38bceb5dfdfded0a34c8df7ed542214d1",
            "893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a",
            "31e0303fd6418d2f8c0e78b91f22e8caed0fbe48656dcf4767e4834f701b8f62",
            "4a3acbfdb163dec651dfa3194dece676d437029c62a408b4c5ea9114246e4893",
            "bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b",
            "6bc3822a2aa7f4e6981d6538692b3cdf3e6df9eea6ed269eb41d93c22757b75a",
        ]
        .map(bytes);
        let side = |own: &[u8], ephemeral: &[u8], others: &[u8], initiates| {
            let made = builder().unwrap().prologue(&prologue).unwrap();
            let made = made.local_private_key(own).unwrap();
            let made = made.remote_public_key(others).unwrap();
            let made = made.fixed_ephemeral_key_for_testing_only(ephemeral);
            match initiates {
                true => made.build_initiator().unwrap(),
                false => made.build_responder().unwrap(),
            }
        };
        let mut one = side(&keys[0], &keys[1], &keys[2], true);
        let mut other = side(&keys[3], &keys[4], &keys[5], false);
        let (mut sent, mut got) = ([0; 256], [0; 256]);

        let first = "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c79440177015efc1fe7a37c629af7120a96274e6ab7afcc9261901d0e09ae32a5bb96";
        let length = one.write_message(b"Ludwig von Mises", &mut sent).unwrap();
        assert_eq!(hex::encode(&sent[..length]), first);
        let length = other.read_message(&sent[..length], &mut got).unwrap();
        assert_eq!(&got[..length], b"Ludwig von Mises");

        let second = "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f144808843b274d3429adc47ca093ba63ef90f8da89fda108db471dccfa4894aa7b00003";
        let length = other.write_message(b"Murray Rothbard", &mut sent).unwrap();
        assert_eq!(hex::encode(&sent[..length]), second);
        one.read_message(&sent[..length], &mut got).unwrap();
        let hash = "24c6b51ecb76277140ca018b5985bc9f03de321dae2d34dcae433dafef0131d9";
        assert_eq!(hex::encode(one.get_handshake_hash()), hash);

        let one = one.into_stateless_transport_mode().unwrap();
        let other = other.into_stateless_transport_mode().unwrap();
        let length = one.write_message(0, b"F. A. Hayek", &mut sent).unwrap();
        let third = "966b05bc69ec01b8454d3160a214e6f24a3d884eb31ec2408af63f";
        assert_eq!(hex::encode(&sent[..length]), third);
        assert_eq!(other.read_message(0, &sent[..length], &mut got), Ok(11));
        assert!(other.read_message(1, &sent[..length], &mut got).is_err());
    }
}
