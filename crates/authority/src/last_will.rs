//! The releases that another process sends for a dead member.
//!
//! A member that dies without releasing its tenure leaves it to expire. A process that watched the
//! member die can shorten this. It first makes sure that none of the member's work is left. Then it
//! sends the member's release, which the member sealed in advance. A release that is sent too
//! early, or by any other process, would let two members lead. So only a process that supervises
//! the member receives it.

use std::net::SocketAddr;

/// Sealed releases of everything that a member holds or has asked for, each with its destination.
/// Empty if the member holds nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LastWill(pub Vec<(SocketAddr, Vec<u8>)>);
