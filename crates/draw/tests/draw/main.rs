//! Draws over real sockets on this host's loopback.

#![allow(clippy::unwrap_used, reason = "what cannot go on has failed")]

mod disputes;
mod honest;
mod intruders;
mod table;
