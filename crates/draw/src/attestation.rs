//! Attestations: each member signs the ids of its two links. The attestations of all members
//! together identify a session.
//!
//! A link's id contains randomness from both ends. The hash over the ids of all links therefore
//! differs between any two sessions, even of the same draw. No honest member takes part in two
//! sessions that share a link, because a member that loses one link closes the other.

use serde::{Deserialize, Serialize};
use sha2::Digest as _;

use super::bytes::{Bytes, Digest, encode};
use super::ring::Ring;
use super::signed::{Matter, Signed};

/// A member's signed statement that it is present.
pub(super) type Attestation = Signed<Seating>;

/// The two links of a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Seating {
    /// The place of the member.
    pub(super) place: u32,
    /// The id of its left link, which no other link ever has.
    pub(super) left: Digest,
    /// The id of its right link.
    pub(super) right: Digest,
}

impl Matter for Seating {
    const KIND: &'static str = "hustings draw: here 1";
    /// The digest of the ring.
    type Context = Digest;
}

/// Returns the id of the session that `seated` describes. `digest` is the digest of `ring`.
///
/// Returns `None` unless the attestations are those of all members in order, each is signed by its
/// member, and each member is linked to the next.
pub(super) fn session(ring: &Ring, digest: Digest, seated: &[Attestation]) -> Option<Digest> {
    let nexts = seated.iter().cycle().skip(1);
    let are_linked = seated.iter().zip(nexts).all(|(it, next)| it.right == next.left);
    let are_all = seated.len() == ring.members.len()
        && (0..)
            .zip(seated)
            .all(|(place, it)| it.place == place && it.is_by(&ring.member(place).key, &digest));
    let links: Vec<Digest> = seated.iter().map(|it| it.left).collect();
    let content = encode(&("hustings sitting 1", digest, links));
    (are_linked && are_all).then(|| Bytes(sha2::Sha256::digest(content).into()))
}

#[cfg(test)]
mod tests {
    use super::{Attestation, Seating, session};
    use crate::bytes::Bytes;
    use crate::keys::Secret;
    use crate::ring::Ring;

    #[test]
    fn session_needs_all_members_linked_in_order_and_signed() {
        let secrets: Vec<Secret> = (0..4).map(|_| Secret::generate().unwrap()).collect();
        let mut text = "draw = \"x\"\nnumber = 1\n".to_owned();
        for (place, secret) in secrets.iter().enumerate() {
            let key = secret.public();
            text += &format!(
                "[[member]]\nname = \"m{place}\"\naddress = \"h:{}\"\nkey = \"{key}\"\n",
                place + 1
            );
        }
        let ring: Ring = text.parse().unwrap();
        let digest = ring.digest();
        let attest = |place: u8, left: u8, right: u8| {
            let seating =
                Seating { place: place.into(), left: Bytes([left; 32]), right: Bytes([right; 32]) };
            Attestation::sign(&secrets[usize::from(place)], &digest, seating)
        };
        let seated = [attest(0, 9, 1), attest(1, 1, 2), attest(2, 2, 3), attest(3, 3, 9)];
        let id = session(&ring, digest, &seated).unwrap();
        let mut other = seated.clone();
        (other[1], other[2]) = (attest(1, 1, 7), attest(2, 7, 3));
        assert_ne!(session(&ring, digest, &other).unwrap(), id, "another link");
        let spoils: [fn(&mut Vec<Attestation>); 5] = [
            |it| it.truncate(3),
            |it| it[1].content.right.0[0] ^= 1,
            |it| it[1].signature.0[0] ^= 1,
            |it| it.swap(1, 2),
            |it| it[1] = it[2].clone(),
        ];
        for spoil in spoils {
            let mut spoiled = seated.to_vec();
            spoil(&mut spoiled);
            assert_eq!(session(&ring, digest, &spoiled), None, "{spoiled:?}");
        }
        let mut moved = ring.clone();
        moved.number = 2;
        assert_eq!(session(&moved, moved.digest(), &seated), None, "another draw");
    }
}
