//! The real world that drives the election protocols: sockets, clocks, disks.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this crate is the world: it has the machine's clock and sockets"
)]

// For what unit tests share with those beside.
#[cfg(test)]
extern crate self as hustings_agent;

pub mod agent;
pub mod authority;
pub mod clock;
pub mod config;
pub mod council;
pub mod counters;
pub mod descriptors;
pub mod draw;
pub mod driver;
mod election;
mod entropy;
pub mod frame;
pub mod group;
mod handover;
pub mod http;
pub mod identity;
mod inbox;
pub mod keeper;
pub mod leadership;
mod lifeline;
mod links;
#[cfg(test)]
mod logged;
mod membership;
mod obituary;
mod peers;
mod processes;
mod reach;
pub mod record;
pub mod replay;
mod resolve;
pub mod seal;
pub mod secret_file;
mod sockets;
mod vigil;
pub mod workload;

pub use agent::{
    Agent, AgentStatus, Ended, HandedOver, Handle, NotHandedOver, Resignation, StartError, StepDown,
};
pub use config::{AgentConfig, GroupConfig, ProtocolConfig};
pub use council::{CentreStatus, CouncilPart, CouncilStatus, HostStatus};
pub use group::GroupStatus;
pub use leadership::{Leadership, Mode, Peer};
