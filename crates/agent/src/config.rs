//! What an agent is told: who it is, where it listens, which groups it is a member of.

pub mod authority;
mod bounds;
pub mod draft;
pub mod file;
pub mod names;
pub mod presets;
pub mod summary;
mod unfit;
pub mod values;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use hustings_protocol::config::ConfigError;
use hustings_protocol::{
    Duration, Merit, announce, bully, chang_roberts, modified_ring, probabilistic,
};

use crate::council::{CouncilPart, MOST_CLASSES};
use crate::identity::is_name;
use crate::seal::Key;
use crate::sockets;
pub use authority::{AuthorityConfig, QuorumConfig, StoreConfig, StoreKind};
use presets::VIEW_BOUNDS;
pub use unfit::Unfit;

/// Where groups meet on a LAN, unless told otherwise: an address of the organisation-local range.
pub const MULTICAST: SocketAddr =
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(239, 255, 72, 85)), 7401);

/// The same of IPv6, in the site-local range.
pub const MULTICAST_V6: SocketAddr = SocketAddr::new(
    IpAddr::V6(Ipv6Addr::new(0xff05, 0, 0, 0, 0, 0, 0, 0x4855)),
    7401,
);

/// The port of unicasts and links unless told otherwise. A port that stays the same is what firewalls need, and what
/// others know of a member that restarts.
pub const PORT: u16 = 7400;

/// Where the HTTP interface listens.
pub const HTTP: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7480);

/// The failure detector may miss a member that has not run for so long.
const DETECTED_WITHIN: Duration = Duration::from_millis(500);

/// How long a leader of a protocol without announcements may be contradicted by messages under way.
const CONTRADICTED_WITHIN: Duration = Duration::from_millis(300);

/// An agent: one process, a member of one or several groups.
#[derive(Debug, Clone)]
pub struct AgentConfig {
    /// This member's name, unique in its groups. By default the host's.
    pub name: String,
    /// Where it receives unicasts and links. Port 0: any that is free.
    pub bind: SocketAddr,
    /// Whether the next free port is taken where that of `bind` is in use: several agents may run on one host.
    pub next_free_port: bool,
    /// The address of the network interface on which multicasts go and come.
    pub interface: IpAddr,
    /// Where the HTTP interface listens; none if nowhere.
    pub http: Option<SocketAddr>,
    /// Where metrics and the status can be read, by anybody who can reach this address; none if nowhere.
    pub metrics: Option<SocketAddr>,
    /// Whether a group may do without a key beyond this host.
    pub insecure: bool,
    /// Its groups; at least one.
    pub groups: Vec<GroupConfig>,
}

/// A member's part in one group.
#[derive(Debug, Clone)]
pub struct GroupConfig {
    /// The group's name.
    pub name: String,
    /// The first seals, all open. None: no secret.
    pub keys: Vec<Key>,
    /// How this member compares with others; the greater leads.
    pub merit: Merit,
    /// Whether this member may lead. One that may not can still vote, and follows whoever leads.
    pub campaigns: bool,
    /// How the leader is elected.
    pub protocol: ProtocolConfig,
    /// How many others a member of a large group knows at most; none: all. For [`ProtocolConfig::Probabilistic`].
    pub view: Option<u16>,
    /// How likely the first round of an election is to succeed, from which K follows; none: K is what it is. Of the
    /// same.
    pub target: Option<f64>,
    /// Who grants tenure to whom the election names.
    pub authority: AuthorityConfig,
    /// What part it has in the group's council.
    pub council: CouncilPart,
    /// Where multicasts go; none if the network has none.
    pub multicast: Option<SocketAddr>,
    /// Addresses, or names with ports, at which other members may be found.
    pub join: Vec<String>,
    /// The file in which all that this member does is recorded; none if nowhere.
    pub trace: Option<PathBuf>,
}

