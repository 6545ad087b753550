//! Wagner's ring: a fair draw among members that do not trust each other.
//!
//! Source    Wagner, "Randomized Fault-Detecting Leader Election in a Bi-Directional Ring" (seed
//!           002); claims W1 to W12
//! Assumes   `n` members on a ring, all of them honest unless stated otherwise, fair flips, no loss
//! Counts    a *stage* is one call of Subset (S), a *flip* one of Coin Flip (F), and each of them
//!           is one *Basic round* (B), in which every member's flip goes once round in both
//!           directions: `2 n^2` messages of one bit. A run ends when one member is active
//!
//! | Module | Section | Content |
//! |---|---|---|
//! | [`subset`] | (S) | flips until `t` is known to be below or above `r`; survivors |
//! | [`election`] | (L), Theorem 3 | stages, flips, rounds, messages and bits of an election |
//! | [`stall`] | Theorem 2 (a) | stalling for ever; a limit, its false alarms, its price |
//! | [`segment`] | Theorems 1 and 2 | the number of cheating neighbours that control the coin |
//! | [`informal`] | introduction | the gain of one cheater in the protocol without (S) |
//!
//! **Errors in print.** The printed comparison is strict, which costs `r = 1/2` three flips instead
//! of one ([`Compare`]). "At most `ceil(log2 n) + 2` subsets" is true of the mean only
//! ([`election::stages_exceed`]). Two members that cooperate can stall for ever ([`stall`]). The
//! bound on cheaters is `ceil`, not `floor`, for odd rings ([`segment::largest`]). Against the
//! informal protocol "the opposite of the incoming flips if they are the same" is not a cheater's
//! best choice ([`informal`]).

pub mod election;
pub mod informal;
pub mod segment;
pub mod stall;
pub mod subset;

pub use hustings_protocol::wagner::Ring;
pub use hustings_protocol::wagner::subset::Compare;

#[track_caller]
fn check_ring(n: usize) {
    assert!(n >= 2, "ring of {n} members: need two or more");
}
