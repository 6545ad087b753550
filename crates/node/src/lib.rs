//! One member of one group. A node has no clock, socket, thread or disk: the agent drives it, and
//! tests drive it in the same way.

mod admission;
pub mod authority;
pub mod config;
pub mod control;
pub mod council;
pub mod counters;
mod discovery;
pub mod driver;
mod election;
pub mod entropy;
pub mod frame;
pub mod identity;
mod liveness;
pub mod log_once;
mod membership;
mod multicast_probe;
pub mod node;
pub mod peer_table;
pub mod record;
pub mod replay_window;
pub mod seal;
mod tenure;

pub use hustings_protocol::leadership;