impl GroupConfig {
    /// A group with no secret, in which nobody grants tenure, and a member that may lead, is as good as any, knows all, and has
    /// no way to find others yet.
    #[must_use]
    pub fn plain(name: impl Into<String>, protocol: ProtocolConfig) -> Self {
        Self {
            name: name.into(),
            keys: Vec::new(),
            merit: Merit(0),
            campaigns: true,
            protocol,
            view: None,
            target: None,
            authority: AuthorityConfig::Nobody,
            council: CouncilPart::HOST,
            multicast: None,
            join: Vec::new(),
            trace: None,
        }
    }
}

/// How the leader is elected.
#[derive(Debug, Clone, Copy)]
pub enum ProtocolConfig {
    /// Who has heard of nobody better announces itself.
    Announce(announce::Config),
    /// Everyone better is asked whether it lives.
    Bully(bully::Config),
    /// The best identity goes round a ring.
    ChangRoberts(chang_roberts::Config),
    /// A list of identities goes round a ring twice.
    ModifiedRing(modified_ring::Config),
    /// A few members, picked by a hash, agree and tell all.
    Probabilistic(probabilistic::Config),
    /// Nobody is: hosts of a council need no leader.
    NoElection,
}

/// Where a group of members that receive at `bind` meets unless told otherwise.
pub fn default_multicast(bind: IpAddr) -> SocketAddr {
    match bind {
        IpAddr::V4(_) => MULTICAST,
        IpAddr::V6(_) => MULTICAST_V6,
    }
}

/// By which interface the multicasts of a member that receives at `bind` go and come unless told otherwise: one
/// that receives at one address only sends its multicasts from there too.
///
/// # Errors
/// If several come into question.
pub fn default_interface(bind: IpAddr) -> Result<IpAddr, Unfit> {
    match bind.is_unspecified() {
        true => sockets::default_interface(bind).map_err(Unfit::WhichInterface),
        false => Ok(bind),
    }
}

impl ProtocolConfig {
    /// Its name, as on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Announce(config) => Self::family_name(config),
            Self::Bully(_) => "bully",
            Self::ChangRoberts(_) => "chang-roberts",
            Self::ModifiedRing(_) => "modified-ring",
            Self::Probabilistic(_) => "probabilistic",
            Self::NoElection => "none",
        }
    }

    /// What its frames are marked with.
    pub(crate) fn tag(&self) -> u8 {
        match self {
            Self::Announce(_) => 1,
            Self::Bully(_) => 2,
            Self::ChangRoberts(_) => 3,
            Self::ModifiedRing(_) => 4,
            Self::Probabilistic(_) => 5,
            Self::NoElection => 0,
        }
    }

    /// Whether nobody is elected.
    pub fn is_none(&self) -> bool {
        matches!(self, Self::NoElection)
    }

    /// Whether nobody can only listen: who is seen is a candidate.
    pub fn elects_all(&self) -> bool {
        self.needs_view()
    }

    /// Whether members must know each other beforehand.
    pub(crate) fn needs_view(&self) -> bool {
        !matches!(self, Self::Announce(_) | Self::NoElection)
    }

    /// Whether groups may be so large that a word to all is to be one multicast, and not a datagram to each member
    /// besides.
    pub(crate) fn is_for_many(&self) -> bool {
        matches!(self, Self::Probabilistic(_) | Self::NoElection)
    }

    /// Whether messages between two members must arrive in order, and not get lost while both live.
    pub(crate) fn needs_links(&self) -> bool {
        matches!(self, Self::ChangRoberts(_) | Self::ModifiedRing(_))
    }

    /// How often leaders announce themselves, where of two that both work the one with more members
    /// behind it stays.
    pub(crate) fn contested_every(&self) -> Option<Duration> {
        match self {
            Self::Announce(config) => (config.takeover == announce::Takeover::Never
                && config.leaders == 1)
                .then_some(config.announce),
            Self::Bully(_) | Self::ChangRoberts(_) | Self::ModifiedRing(_) => None,
            Self::Probabilistic(_) | Self::NoElection => None,
        }
    }

    /// Whether a leader that holds tenure stays, whomever the election names: unless its user wants a better one.
    pub(crate) fn keeps_leaders(&self) -> bool {
        match self {
            Self::Announce(config) => config.takeover == announce::Takeover::Never,
            Self::Bully(_) | Self::ChangRoberts(_) | Self::ModifiedRing(_) => true,
            Self::Probabilistic(_) | Self::NoElection => true,
        }
    }

    /// After how long others may have missed a leader that does not run; none if never.
    pub(crate) fn longest_pause(&self) -> Option<Duration> {
        match self {
            Self::Announce(config) => config.listen_interval(0.0),
            Self::Bully(_) | Self::ChangRoberts(_) | Self::ModifiedRing(_) => Some(DETECTED_WITHIN),
            Self::Probabilistic(_) => Some(DETECTED_WITHIN),
            Self::NoElection => None,
        }
    }

    /// How long a member should have led before it acts on it. A leader of the announce family is established by
    /// then: of several that took the floor at once the others have heard it, and no better newcomer unseats it.
    pub fn settles_within(&self) -> Duration {
        match self {
            Self::Announce(config) => config.announce + config.suppress,
            Self::Bully(_) | Self::ChangRoberts(_) | Self::ModifiedRing(_) => CONTRADICTED_WITHIN,
            Self::Probabilistic(config) => config.apart,
            Self::NoElection => Duration::ZERO,
        }
    }

    fn check(&self) -> Result<(), ConfigError> {
        match self {
            Self::Announce(config) => config.check(),
            Self::Bully(config) => config.check(),
            Self::ChangRoberts(config) => config.check(),
            Self::ModifiedRing(config) => config.check(),
            Self::Probabilistic(config) => config.check(),
            Self::NoElection => Ok(()),
        }
    }
}

