//! The configuration of an agent: its name, its addresses and its groups.

mod bounds;
mod error;
pub mod fields;
pub mod file;
pub mod names;
pub mod partial;
mod reference;
pub mod values;
mod written;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::council::{CouncilPart, MOST_CLASSES};
use crate::identity::is_name;
use crate::sockets;
pub use error::{AgentConfigError, GroupConfigError};
pub use hustings_node::config::{
    AuthorityConfig, GroupConfig, MULTICAST, MULTICAST_V6, ProtocolConfig, QuorumConfig,
    StoreConfig, StoreKind, presets,
};
use presets::VIEW_BOUNDS;
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
    match bind.is_unspecified() {
        true => sockets::default_interface(bind).map_err(AgentConfigError::WhichInterface),
        false => Ok(bind),
    }
}

impl AgentConfig {
    /// Checks that an agent can run with this configuration.
    ///
    /// # Errors
    /// Names the first field that makes this impossible.
    pub fn check(&self) -> Result<(), AgentConfigError> {
        check_name("name", &self.name)?;
        if let Some(http) = self.http.filter(|it| !it.ip().is_loopback()) {
            return Err(AgentConfigError::HttpBeyondHost(http));
        }
        if self.groups.is_empty() {
            return Err(AgentConfigError::NoGroup);
        }
        for (index, group) in self.groups.iter().enumerate() {
            check_name("group name", &group.name)?;
            if self.groups[..index].iter().any(|it| it.name == group.name) {
                return Err(AgentConfigError::SameGroupTwice(group.name.clone()));
            }
            if group.keys.is_empty() && !self.insecure && !self.stays_on_this_host(group) {
                return Err(AgentConfigError::NoKey { group: group.name.clone(), bind: self.bind });
            }
            if let Some(address) = group.multicast {
                self.check_multicast(address)?;
            }
            let other = self.groups[..index].iter();
            let mut same = other.filter(|it| it.trace.is_some() && it.trace == group.trace);
            if let (Some(other), Some(trace)) = (same.next(), &group.trace) {
                return Err(AgentConfigError::SameTraceTwice {
                    groups: [other.name.clone(), group.name.clone()],
                    trace: trace.clone(),
                });
            }
            if let CouncilPart::Host { centre: Some(centre), .. } = &group.council {
                check_name("centre", centre)?;
            }
            self.check_group(group)
                .map_err(|why| AgentConfigError::Group { group: group.name.clone(), why })?;
        }
        Ok(())
    }

    fn check_group(&self, group: &GroupConfig) -> Result<(), GroupConfigError> {
        group.protocol.check()?;
        check_view(group)?;
        check_council(&group.council)?;
        self.check_authority(&group.authority)?;
        group.authority.check()?;
        bounds::check_values(group)?;
        if !group.campaigns && group.protocol.elects_all() {
            return Err(GroupConfigError::CannotListen(group.protocol.name()));
        }
        bounds::check_intervals(&group.protocol)
    }

    /// Checks that a voter has a disk for its promises, and that this program was built with the
    /// store.
    fn check_authority(&self, authority: &AuthorityConfig) -> Result<(), GroupConfigError> {
        match authority {
            AuthorityConfig::Quorum(quorum) => {
                quorum.check_voters().map_err(GroupConfigError::Voters)?;
                match quorum.is_voter(&self.name) && quorum.state.is_none() {
                    true => Err(GroupConfigError::VoterWithoutState(self.name.clone())),
                    false => Ok(()),
                }
            }
            AuthorityConfig::Store(store) if !store.store.is_built() => {
                Err(GroupConfigError::NotBuilt(store.store.name()))
            }
            AuthorityConfig::Nobody | AuthorityConfig::Store(_) => Ok(()),
        }
    }

    /// Checks the multicast address. The bound socket also sends multicasts, so bind address,
    /// multicast address and interface must have the same IP version.
    fn check_multicast(&self, address: SocketAddr) -> Result<(), AgentConfigError> {
        let bind = self.bind;
        if !address.ip().is_multicast() {
            return Err(AgentConfigError::NotMulticast(address));
        }
        if needs_zone(address.ip()) {
            return Err(AgentConfigError::MulticastNeedsZone(address));
        }
        if address.port() == 0 {
            return Err(AgentConfigError::MulticastWithoutPort(address));
        }
        if address.is_ipv4() != bind.is_ipv4() {
            let what = format!("multicast {address}");
            return Err(AgentConfigError::TwoVersions { what, bind });
        }
        if self.interface.is_ipv4() != bind.is_ipv4() {
            let what = format!("interface {}", self.interface);
            return Err(AgentConfigError::TwoVersions { what, bind });
        }
        Ok(())
    }

    /// Returns the name of the member and the addresses at which it listens.
    pub fn sentence(&self) -> String {
        let http = match self.http {
            Some(address) => address.to_string(),
            None => "off".to_owned(),
        };
        let multicasts = match self.groups.iter().any(|group| group.multicast.is_some()) {
            true => format!(", multicasts by {}", self.interface),
            false => String::new(),
        };
        let or_next = match self.next_free_port {
            true => " or the next free port",
            false => "",
        };
        let metrics = self.metrics;
        let metrics = metrics.map_or_else(String::new, |it| format!(", metrics {it}"));
        format!(
            "member {}: bind {}{or_next}{multicasts}, http {http}{metrics}",
            self.name, self.bind
        )
    }

    /// True if no frame of the group can reach or come from another host.
    fn stays_on_this_host(&self, group: &GroupConfig) -> bool {
        let multicasts_stay = group.multicast.is_none() || self.interface.is_loopback();
        self.bind.ip().is_loopback() && multicasts_stay
    }
}

/// Checks the size of the partial view. A member may know only a few others only in protocols in
/// which few members take part.
fn check_view(group: &GroupConfig) -> Result<(), GroupConfigError> {
    let takes_few =
        matches!(group.protocol, ProtocolConfig::Probabilistic(_) | ProtocolConfig::NoElection);
    match group.view {
        Some(_) if !takes_few => Err(GroupConfigError::CannotKnowFew(group.protocol.name())),
        Some(view) if !VIEW_BOUNDS.contains(&view) => Err(GroupConfigError::View(view)),
        Some(_) | None => Ok(()),
    }
}

fn check_council(part: &CouncilPart) -> Result<(), GroupConfigError> {
    let classes = match part {
        CouncilPart::Off => return Ok(()),
        CouncilPart::Host { class, .. } => usize::from(*class) + 1,
        CouncilPart::Centre(config) => {
            config.check()?;
            config.chambers.len()
        }
    };
    match classes > usize::from(MOST_CLASSES) {
        true => Err(GroupConfigError::Class),
        false => Ok(()),
    }
}

/// True if a multicast address means nothing without a zone, which every host numbers in its own
/// way. This holds for interface-local and link-local addresses of IPv6.
fn needs_zone(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(_) => false,
        IpAddr::V6(address) => address.is_multicast() && matches!(address.octets()[1] & 0xf, 1 | 2),
    }
}

fn check_name(what: &'static str, name: &str) -> Result<(), AgentConfigError> {
    match is_name(name) {
        true => Ok(()),
        false => Err(AgentConfigError::Name { what, name: name.to_owned() }),
    }
}
