//! One contract for all that grant tenure to whole agents, voters and stores, which are killed, paused and restarted
//! (`common`); and one for the clerks of stores, with the real ones: restored from old copies too, and behind lines that
//! fail (`contract`).
//!
//! Needs the Debian packages etcd-server, postgresql and pgbouncer, and the example `configured`.

#![cfg(all(feature = "etcd", feature = "postgres"))]
#![allow(clippy::unwrap_used, reason = "what cannot go on has failed")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "real servers take real time, and are looked at from a thread of their own"
)]

mod agents;
mod common;
mod contract;
mod etcd;
#[path = "../processes/example.rs"]
mod example;
mod house;
mod member;
mod pooler;
mod postgres;
mod process;
mod proxy;
mod standby;
mod voters;
mod watcher;
