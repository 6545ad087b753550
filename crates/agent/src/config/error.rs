//! Errors of a configuration.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use hustings_protocol::config::ConfigError;
use hustings_protocol::names::NAME_RULE;

use super::presets::VIEW_BOUNDS;
use super::{MULTICAST_V6, values};
use crate::council::MOST_CLASSES;

fn list(addresses: &[IpAddr]) -> String {
    let texts: Vec<String> = addresses.iter().map(IpAddr::to_string).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    values::list(&texts)
}

/// The reason for which a configuration cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AgentConfigError {
    /// A name that does not fit into frames, logs and addresses.
    #[error("{what} `{name}`: {NAME_RULE}")]
    Name {
        /// The field that holds the name.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// The configuration has no group.
    #[error("no group: an agent has to be a member of at least one")]
    NoGroup,
    /// Two groups have the same name.
    #[error("group `{0}` is there twice")]
    SameGroupTwice(String),
    /// A group on the network has no key, so any host could lead it.
    #[error(
        "group `{group}` has no key, and its frames leave this host (bound to {bind}): set a key (`hustings keys generate` prints one), or --insecure to let any host on the network take part"
    )]
    NoKey {
        /// The name of the group.
        group: String,
        /// The address at which the agent receives.
        bind: SocketAddr,
    },
    /// The address of the HTTP interface is not a loopback address. The page and the streams of
    /// events are only for this host.
    #[error(
        "http {0} is not a loopback address: choose an address such as 127.0.0.1:7480, or off; to read metrics and the status from elsewhere, set metrics (--metrics {0})"
    )]
    HttpBeyondHost(SocketAddr),
    /// The address is not a multicast address.
    #[error("multicast {0} is not a multicast address: 239.0.0.0 to 239.255.255.255, or ff00::/8")]
    NotMulticast(SocketAddr),
    /// The multicast address means a different network on every host.
    #[error(
        "multicast {0} reaches only one host or one link, and needs a zone to say which: choose a site-local address such as {MULTICAST_V6}"
    )]
    MulticastNeedsZone(SocketAddr),
    /// The multicast address has port 0, to which nothing can be sent.
    #[error("multicast {0}: port 0 cannot be used: choose a port, such as 7401")]
    MulticastWithoutPort(SocketAddr),
    /// Two addresses have different IP versions, so one cannot receive what the other sends.
    #[error("{what} and bind {bind} have different IP versions: choose both of one version")]
    TwoVersions {
        /// The other address and the name of its field.
        what: String,
        /// The address at which the agent receives.
        bind: SocketAddr,
    },
    /// Several interfaces are possible, and each may lead to another network. Holds their
    /// addresses.
    #[error(
        "which network interface leads to the other members? name it with --interface, by its address \
         ({}), or choose --multicast off",
        list(.0)
    )]
    WhichInterface(Vec<IpAddr>),
    /// Two groups have the same trace file, in which their lines could not be told apart.
    #[error(
        "groups `{}` and `{}` would both be recorded in trace {}: give each a file of its own, or choose one with --group",
        groups[0], groups[1], trace.display()
    )]
    SameTraceTwice {
        /// The names of the groups.
        groups: [String; 2],
        /// The trace file.
        trace: PathBuf,
    },
    /// The configuration of a group cannot be used.
    #[error("group `{group}`: {why}")]
    Group {
        /// The name of the group.
        group: String,
        /// The reason.
        why: GroupConfigError,
    },
}

/// The reason for which the configuration of one group cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GroupConfigError {
    /// The protocol or the council refuses its configuration.
    #[error(transparent)]
    Protocol(#[from] ConfigError),
    /// There are too few or too many voters, or two of them have the same name. Holds the problem.
    #[error("{0}")]
    Voters(String),
    /// This program was built without the store of this name.
    #[error("this program was built without {0}: build it with `cargo build --features {0}`")]
    NotBuilt(&'static str),
    /// The member does not campaign, but the protocol of this name elects among all members.
    #[error(
        "campaign false has no effect with protocol {0}, which elects among all members: choose announce, suppress or earliest"
    )]
    CannotListen(&'static str),
    /// The group has a partial view, but the protocol of this name needs to know all members.
    #[error("view has no effect with protocol {0}: it is for probabilistic and none")]
    CannotKnowFew(&'static str),
    /// The partial view has a size out of bounds. A group whose members know too few others falls
    /// apart.
    #[error(
        "view {0}: choose from {least} to {most}",
        least = VIEW_BOUNDS.start(),
        most = VIEW_BOUNDS.end()
    )]
    View(u16),
    /// The class of hosts is out of bounds.
    #[error("class of hosts: choose from 0 to {}", MOST_CLASSES - 1)]
    Class,
    /// A voter has no directory for its file. Its promises would be lost with its process. Holds
    /// the name of the voter.
    #[error(
        "this member, `{0}`, is one of its voters, and must store its promises: name a directory on a disk with --state, or state = \"/var/lib/hustings\""
    )]
    VoterWithoutState(String),
    /// An interval is out of bounds, or an address cannot be used.
    #[error("{field} {what}")]
    Value {
        /// The name of the field.
        field: &'static str,
        /// The value, unless it is secret, and what is allowed.
        what: String,
    },
}
