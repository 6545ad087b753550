//! The layer around a real server, which is asked over real connections.

#![allow(clippy::unwrap_used, reason = "what cannot go on has failed")]

mod answers;
mod server;
mod turns;
