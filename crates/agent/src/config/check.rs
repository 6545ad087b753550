//! Checks of a complete configuration. The values of files and command lines have been checked when
//! they were read. A program that fills in a configuration itself is held to the same bounds here.

use std::net::{IpAddr, SocketAddr};

use hustings_protocol::Duration;
use hustings_protocol::announce::Listen;
use hustings_protocol::config::ConfigError;
use hustings_protocol::names::NAME_RULE;

use super::presets::{
    ANNOUNCE_BOUNDS, Bounds, LISTEN_BOUNDS, SUPPRESS_BOUNDS, TTL_BOUNDS, VIEW_BOUNDS, WAIT_BOUNDS,
};
use super::{
    AgentConfig, AuthorityConfig, GroupConfig, MULTICAST_V6, ProtocolConfig, StoreKind, values,
};
use crate::council::{CouncilPart, MOST_CLASSES};
use crate::identity::is_name;

/// The reason for which a configuration cannot be used. Names the value, and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct AgentConfigError {
    what: String,
    /// The field to which a complaint about a file points; empty if there is none.
    pub(super) field: &'static str,
    /// The group that has the field. `None` for a field of the agent.
    pub(super) group: Option<String>,
}

/// A field and the problem with its value.
type Misuse = (&'static str, String);

/// Returns the error if several interfaces are possible, and each may lead to another network.
pub(super) fn which_interface(addresses: &[IpAddr]) -> AgentConfigError {
    let addresses: Vec<String> = addresses.iter().map(IpAddr::to_string).collect();
    let what = format!(
        "which network interface leads to the other members? name it with --interface, by its address ({}), or choose --multicast off",
        values::list(&addresses)
    );
    AgentConfigError { what, field: "bind", group: None }
}

impl AgentConfig {
    /// Checks that an agent can run with this configuration.
    ///
    /// # Errors
    /// Names the first field that makes this impossible.
    pub fn check(&self) -> Result<(), AgentConfigError> {
        let misused = |(field, what), group| AgentConfigError { what, field, group };
        self.check_agent().map_err(|it| misused(it, None))?;
        for (index, group) in self.groups.iter().enumerate() {
            self.check_group(group, &self.groups[..index])
                .map_err(|it| misused(it, Some(group.name.clone())))?;
        }
        Ok(())
    }

    fn check_agent(&self) -> Result<(), Misuse> {
        check_name("name", "name", &self.name)?;
        // The page and the streams of events are only for this host.
        if let Some(http) = self.http.filter(|it| !it.ip().is_loopback()) {
            let what = format!(
                "http {http} is not a loopback address: choose an address such as 127.0.0.1:7480, or off; to read metrics and the status from elsewhere, set metrics (--metrics {http})"
            );
            return Err(("http", what));
        }
        if self.groups.is_empty() {
            return Err(("", "no group: an agent has to be a member of at least one".to_owned()));
        }
        Ok(())
    }

    fn check_group(&self, group: &GroupConfig, others: &[GroupConfig]) -> Result<(), Misuse> {
        let name = &group.name;
        check_name("name", "group name", name)?;
        if others.iter().any(|it| it.name == *name) {
            return Err(("name", format!("group `{name}` is there twice")));
        }
        // Any host could lead the group.
        if group.keys.is_empty() && !self.insecure && !self.stays_on_this_host(group) {
            let what = format!(
                "group `{name}` has no key, and its frames leave this host (bound to {}): set a key (`hustings keys generate` prints one), or --insecure to let any host on the network take part",
                self.bind
            );
            return Err(("name", what));
        }
        if let Some(address) = group.multicast {
            self.check_multicast(address)?;
        }
        // The lines of two groups in one trace could not be told apart.
        if let Some(trace) = &group.trace
            && let Some(other) = others.iter().find(|it| it.trace.as_ref() == Some(trace))
        {
            let what = format!(
                "groups `{}` and `{name}` would both be recorded in trace {}: give each a file of its own, or choose one with --group",
                other.name,
                trace.display()
            );
            return Err(("trace", what));
        }
        if let CouncilPart::Host { centre: Some(centre), .. } = &group.council {
            check_name("", "centre", centre)?;
        }
        let checked = self.check_settings(group);
        checked.map_err(|(field, what)| (field, format!("group `{name}`: {what}")))
    }

    /// Checks the multicast address. The bound socket also sends multicasts, so bind address,
    /// multicast address and interface must have the same IP version.
    fn check_multicast(&self, address: SocketAddr) -> Result<(), Misuse> {
        let Self { bind, interface, .. } = self;
        let other = if !address.ip().is_multicast() {
            let what = "is not a multicast address: 239.0.0.0 to 239.255.255.255, or ff00::/8";
            return Err(("", format!("multicast {address} {what}")));
        } else if needs_zone(address.ip()) {
            let what = format!(
                "multicast {address} reaches only one host or one link, and needs a zone to say which: choose a site-local address such as {MULTICAST_V6}"
            );
            return Err(("", what));
        } else if address.port() == 0 {
            let what = "port 0 cannot be used: choose a port, such as 7401";
            return Err(("", format!("multicast {address}: {what}")));
        } else if address.is_ipv4() != bind.is_ipv4() {
            format!("multicast {address}")
        } else if interface.is_ipv4() != bind.is_ipv4() {
            format!("interface {interface}")
        } else {
            return Ok(());
        };
        let what = "have different IP versions: choose both of one version";
        Err(("bind", format!("{other} and bind {bind} {what}")))
    }

    /// True if no frame of the group can reach or come from another host.
    fn stays_on_this_host(&self, group: &GroupConfig) -> bool {
        let multicasts_stay = group.multicast.is_none() || self.interface.is_loopback();
        self.bind.ip().is_loopback() && multicasts_stay
    }

    fn check_settings(&self, group: &GroupConfig) -> Result<(), Misuse> {
        let named = |error: ConfigError| ("name", error.to_string());
        group.protocol.check().map_err(named)?;
        check_view(group)?;
        if let CouncilPart::Centre(config) = &group.council {
            config.check().map_err(named)?;
        }
        let classes = match &group.council {
            CouncilPart::Off => 0,
            CouncilPart::Host { class, .. } => usize::from(*class) + 1,
            CouncilPart::Centre(config) => config.chambers.len(),
        };
        if classes > usize::from(MOST_CLASSES) {
            return Err(("name", format!("class of hosts: choose from 0 to {}", MOST_CLASSES - 1)));
        }
        self.check_authority(&group.authority)?;
        group.authority.check().map_err(named)?;
        if let Some(ttl) = group.authority.ttl() {
            check_interval("ttl", ttl, TTL_BOUNDS)?;
        }
        for place in &group.join {
            values::place(place).map_err(|what| ("name", format!("join `{place}`: {what}")))?;
        }
        if let AuthorityConfig::Store(store) = &group.authority {
            check_addresses(&store.store)?;
        }
        if !group.campaigns && group.protocol.elects_all() {
            let what = format!(
                "campaign false has no effect with protocol {}, which elects among all members: choose announce, suppress or earliest",
                group.protocol.name()
            );
            return Err(("name", what));
        }
        check_intervals(&group.protocol)
    }

    /// Checks that a voter has a disk for its promises, and that this program was built with the
    /// store.
    fn check_authority(&self, authority: &AuthorityConfig) -> Result<(), Misuse> {
        match authority {
            AuthorityConfig::Quorum(quorum) => {
                quorum.check_voters().map_err(|what| ("voters", what))?;
                if quorum.is_voter(&self.name) && quorum.state.is_none() {
                    let what = format!(
                        "this member, `{}`, is one of its voters, and must store its promises: name a directory on a disk with --state, or state = \"/var/lib/hustings\"",
                        self.name
                    );
                    return Err(("name", what));
                }
            }
            AuthorityConfig::Store(store) if !store.store.is_built() => {
                let name = store.store.name();
                let what = format!(
                    "this program was built without {name}: build it with `cargo build --features {name}`"
                );
                return Err(("name", what));
            }
            AuthorityConfig::Nobody | AuthorityConfig::Store(_) => {}
        }
        Ok(())
    }
}

fn check_name(field: &'static str, what: &str, name: &str) -> Result<(), Misuse> {
    if is_name(name) { Ok(()) } else { Err((field, format!("{what} `{name}`: {NAME_RULE}"))) }
}

/// Checks the size of the partial view. A member may know only a few others only in protocols in
/// which few members take part. A group whose members know too few others falls apart.
fn check_view(group: &GroupConfig) -> Result<(), Misuse> {
    let Some(view) = group.view else {
        return Ok(());
    };
    if !matches!(group.protocol, ProtocolConfig::Probabilistic(_) | ProtocolConfig::NoElection) {
        let what = "it is for probabilistic and none";
        let protocol = group.protocol.name();
        return Err(("name", format!("view has no effect with protocol {protocol}: {what}")));
    }
    if !VIEW_BOUNDS.contains(&view) {
        let (least, most) = (VIEW_BOUNDS.start(), VIEW_BOUNDS.end());
        return Err(("view", format!("view {view}: choose from {least} to {most}")));
    }
    Ok(())
}

/// Checks the addresses of a store. They may hold passwords, so errors do not show them.
fn check_addresses(store: &StoreKind) -> Result<(), Misuse> {
    match store {
        StoreKind::Etcd(etcd) => {
            let checked = etcd.endpoints.iter().try_for_each(|it| values::endpoint(it).map(drop));
            checked.map_err(|what| ("name", format!("etcd {what}")))
        }
        StoreKind::Postgres { url } => {
            values::postgres(url).map(drop).map_err(|what| ("name", format!("postgres {what}")))
        }
    }
}

/// Checks that real members can keep the intervals of `protocol`. The simulator's may be shorter or
/// longer.
fn check_intervals(protocol: &ProtocolConfig) -> Result<(), Misuse> {
    match protocol {
        ProtocolConfig::Announce(config) => {
            check_interval("announce", config.announce, ANNOUNCE_BOUNDS)?;
            check_interval("suppress", config.suppress, SUPPRESS_BOUNDS)?;
            if let Listen::For(span) = config.listen {
                check_interval("listen", span, LISTEN_BOUNDS)?;
            }
        }
        // Both are multiples of the delay bound.
        ProtocolConfig::Bully(config) => {
            check_interval("answer_within", config.answer_within, LISTEN_BOUNDS)?;
            check_interval("victory_within", config.victory_within, LISTEN_BOUNDS)?;
        }
        ProtocolConfig::Probabilistic(config) => {
            check_interval("hop", config.hop, WAIT_BOUNDS)?;
            check_interval("spread", config.spread, WAIT_BOUNDS)?;
        }
        ProtocolConfig::ChangRoberts(_)
        | ProtocolConfig::ModifiedRing(_)
        | ProtocolConfig::NoElection => {}
    }
    let patience = protocol.election_timeout();
    patience.map_or(Ok(()), |span| check_interval("patience", span, WAIT_BOUNDS))
}

fn check_interval(name: &str, span: Duration, bounds: Bounds) -> Result<(), Misuse> {
    bounds.check(span).map(drop).map_err(|what| ("name", format!("{name} {span}: {what}")))
}

/// True if a multicast address means nothing without a zone, which every host numbers in its own
/// way. This holds for interface-local and link-local addresses of IPv6.
pub(super) fn needs_zone(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(_) => false,
        IpAddr::V6(address) => address.is_multicast() && matches!(address.octets()[1] & 0xf, 1 | 2),
    }
}
