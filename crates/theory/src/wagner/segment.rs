//! Neighbouring cheaters: the number that may cooperate before they control the coin.
//!
//! Neighbours that cooperate are a segment of the ring. They reveal a flip when they first send it,
//! to one side or the other, and an honest neighbour answers each message with the flip of one
//! member further on. On a ring both ways every neighbour begins, so that with `f - 1` of their `f`
//! flips shown they have seen `f + 1` honest ones, and may choose the last by these. With an agreed
//! direction only one neighbour begins: `f`. A segment that has then seen all `n - f` flips
//! controls the parity; if one is missing, the parity is fair for any choice.

use super::{Ring, check_ring};

/// Theorem 1 (a): the longest segment that cannot bias the coin; 0 if one cheater can.
///
/// Both ways `n - f >= f + 2`, so `floor(n/2) - 1`: of an odd ring `ceil(n/2) + 1` must be honest,
/// as the abstract says, and not `floor(n/2) + 1` as the text does. With an agreed direction `n - f
/// >= f + 1`, so `ceil(n/2) - 1`, which on odd rings is one more.
///
/// # Panics
/// If `n < 2`.
pub fn largest(n: usize, ring: Ring) -> usize {
    check_ring(n);
    match ring {
        Ring::BothWays => n / 2 - 1,
        Ring::Clockwise => n.div_ceil(2) - 1,
    }
}

/// The greatest probability of heads that a segment of `cheaters` can cause unnoticed: 1/2, or
/// certainty.
///
/// # Panics
/// Unless `cheaters < n`.
pub fn best_coin(n: usize, cheaters: usize, ring: Ring) -> f64 {
    assert!(cheaters < n, "{cheaters} cheaters on a ring of {n}: no honest member is left");
    if cheaters <= largest(n, ring) { 0.5 } else { 1.0 }
}

/// Theorem 2: the probability that a segment of `cheaters` has the leader, for any choice of
/// flips, as long as the election ends and they do not control the coin: `cheaters / n`.
///
/// Among the active members, the share of cheaters is a martingale: heads stay with the probability
/// that is their share, and tails with theirs.
///
/// # Panics
/// If the cheaters control the coin.
pub fn elected(n: usize, cheaters: usize, ring: Ring) -> f64 {
    assert!(cheaters <= largest(n, ring), "{cheaters} cheaters own the coin of a ring of {n}");
    cheaters as f64 / n as f64
}
