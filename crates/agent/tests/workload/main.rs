//! Workloads, with real processes: an agent that is told who leads, a command, and what the command starts.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "processes end in the machine's time: a test that waits for them has a deadline"
)]

mod agent;
mod descriptors;
mod ends;
mod fenced;
mod last_words;
mod leads;
mod orphans;
#[path = "../processes/mod.rs"]
mod processes;
mod settles;
mod signals;
mod watchers;
