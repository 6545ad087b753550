//! Who is there: each member signs which two links it holds, and all of these together are a sitting.
//!
//! A link's session has chance of both ends in it. So the sessions of all links, hashed, tell a sitting from every other one,
//! also of the same draw; and nobody who kept to the rules was in two of which a link is the same, as who loses one link gives up
//! the other.

use serde::{Deserialize, Serialize};
use sha2::Digest as _;

use super::bytes::{Bytes, Digest};
use super::ring::Ring;
use super::said::{Matter, Signed};
use crate::driver::encode;

/// A member is there, by its own word.
pub type Presence = Signed<Seating>;

/// A member between its two links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seating {
    /// Whose place it is.
    pub place: u32,
    /// What tells its link to the left from all others, before and after.
    pub left: Digest,
    /// The same of its link to the right.
    pub right: Digest,
}

impl Matter for Seating {
    const KIND: &'static str = "hustings draw: here 1";
    /// The ring.
    type Context = Digest;
}

/// What tells the sitting of `seated` from all others; none if they are not all members of `ring`, whose digest is given, in
/// order, each linked to the next, or if one has not signed that it is.
pub(super) fn sitting(ring: &Ring, digest: Digest, seated: &[Presence]) -> Option<Digest> {
    let nexts = seated.iter().cycle().skip(1);
    let are_linked = seated
        .iter()
        .zip(nexts)
        .all(|(it, next)| it.right == next.left);
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
    use super::{Presence, Seating, sitting};
    use crate::draw::bytes::Bytes;
    use crate::draw::keys::Secret;
    use crate::draw::ring::Ring;

    #[test]
    fn a_sitting_is_all_members_each_linked_to_the_next_by_its_own_word() {
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
        let seat = |place: u8, left: u8, right: u8| {
            let seating = Seating {
                place: place.into(),
                left: Bytes([left; 32]),
                right: Bytes([right; 32]),
            };
            Presence::sign(&secrets[usize::from(place)], &digest, seating)
        };
        let seated = [seat(0, 9, 1), seat(1, 1, 2), seat(2, 2, 3), seat(3, 3, 9)];
        let id = sitting(&ring, digest, &seated).unwrap();
        let mut other = seated.clone();
        (other[1], other[2]) = (seat(1, 1, 7), seat(2, 7, 3));
        assert_ne!(sitting(&ring, digest, &other).unwrap(), id, "another link");
        let spoils: [fn(&mut Vec<Presence>); 5] = [
            |it| it.truncate(3),
            |it| it[1].content.right.0[0] ^= 1,
            |it| it[1].signature.0[0] ^= 1,
            |it| it.swap(1, 2),
            |it| it[1] = it[2].clone(),
        ];
        for spoil in spoils {
            let mut spoiled = seated.to_vec();
            spoil(&mut spoiled);
            assert_eq!(sitting(&ring, digest, &spoiled), None, "{spoiled:?}");
        }
        let mut moved = ring.clone();
        moved.number = 2;
        assert_eq!(
            sitting(&moved, moved.digest(), &seated),
            None,
            "another draw"
        );
    }
}
