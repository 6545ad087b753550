//! Cheaters side by side: how many may cooperate before the coin is theirs.
//!
//! Neighbours that cooperate are a segment of the ring. They give away a flip when they first send it, to one side or the
//! other, and an honest neighbour answers each message with the flip of one member further on. On a ring both ways every
//! neighbour begins, so that with `f - 1` of their `f` flips shown they have seen `f + 1` honest ones, and may choose the
//! last by these. With an agreed direction only one neighbour begins: `f`. Whoever has then seen all `n - f` flips owns
//! the parity; if one is missing, it is fair whatever they choose.

use super::{Ring, check_ring};

/// Theorem 1 (a): the longest segment that cannot bias the coin; none, if one cheater can.
///
/// Both ways `n - f >= f + 2`, so `floor(n/2) - 1`: of an odd ring `ceil(n/2) + 1` must be honest, as the abstract says,
/// and not `floor(n/2) + 1` as the text does. With an agreed direction `n - f >= f + 1`, so `ceil(n/2) - 1`, which on odd
/// rings is one more.
///
/// # Panics
/// If `n < 2`.
#[must_use]
pub fn largest(n: usize, ring: Ring) -> usize {
    check_ring(n);
    match ring {
        Ring::BothWays => n / 2 - 1,
        Ring::Clockwise => n.div_ceil(2) - 1,
    }
}

/// The greatest probability of heads that a segment of `cheaters` brings about, unnoticed: 1/2, or certainty.
///
/// # Panics
/// Unless `cheaters < n`.
#[must_use]
pub fn best_coin(n: usize, cheaters: usize, ring: Ring) -> f64 {
    assert!(
        cheaters < n,
        "{cheaters} cheaters on a ring of {n}: nobody to cheat"
    );
    if cheaters <= largest(n, ring) {
        0.5
    } else {
        1.0
    }
}

/// Theorem 2: the probability that one of a segment of `cheaters` is elected, whatever flips they choose, as long as the
/// election ends and the coin is not theirs: `cheaters / n`.
///
/// Of those active, the part that cheat is a martingale: heads stay with the probability that is their part, and tails
/// with theirs.
///
/// # Panics
/// If there are so many that the coin is theirs.
#[must_use]
pub fn elected(n: usize, cheaters: usize, ring: Ring) -> f64 {
    assert!(
        cheaters <= largest(n, ring),
        "{cheaters} cheaters own the coin of a ring of {n}"
    );
    cheaters as f64 / n as f64
}
