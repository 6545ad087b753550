//! The method of Bolot, Turletti and Wakeman to get few answers from many hosts: the baseline of
//! the council election.
//!
//! Source    Bolot, Turletti and Wakeman, "Scalable feedback control for multicast video
//!           distribution in the Internet" (SIGCOMM 1994), as described in Raz, Shavitt and Zhang
//!           (seed 003), sections II and VII-A; claim C10
//! Assumes   every host has a random key of 16 bits; in the first round those hosts reply whose key
//!           equals the sender's in all 16 bits, and in each further round one bit less has to be
//!           equal; it ends with the first reply. Nothing is lost
//!
//! In the last round no bit has to be equal, so all reply, and 17 rounds are always enough.

use crate::binomial::complement_to;

/// The number of bits of a key.
pub const BITS: i32 = 16;

/// The dependence between the rounds of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// A host keeps its key: a host that matches some bits matches fewer, too. This is the original
    /// method.
    Nested,
    /// A host draws a new key for each round.
    Independent,
}

/// Rounds and replies until there is a reply.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PollCost {
    /// Expected rounds.
    pub rounds: f64,
    /// Expected replies.
    pub messages: f64,
    /// The probability that the first round has a reply.
    pub success_first_round: f64,
}

/// The cost of hearing from at least one of `members` hosts.
///
/// Round `b = 16..0` is held with the probability that no host has replied before. With nested keys
/// this is the probability that no host matches `b + 1` bits, `(1 - 2^-(b+1))^n`, and the replies
/// are `n 2^-(b+1) (1 - 2^-(b+1))^(n-1)`: each host that matches `b` bits does not match the next
/// one with probability one half. With independent keys it is a product.
///
/// # Panics
/// If there is no host.
pub fn cost(members: u64, keys: Keys) -> PollCost {
    assert!(members >= 1, "replies of 0 hosts: need one or more");
    let n = members as f64;
    let matches = |bits: i32| 0.5_f64.powi(bits);
    let (mut rounds, mut messages) = (0.0, 0.0);
    let mut silent_so_far = 1.0;
    for bits in (0..=BITS).rev() {
        rounds += silent_so_far;
        messages += match keys {
            Keys::Nested if bits < BITS => {
                let next = matches(bits + 1);
                n * next * complement_to(next, n - 1.0)
            }
            Keys::Nested | Keys::Independent => silent_so_far * n * matches(bits),
        };
        let silent = complement_to(matches(bits), n);
        silent_so_far = match keys {
            Keys::Nested => silent,
            Keys::Independent => silent_so_far * silent,
        };
    }
    PollCost { rounds, messages, success_first_round: 1.0 - complement_to(matches(BITS), n) }
}
