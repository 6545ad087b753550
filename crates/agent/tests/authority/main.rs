//! Contracts for authorities, against real servers:
//!
//! - `common`: for whole agents, whether voters or a store grant tenure. The authority is killed,
//!   paused and restarted.
//! - `contract`: for the lease clients of stores. The stores are also restored from old copies and
//!   reached over connections that fail.
//!
//! Needs the Debian packages etcd-server, etcd-client, openssl, postgresql and pgbouncer, and the
//! example `configured`.

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
mod house;
mod member;
mod pooler;
mod postgres;
mod proxy;
mod standby;
mod voters;
mod watcher;
