//! One contract for all stores that grant tenure, with the real ones: killed, paused, restored, and behind
//! lines that fail.
//!
//! Needs the Debian packages etcd-server, postgresql and pgbouncer.

#![cfg(all(feature = "etcd", feature = "postgres"))]
#![allow(clippy::unwrap_used, reason = "what cannot go on has failed")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "real servers take real time, and are looked at from a thread of their own"
)]

mod contract;
mod etcd;
mod house;
mod member;
mod pooler;
mod postgres;
mod process;
mod proxy;
mod watcher;
