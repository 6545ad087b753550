//! Filling the empty seats of a council (claim C13).
//!
//! Representatives leave, and fewer than `L` are left. The paper starts over, and leaves open how to do better. So: those
//! `s` that are seated stay, and the centre holds an election of its own for `[L - s .. U - s]` among the `n - s` other
//! hosts, with the best `c` for that. No new equations are needed.
//!
//! As the room `U - s` to the need `L - s` is wider in proportion than `U` to `L`, a draw hits it more often, with fewer
//! replies.

use super::optimum::{Best, Goal, best_c};
use super::{Election, Seats};

/// What it takes to have a council again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recovery {
    /// The seats to be filled.
    pub missing: Seats,
    /// Filling them.
    pub top_up: Best,
    /// Electing a new council.
    pub restart: Best,
}

/// The seats to be filled for a council of `seats`, at least `wanted` of them, where `seated` are left. Nothing if none is
/// missing.
#[must_use]
pub fn missing(seats: Seats, seated: u64, wanted: u64) -> Option<Seats> {
    (seated < wanted).then(|| Seats {
        least: wanted - seated,
        most: seats.most - seated,
    })
}

/// Filling seats against starting over, each with the best `c`. `wanted` is `L`, or more where the centre fills up before
/// it must.
///
/// # Panics
/// If this is no election, no seat is missing, or `wanted` is not from `L` to `U`.
#[must_use]
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
    let others = Election {
        seats: missing,
        members: election.members - seated,
        ..*election
    };
    let anew = Election {
        seats: Seats {
            least: wanted,
            most: election.seats.most,
        },
        ..*election
    };
    Recovery {
        missing,
        top_up: best_c(&others, goal),
        restart: best_c(&anew, goal),
    }
}
