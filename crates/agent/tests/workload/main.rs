//! Workloads, with real processes: an agent that is told who leads, a command, and what the command starts.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "processes end in the machine's time: a test that waits for them has a deadline"
)]

mod agent;
mod ends;
mod leads;
mod orphans;
mod settles;
mod signals;
