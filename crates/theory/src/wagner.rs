//! Wagner's ring: a fair draw among members who do not trust each other.
//!
//! Source    Wagner, "Randomized Fault-Detecting Leader Election in a Bi-Directional Ring" (seed 002); claims
//!           W1 to W12
//! Assumes   `n` members on a ring, all of them honest unless said otherwise, fair flips, nothing lost
//! Counts    a *stage* is one call of Subset (S), a *flip* one of Coin Flip (F), and each of them is one
//!           *Basic round* (B), in which every member's flip goes once round in both directions: `2 n^2`
//!           messages of one bit. A run ends when one member is active
//!
//! | Module | Section | What it answers |
//! |---|---|---|
//! | [`subset`] | (S) | flips until `t` is known to lie below or above `r`; how many stay active |
//! | [`election`] | (L), Theorem 3 | stages, flips, rounds, messages and bits of a whole election, for any `n` |
//! | [`stall`] | Theorem 2 (a) | who can stall an election for ever; a limit against it, its false alarms, its price |
//! | [`segment`] | Theorems 1 and 2 | how many neighbours may cheat together before they own the coin |
//! | [`informal`] | introduction | what one cheater gets out of the protocol without (S) |
//!
//! **What is wrong in print.** The printed comparison is strict, which costs `r = 1/2` three flips where one would do
//! ([`Compare`]); "at most `ceil(log2 n) + 2` subsets" is true of the mean only ([`election::stages_exceed`]); two
//! members that cooperate can stall for ever ([`stall`]); the bound on cheaters is `ceil`, not `floor`, for odd rings
//! ([`segment::largest`]); and against the informal protocol "the opposite of the incoming flips if they are the same"
//! is not a cheater's best ([`informal`]).

pub mod election;
pub mod informal;
pub mod segment;
pub mod stall;
pub mod subset;

/// When Subset, step 4, takes a comparison of the bits so far with `r` for decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// As printed: `0.b1..bj > r`, or `0.b1..bj111... < r`. If `r` is a binary fraction, the bits may agree with it, or
    /// with what ends in ones for ever just below, for as long as they like.
    Strict,
    /// `0.b1..bj >= r`, or `0.b1..bj111... <= r`: whatever follows then decides nothing, as it has probability 0.
    NonStrict,
}

/// How the ring makes a member commit to its flip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ring {
    /// Solution (a): every member sends its flip both ways at once.
    BothWays,
    /// Solution (b): all agree which way is clockwise, and a member sends its flip the other way only when it has got its
    /// neighbour's clockwise.
    Clockwise,
}

#[track_caller]
fn check_ring(n: usize) {
    assert!(n >= 2, "ring of {n} members: need two or more");
}