impl AgentConfig {
    /// Whether it can work.
    ///
    /// # Errors
    /// Names the first thing that cannot.
    pub fn check(&self) -> Result<(), Unfit> {
        check_name("name", &self.name)?;
        if let Some(http) = self.http.filter(|it| !it.ip().is_loopback()) {
            return Err(Unfit::HttpBeyondHost(http));
        }
        if self.groups.is_empty() {
            return Err(Unfit::NoGroup);
        }
        for (index, group) in self.groups.iter().enumerate() {
            check_name("group name", &group.name)?;
            if self.groups[..index].iter().any(|it| it.name == group.name) {
                return Err(Unfit::SameGroupTwice(group.name.clone()));
            }
            if group.keys.is_empty() && !self.insecure && !self.stays_on_this_host(group) {
                return Err(Unfit::NoKey {
                    group: group.name.clone(),
                    bind: self.bind,
                });
            }
            if let Some(address) = group.multicast {
                self.check_multicast(address)?;
            }
            let other = self.groups[..index].iter();
            let mut same = other.filter(|it| it.trace.is_some() && it.trace == group.trace);
            if let (Some(other), Some(trace)) = (same.next(), &group.trace) {
                return Err(Unfit::SameTraceTwice {
                    groups: [other.name.clone(), group.name.clone()],
                    trace: trace.clone(),
                });
            }
            let unfit = |source| Unfit::Protocol {
                group: group.name.clone(),
                source,
            };
            group.protocol.check().map_err(unfit)?;
            group.check_view()?;
            group.check_council()?;
            self.check_authority(group)?;
            group.check_ttl()?;
            group.authority.check().map_err(unfit)?;
            group.check_places()?;
            if !group.campaigns && group.protocol.elects_all() {
                return Err(Unfit::CannotListen {
                    group: group.name.clone(),
                    protocol: group.protocol.name(),
                });
            }
            let unfit = |(interval, what)| Unfit::Interval {
                group: group.name.clone(),
                interval,
                what,
            };
            group.protocol.check_intervals().map_err(unfit)?;
        }
        Ok(())
    }

