//! The configuration of an agent: its name, its addresses and its groups.

mod check;
pub mod fields;
pub mod file;
pub mod non_voter;
pub mod partial;
mod reference;
pub mod values;
mod written;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::sockets;
pub use check::AgentConfigError;
pub use hustings_node::config::{
    AuthorityConfig, GroupConfig, MULTICAST, MULTICAST_V6, ProtocolConfig, QuorumConfig,
    StoreConfig, StoreKind, presets,
};
pub use reference::example;
pub use written::{Complaint, Place};

/// The default port for unicasts and links. Firewalls need a fixed port, and other members find a
/// restarted member at the port they know.
pub const PORT: u16 = 7400;

/// The default address of the HTTP interface.
pub const HTTP: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7480);

/// The configuration of an agent: one process that is a member of one or several groups.
#[derive(Debug, Clone)]
pub struct AgentConfig {
    /// This member's name, unique in its groups. By default the name of the host.
    pub name: String,
    /// The address at which the agent receives unicasts and links. Port 0 stands for any free port.
    pub bind: SocketAddr,
    /// True if the agent takes the next free port when the port of `bind` is in use. Several agents
    /// can then run on one host.
    pub next_free_port: bool,
    /// The address of the network interface for multicasts.
    pub interface: IpAddr,
    /// The address of the HTTP interface. `None` turns it off.
    pub http: Option<SocketAddr>,
    /// The address at which any client can read metrics and the status. `None` turns it off.
    pub metrics: Option<SocketAddr>,
    /// True if a group may use a network beyond this host without a key.
    pub insecure: bool,
    /// The groups of this agent, at least one.
    pub groups: Vec<GroupConfig>,
}

/// Returns the default multicast address for members that receive at `bind`.
pub fn default_multicast(bind: IpAddr) -> SocketAddr {
    match bind {
        IpAddr::V4(_) => MULTICAST,
        IpAddr::V6(_) => MULTICAST_V6,
    }
}

/// Returns the default multicast interface for a member that receives at `bind`. A member that
/// receives at a single address also sends its multicasts from there.
///
/// # Errors
/// If several interfaces are possible.
pub fn default_interface(bind: IpAddr) -> Result<IpAddr, AgentConfigError> {
    if !bind.is_unspecified() {
        return Ok(bind);
    }
    sockets::default_interface(bind).map_err(|addresses| check::which_interface(&addresses))
}

impl AgentConfig {
    /// Returns the name of the member and the addresses at which it listens.
    pub fn sentence(&self) -> String {
        let http = self.http.map_or_else(|| "off".to_owned(), |it| it.to_string());
        let multicasts = self.groups.iter().find_map(|group| group.multicast);
        let multicasts = multicasts.map(|_| format!(", multicasts by {}", self.interface));
        let multicasts = multicasts.unwrap_or_default();
        let or_next = if self.next_free_port { " or the next free port" } else { "" };
        let metrics = self.metrics.map(|it| format!(", metrics {it}")).unwrap_or_default();
        format!(
            "member {}: bind {}{or_next}{multicasts}, http {http}{metrics}",
            self.name, self.bind
        )
    }
}
