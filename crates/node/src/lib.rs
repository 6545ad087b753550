//! One member of one group. A node has no clock, socket, thread or disk: the agent drives it, and
//! tests drive it in the same way.

pub mod authority;
pub mod config;
pub mod control;
pub mod council;
pub mod counters;
pub mod driver;
mod election;
pub mod entropy;
pub mod frame;
pub mod group;
pub mod identity;
#[cfg(test)]
mod logged;
mod membership;
mod multicast_probe;
pub mod once_each;
pub mod peer_table;
pub mod record;
pub mod replay_window;
pub mod seal;

pub use hustings_protocol::leadership;
