//! The layer around a real server, with real connections.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod answers;
mod server;
mod turns;
