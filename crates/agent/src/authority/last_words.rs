//! What a dead member has to say.
//!
//! A member that dies without a word leaves its tenure to run out. But where another process has seen it
//! die, and has seen to it that nothing of its work is left, that other may speak for it: it has the
//! member's release, sealed beforehand, and sends it as it is. Sent by anybody else or too early it would be a
//! lie, so it is handed to nobody but a process that watches over the member.

use std::net::SocketAddr;

/// Sealed releases of what a member holds or asks for, each with where to send it. None: nothing is held.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LastWords(pub Vec<(SocketAddr, Vec<u8>)>);
