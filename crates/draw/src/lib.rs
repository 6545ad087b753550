//! A fair draw over a real network among members that do not trust each other: Wagner's ring.
//!
//! - Each member of a [`Ring`] opens an encrypted link to both neighbours (`connect`, `accept`,
//!   `link`, `rendezvous`).
//! - Each member runs the same protocol code that the simulator runs (`ring_driver`, `session`).
//! - Each member signs its messages (`signed`) and records the messages it receives (`transcript`).
//!
//! A leader is the result only when all members have signed it. [`verify`] reads the transcripts
//! afterwards and names the members that caused a fault.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a draw takes place in the world: it has the machine's clock and sockets"
)]

// Lets unit tests and integration tests share one helper module, which names this crate.
#[cfg(test)]
extern crate self as hustings_draw;

mod accept;
mod attestation;
mod bytes;
mod connect;
mod keys;
mod link;
mod noise;
mod once_marker;
mod participant;
mod rendezvous;
mod result_votes;
mod ring;
mod ring_driver;
mod session;
mod signed;
mod status;
#[cfg(test)]
#[path = "../tests/draw/table.rs"]
mod table;
mod timestamp;
mod transcript;
pub mod verify;

pub use bytes::{Bytes, Digest};
pub use keys::{KeyError, PublicKey, Secret};
pub use participant::{NoDraw, Participant};
pub use ring::{BadRing, Member, Ring};
pub use ring_driver::RingMember;
pub use status::{DrawStatus, Evidence, State};
pub use timestamp::Timestamp;
pub use transcript::NoTranscript;