    /// A voter must have a disk to keep its promises on, and a store a program that knows it.
    fn check_authority(&self, group: &GroupConfig) -> Result<(), Unfit> {
        let quorum = match &group.authority {
            AuthorityConfig::Quorum(quorum) => quorum,
            AuthorityConfig::Store(store) if !store.store.is_built() => {
                return Err(Unfit::NotBuilt {
                    group: group.name.clone(),
                    store: store.store.name(),
                });
            }
            AuthorityConfig::Nobody | AuthorityConfig::Store(_) => return Ok(()),
        };
        quorum.check_voters().map_err(|what| Unfit::Voters {
            group: group.name.clone(),
            what,
        })?;
        match quorum.is_voter(&self.name) && quorum.state.is_none() {
            true => Err(Unfit::VoterWithoutState {
                group: group.name.clone(),
                member: self.name.clone(),
            }),
            false => Ok(()),
        }
    }

    /// Multicasts leave by the socket that is bound, so that all three are of one version.
    fn check_multicast(&self, address: SocketAddr) -> Result<(), Unfit> {
        let bind = self.bind;
        if !address.ip().is_multicast() {
            return Err(Unfit::NotMulticast(address));
        }
        if needs_zone(address.ip()) {
            return Err(Unfit::MulticastNeedsZone(address));
        }
        if address.port() == 0 {
            return Err(Unfit::MulticastWithoutPort(address));
        }
        if address.is_ipv4() != bind.is_ipv4() {
            let what = format!("multicast {address}");
            return Err(Unfit::TwoVersions { what, bind });
        }
        if self.interface.is_ipv4() != bind.is_ipv4() {
            let what = format!("interface {}", self.interface);
            return Err(Unfit::TwoVersions { what, bind });
        }
        Ok(())
    }

    /// Whether none of the group's frames can come from, or go to, another host.
    fn stays_on_this_host(&self, group: &GroupConfig) -> bool {
        let multicasts_stay = group.multicast.is_none() || self.interface.is_loopback();
        self.bind.ip().is_loopback() && multicasts_stay
    }
}

impl GroupConfig {
    /// Only where few take part need nobody know all.
    fn check_view(&self) -> Result<(), Unfit> {
        let group = || self.name.clone();
        match (self.view, self.protocol) {
            (None, _) => Ok(()),
            (Some(view), ProtocolConfig::Probabilistic(_) | ProtocolConfig::NoElection)
                if VIEW_BOUNDS.contains(&view) =>
            {
                Ok(())
            }
            (Some(view), ProtocolConfig::Probabilistic(_) | ProtocolConfig::NoElection) => {
                Err(Unfit::View {
                    group: group(),
                    view,
                })
            }
            (Some(_), _) => Err(Unfit::CannotKnowFew {
                group: group(),
                protocol: self.protocol.name(),
            }),
        }
    }
}

impl GroupConfig {
    fn check_council(&self) -> Result<(), Unfit> {
        let classes = match &self.council {
            CouncilPart::Off => return Ok(()),
            CouncilPart::Host { class, centre } => {
                if let Some(centre) = centre {
                    check_name("centre", centre)?;
                }
                usize::from(*class) + 1
            }
            CouncilPart::Centre(config) => {
                config.check().map_err(|source| Unfit::Protocol {
                    group: self.name.clone(),
                    source,
                })?;
                config.chambers.len()
            }
        };
        match classes > usize::from(MOST_CLASSES) {
            true => Err(Unfit::Class {
                group: self.name.clone(),
            }),
            false => Ok(()),
        }
    }
}

/// Whether a multicast address means nothing without a zone, which every host numbers in its own way: an
/// interface-local or link-local one of IPv6.
fn needs_zone(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(_) => false,
        IpAddr::V6(address) => address.is_multicast() && matches!(address.octets()[1] & 0xf, 1 | 2),
    }
}

fn check_name(what: &'static str, name: &str) -> Result<(), Unfit> {
    match is_name(name) {
        true => Ok(()),
        false => Err(Unfit::Name {
            what,
            name: name.to_owned(),
        }),
    }
}
