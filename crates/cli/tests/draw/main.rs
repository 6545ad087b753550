//! Draws with cheaters: the simulator's cheating members against honest ones, over real sockets.

#![allow(clippy::unwrap_used, reason = "what cannot go on has failed")]

#[path = "../../../hustings/examples/cheating_seat/aborter.rs"]
mod aborter;
#[path = "../../../hustings/examples/cheating_seat/cheater.rs"]
mod cheater;
mod cheaters;
mod processes;
mod programs;
#[path = "../../../draw/tests/draw/table.rs"]
mod table;
