//! Why a configuration cannot work.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use hustings_protocol::config::ConfigError;

use super::presets::VIEW_BOUNDS;
use super::{MULTICAST_V6, values};
use crate::council::MOST_CLASSES;
use crate::frame::MOST_NAME_BYTES;

fn list(addresses: &[IpAddr]) -> String {
    let texts: Vec<String> = addresses.iter().map(IpAddr::to_string).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    values::list(&texts)
}

/// Why a configuration cannot work.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Unfit {
    /// A name that does not fit into frames, logs and addresses.
    #[error(
        "{what} `{name}`: 1 to {MOST_NAME_BYTES} letters, digits, dots, hyphens or underscores are needed"
    )]
    Name {
        /// Whose.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Nothing to be a member of.
    #[error("no group: an agent is a member of at least one")]
    NoGroup,
    /// Which one would be meant?
    #[error("group `{0}` is there twice")]
    SameGroupTwice(String),
    /// Anybody on the network could lead.
    #[error(
        "group `{group}` has no key, and its frames leave this host (bound to {bind}): \
         set a key (`hustings keys generate` prints one), or --insecure to let anybody on the network take part"
    )]
    NoKey {
        /// Which group.
        group: String,
        /// Where.
        bind: SocketAddr,
    },
    /// The page and the streams of events are for this host.
    #[error(
        "http {0} is not of this host alone: choose an address such as 127.0.0.1:7480, or off; \
         to read metrics and the status from elsewhere, set metrics (--metrics {0})"
    )]
    HttpBeyondHost(SocketAddr),
    /// Not where multicasts can go.
    #[error("multicast {0} is not a multicast address: 239.0.0.0 to 239.255.255.255, or ff00::/8")]
    NotMulticast(SocketAddr),
    /// Every host would mean another one.
    #[error(
        "multicast {0} is of one host or one link alone, which cannot be told without a zone: \
         choose a site-local one such as {MULTICAST_V6}"
    )]
    MulticastNeedsZone(SocketAddr),
    /// Nothing is sent to port 0.
    #[error("multicast {0}: port 0 is none: choose one, such as 7401")]
    MulticastWithoutPort(SocketAddr),
    /// What is sent by one is not heard by the other.
    #[error("{what} and bind {bind} are of different IP versions: choose both of one")]
    TwoVersions {
        /// An address, and whose it is.
        what: String,
        /// Where the agent receives.
        bind: SocketAddr,
    },
    /// Each leads to another network, or to none.
    #[error(
        "which network interface leads to the other members? name it with --interface, by its address \
         ({}), or choose --multicast off",
        list(.0)
    )]
    WhichInterface(Vec<IpAddr>),
    /// Nobody could tell one from the other.
    #[error(
        "groups `{}` and `{}` would both be recorded in trace {}: give each a file of its own, or choose one with --group",
        groups[0], groups[1], trace.display()
    )]
    SameTraceTwice {
        /// Which groups.
        groups: [String; 2],
        /// The file.
        trace: PathBuf,
    },
    /// The protocol's own reasons.
    #[error("group `{group}`: {source}")]
    Protocol {
        /// Which group.
        group: String,
        /// The reason.
        source: ConfigError,
    },
    /// Too few, too many, or not to be told apart.
    #[error("group `{group}`: {what}")]
    Voters {
        /// Which group.
        group: String,
        /// What is wrong with them.
        what: String,
    },
    /// This program does not know the store.
    #[error(
        "group `{group}`: this program was built without {store}: build it with `cargo build --features {store}`"
    )]
    NotBuilt {
        /// Which group.
        group: String,
        /// Which store.
        store: &'static str,
    },
    /// Its members count everybody in.
    #[error(
        "group `{group}`: campaign false means nothing to protocol {protocol}, which elects among all \
         members: choose announce, suppress or earliest"
    )]
    CannotListen {
        /// Which group.
        group: String,
        /// By which protocol.
        protocol: &'static str,
    },
    /// It elects among all.
    #[error(
        "group `{group}`: view means nothing to protocol {protocol}: it is for probabilistic and none"
    )]
    CannotKnowFew {
        /// Which group.
        group: String,
        /// By which protocol.
        protocol: &'static str,
    },
    /// A group whose members know too few falls apart.
    #[error(
        "group `{group}`: view {view}: choose from {} to {}",
        VIEW_BOUNDS.start(),
        VIEW_BOUNDS.end()
    )]
    View {
        /// Which group.
        group: String,
        /// How many others.
        view: u16,
    },
    /// There are not so many.
    #[error("group `{group}`: class of hosts: choose from 0 to {}", MOST_CLASSES - 1)]
    Class {
        /// Which group.
        group: String,
    },
    /// No address at which anything can be reached.
    #[error("group `{group}`: {field} {what}")]
    Place {
        /// Which group.
        group: String,
        /// Which field.
        field: &'static str,
        /// What is wrong with its value, and what is allowed.
        what: String,
    },
    /// What it promised would be gone with its process.
    #[error(
        "group `{group}`: this member, `{member}`, is one of its voters, and must keep what it promises: \
         name a directory on a disk with --state, or state = \"/var/lib/hustings\""
    )]
    VoterWithoutState {
        /// Which group.
        group: String,
        /// The voter.
        member: String,
    },
    /// Too short or too long for members that run for real.
    #[error("group `{group}`: {interval} {what}")]
    Interval {
        /// Which group.
        group: String,
        /// Which interval.
        interval: &'static str,
        /// How long it is, and what is allowed.
        what: String,
    },
}
