//! A member's configuration in one group.
//!
//! Purpose     the election protocol, the authority, the council and the ways to find other members
//! Inputs      values from the agent's configuration file, command line or API
//! Outputs     plain structs, and what follows from the choice of protocol
//! Owns        nothing
//! Invariants  [`ProtocolConfig::check`] names the first value that cannot work

pub mod presets;
pub mod similar_names;
mod summary;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use hustings_protocol::announce::{Joining, Takeover};
use hustings_protocol::config::ConfigError;
use hustings_protocol::{
    Duration, Priority, announce, bully, chang_roberts, modified_ring, probabilistic,
};

use crate::council::CouncilPart;
use crate::seal::Key;
pub use hustings_authority::config::{AuthorityConfig, QuorumConfig, StoreConfig, StoreKind};

/// The default multicast address on a LAN, in the organisation-local range.
pub const MULTICAST: SocketAddr =
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(239, 255, 72, 85)), 7401);

/// The default multicast address for IPv6, in the site-local range.
pub const MULTICAST_V6: SocketAddr =
    SocketAddr::new(IpAddr::V6(Ipv6Addr::new(0xff05, 0, 0, 0, 0, 0, 0, 0x4855)), 7401);

/// The pause after which the failure detector may have declared a member dead.
const DETECTED_WITHIN: Duration = Duration::from_millis(500);

/// The time within which a message in transit may still contradict a leader, for protocols without
/// announcements.
const CONTRADICTED_WITHIN: Duration = Duration::from_millis(300);

/// A member's configuration in one group.
#[derive(Debug, Clone)]
pub struct GroupConfig {
    /// The group's name.
    pub name: String,
    /// The keys. The first one seals, and all of them open. An empty list means that there is no
    /// secret.
    pub keys: Vec<Key>,
    /// This member's priority. The member with the greatest priority leads.
    pub priority: Priority,
    /// True if this member may lead. A member that may not lead can still vote, and follows the
    /// leader.
    pub campaigns: bool,
    /// The election protocol.
    pub protocol: ProtocolConfig,
    /// The number of other members that a member of a large group knows at most; none: all of them.
    /// For [`ProtocolConfig::Probabilistic`].
    pub view: Option<u16>,
    /// The probability with which the first round of an election succeeds, from which K follows.
    /// With `None` K is constant. For [`ProtocolConfig::Probabilistic`].
    pub target: Option<f64>,
    /// The authority that grants tenure to the nominee of the election.
    pub authority: AuthorityConfig,
    /// The member's part in the group's council.
    pub council: CouncilPart,
    /// The multicast address; none if the network carries no multicasts.
    pub multicast: Option<SocketAddr>,
    /// Addresses, or names with ports, at which other members may be found.
    pub join: Vec<String>,
    /// The file that records all events of this member; none: no record.
    pub trace: Option<PathBuf>,
}

impl GroupConfig {
    /// A group without a secret and without an authority. The member may lead, has priority 0,
    /// knows all others, and has no way to find them yet.
    #[must_use]
    pub fn plain(name: impl Into<String>, protocol: ProtocolConfig) -> Self {
        Self {
            name: name.into(),
            keys: Vec::new(),
            priority: Priority(0),
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

/// The election protocol.
#[derive(Debug, Clone, Copy)]
pub enum ProtocolConfig {
    /// A member that has heard of no better one announces itself.
    Announce(announce::Config),
    /// A member asks every better member if it is alive.
    Bully(bully::Config),
    /// The best identity goes round a ring.
    ChangRoberts(chang_roberts::Config),
    /// A list of identities goes round a ring twice.
    ModifiedRing(modified_ring::Config),
    /// A few members, picked by a hash, agree and inform all others.
    Probabilistic(probabilistic::Config),
    /// No election: hosts of a council need no leader.
    NoElection,
}

impl ProtocolConfig {
    /// The name of the protocol on the command line.
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

    /// The tag of the protocol in frames.
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

    /// True if there is no election.
    pub fn is_none(&self) -> bool {
        matches!(self, Self::NoElection)
    }

    /// True if there can be no observers, because every member in the view is a candidate.
    pub fn elects_all(&self) -> bool {
        self.needs_view()
    }

    /// True if members must know each other before the election.
    pub(crate) fn needs_view(&self) -> bool {
        !matches!(self, Self::Announce(_) | Self::NoElection)
    }

    /// True if groups may be so large that a message to all has to be one multicast, without a
    /// datagram to each member in addition.
    pub(crate) fn is_for_many(&self) -> bool {
        matches!(self, Self::Probabilistic(_) | Self::NoElection)
    }

    /// True if messages between two members must arrive in order, and must not get lost while both
    /// live.
    pub(crate) fn needs_links(&self) -> bool {
        matches!(self, Self::ChangRoberts(_) | Self::ModifiedRing(_))
    }

    /// The period of announcements, if of two working leaders the one with more followers stays.
    pub(crate) fn contested_every(&self) -> Option<Duration> {
        match self {
            Self::Announce(it) if it.takeover == Takeover::Never && it.leaders == 1 => {
                Some(it.announce)
            }
            _ => None,
        }
    }

    /// True if a leader with tenure stays although the election names another member. False if the
    /// user prefers the better member.
    pub(crate) fn keeps_leaders(&self) -> bool {
        !matches!(self, Self::Announce(it) if it.takeover != Takeover::Never)
    }

    /// The pause after which other members may have missed a leader that does not run; none if
    /// never.
    pub(crate) fn longest_pause(&self) -> Option<Duration> {
        match self {
            Self::Announce(config) => config.listen_interval(0.0),
            Self::Bully(_) | Self::ChangRoberts(_) | Self::ModifiedRing(_) => Some(DETECTED_WITHIN),
            Self::Probabilistic(_) => Some(DETECTED_WITHIN),
            Self::NoElection => None,
        }
    }

    /// The time for which a member should have led before it acts on it. A leader of the announce
    /// family is established by then: rival leaders have heard it, and no better newcomer unseats
    /// it.
    pub fn settles_within(&self) -> Duration {
        match self {
            Self::Announce(config) => config.announce + config.suppress,
            Self::Bully(_) | Self::ChangRoberts(_) | Self::ModifiedRing(_) => CONTRADICTED_WITHIN,
            Self::Probabilistic(config) => config.apart,
            Self::NoElection => Duration::ZERO,
        }
    }

    /// The time that a member waits for an answer or an expected message before it takes the next
    /// step of an election.
    pub fn election_timeout(&self) -> Option<Duration> {
        match self {
            Self::Announce(config) => match config.joining {
                Joining::Announce => None,
                Joining::Query { election_timeout }
                | Joining::SuppressThenQuery { election_timeout } => Some(election_timeout),
            },
            Self::Bully(config) => config.election_timeout,
            Self::ChangRoberts(config) => config.election_timeout,
            Self::ModifiedRing(config) => config.election_timeout,
            Self::Probabilistic(_) | Self::NoElection => None,
        }
    }

    /// Checks that the configuration can work.
    ///
    /// # Errors
    /// The first value that cannot work.
    pub fn check(&self) -> Result<(), ConfigError> {
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
