//! Filling the empty seats of a council (claim C13).
//!
//! Representatives leave, and fewer than `L` are left. The paper starts over, and leaves open how
//! to do better. Here the `s` seated ones stay, and the centre holds a separate election for `[L -
//! s .. U - s]` among the `n - s` other hosts, with the best `c` for that. No new equations are
//! needed.
//!
//! The room `U - s` is wider in proportion to the need `L - s` than `U` is to `L`. So a draw
//! succeeds more often, with fewer replies.

use super::optimum::{Goal, Optimum, best_c};
use super::{Election, Seats};

/// The cost of having a council again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recovery {
    /// The seats to be filled.
    pub missing: Seats,
    /// Filling them.
    pub top_up: Optimum,
    /// Electing a new council.
    pub restart: Optimum,
}

/// The seats to be filled for a council of `seats`, at least `wanted` of them, if `seated` are
/// left. `None` if none is missing.
pub fn missing(seats: Seats, seated: u64, wanted: u64) -> Option<Seats> {
    (seated < wanted).then(|| Seats { least: wanted - seated, most: seats.most - seated })
}

/// Compares filling seats with starting over, each with the best `c`. `wanted` is `L`, or more if
/// the centre fills seats before it must.
///
/// # Panics
/// If the election is invalid, no seat is missing, or `wanted` is not from `L` to `U`.
pub fn recover(election: &Election, seated: u64, wanted: u64, goal: Goal) -> Recovery {
    assert!(
        election.seats.contain(wanted),
        "{wanted} seats wanted: need from {} to {}",
        election.seats.least,
        election.seats.most
    );
    let Some(missing) = missing(election.seats, seated, wanted) else {
        panic!("{seated} seated, and {wanted} wanted")
    };
    let others = Election { seats: missing, members: election.members - seated, ..*election };
    let anew = Election { seats: Seats { least: wanted, most: election.seats.most }, ..*election };
    Recovery { missing, top_up: best_c(&others, goal), restart: best_c(&anew, goal) }
}
