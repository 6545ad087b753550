//! Tests of workloads with real processes: an agent, a command, and the children of the command.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "processes end in the machine's time: a test that waits for them has a deadline"
)]

mod agent;
mod ends;
mod fd_limit;
mod fenced;
mod last_will;
mod leads;
mod orphans;
#[path = "../processes/mod.rs"]
mod processes;
mod settles;
mod signals;
mod watchers;
