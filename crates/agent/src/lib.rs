//! The process around the election protocols: sockets, clocks and disks.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this crate is the world: it has the machine's clock and sockets"
)]

pub mod agent;
pub mod config;
mod entropy;
mod first_call;
pub mod http;
mod lifeline;
mod links;
pub mod record;
mod resolve;
mod sockets;

pub use hustings_authority as authority;
pub use hustings_node::node as group;
pub use hustings_node::{council, counters, driver, frame, identity, replay_window, seal};
pub use hustings_protocol::leadership;
pub use hustings_supervise::{death_witness, fd_limit, workload};
pub use hustings_system::clock;

pub use agent::{
    Agent, AgentStatus, AgentStoppedError, Handle, Resignation, StartError, StepDown,
    TransferError, TransferOutcome,
};
pub use config::{AgentConfig, GroupConfig, ProtocolConfig};
pub use council::{CentreStatus, CouncilPart, CouncilStatus, HostStatus};
pub use first_call::{FirstCall, first_call};
pub use group::GroupStatus;
pub use leadership::{Leadership, Mode, Peer};
