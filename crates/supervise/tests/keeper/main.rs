//! Tests of the death witness with real processes: a program that has one, its children, and its
//! death.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "processes end in the machine's time: a test that waits for them has a deadline"
)]

mod dies;
mod kept;
mod passes;
#[path = "../processes/mod.rs"]
mod processes;
