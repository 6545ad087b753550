//! Draws with cheaters: members of the simulator's kind, over real sockets, against honest ones.

#![allow(clippy::unwrap_used, reason = "what cannot go on has failed")]

#[path = "../../examples/cheating_seat/aborter.rs"]
mod aborter;
#[path = "../../examples/cheating_seat/cheater.rs"]
mod cheater;
mod cheaters;
mod processes;
mod programs;
#[path = "../../../agent/tests/draw/table.rs"]
mod table;
