//! Runs a command under tenure: starts it, supervises it, ends it before tenure ends, and releases
//! tenure for an agent that has died.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this crate watches processes in the machine's time"
)]

pub mod death_witness;
pub mod fd_limit;
mod fd_passing;
mod last_will;
mod line_reader;
mod poller;
mod processes;
mod watcher;
pub mod workload;

pub use workload::StepDown;
