//! The configuration of an agent: its name, its addresses and its groups.

mod bounds;
pub mod draft;
pub mod file;
pub mod names;
pub mod summary;
mod unfit;
pub mod values;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::council::{CouncilPart, MOST_CLASSES};
use crate::identity::is_name;
use crate::sockets;
pub use hustings_node::config::{
    AuthorityConfig, GroupConfig, MULTICAST, MULTICAST_V6, ProtocolConfig, QuorumConfig,
    StoreConfig, StoreKind, presets,
};
use presets::VIEW_BOUNDS;
pub use unfit::AgentConfigError;

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
            let unfit = |source| AgentConfigError::Protocol { group: group.name.clone(), source };
            group.protocol.check().map_err(unfit)?;
            check_view(group)?;
            check_council(group)?;
            self.check_authority(group)?;
            bounds::check_ttl(group)?;
            group.authority.check().map_err(unfit)?;
            bounds::check_places(group)?;
            if !group.campaigns && group.protocol.elects_all() {
                return Err(AgentConfigError::CannotListen {
                    group: group.name.clone(),
                    protocol: group.protocol.name(),
                });
            }
            let unfit = |(interval, what)| AgentConfigError::Interval {
                group: group.name.clone(),
                interval,
                what,
            };
            bounds::check_intervals(&group.protocol).map_err(unfit)?;
        }
        Ok(())
    }

    /// Checks that a voter has a disk for its promises, and that this program was built with the
    /// store.
    fn check_authority(&self, group: &GroupConfig) -> Result<(), AgentConfigError> {
        let quorum = match &group.authority {
            AuthorityConfig::Quorum(quorum) => quorum,
            AuthorityConfig::Store(store) if !store.store.is_built() => {
                return Err(AgentConfigError::NotBuilt {
                    group: group.name.clone(),
                    store: store.store.name(),
                });
            }
            AuthorityConfig::Nobody | AuthorityConfig::Store(_) => return Ok(()),
        };
        quorum
            .check_voters()
            .map_err(|what| AgentConfigError::Voters { group: group.name.clone(), what })?;
        match quorum.is_voter(&self.name) && quorum.state.is_none() {
            true => Err(AgentConfigError::VoterWithoutState {
                group: group.name.clone(),
                member: self.name.clone(),
            }),
            false => Ok(()),
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

    /// True if no frame of the group can reach or come from another host.
    fn stays_on_this_host(&self, group: &GroupConfig) -> bool {
        let multicasts_stay = group.multicast.is_none() || self.interface.is_loopback();
        self.bind.ip().is_loopback() && multicasts_stay
    }
}

/// Checks the size of the partial view. A member may know only a few others only in protocols in
/// which few members take part.
fn check_view(group: &GroupConfig) -> Result<(), AgentConfigError> {
    let name = || group.name.clone();
    match (group.view, group.protocol) {
        (None, _) => Ok(()),
        (Some(view), ProtocolConfig::Probabilistic(_) | ProtocolConfig::NoElection)
            if VIEW_BOUNDS.contains(&view) =>
        {
            Ok(())
        }
        (Some(view), ProtocolConfig::Probabilistic(_) | ProtocolConfig::NoElection) => {
            Err(AgentConfigError::View { group: name(), view })
        }
        (Some(_), _) => {
            Err(AgentConfigError::CannotKnowFew { group: name(), protocol: group.protocol.name() })
        }
    }
}

fn check_council(group: &GroupConfig) -> Result<(), AgentConfigError> {
    let classes = match &group.council {
        CouncilPart::Off => return Ok(()),
        CouncilPart::Host { class, centre } => {
            if let Some(centre) = centre {
                check_name("centre", centre)?;
            }
            usize::from(*class) + 1
        }
        CouncilPart::Centre(config) => {
            config.check().map_err(|source| AgentConfigError::Protocol {
                group: group.name.clone(),
                source,
            })?;
            config.chambers.len()
        }
    };
    match classes > usize::from(MOST_CLASSES) {
        true => Err(AgentConfigError::Class { group: group.name.clone() }),
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
