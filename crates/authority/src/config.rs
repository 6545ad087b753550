//! The configuration of a group's authority.

use std::path::PathBuf;

use hustings_protocol::config::ConfigError;
use hustings_protocol::names::{NAME_RULE, group_id, is_name, member_id};
use hustings_protocol::tenure::MOST_VOTERS;
use hustings_protocol::{Duration, tenure};

use crate::StoreTerms;
use crate::terms::{ANSWERS_IN_A_TTL, BACK_OFFS_IN_A_TTL, DRIFT_PPM, LONGEST_BACK_OFF};
use crate::voter_file::Vote;

/// The guarantee of leadership without an authority.
const ADVISORY: &str =
    "leadership is advisory: for a while two members may both take themselves for the leader";

/// The guarantee of leadership with an authority.
const FENCED: &str =
    "leadership is fenced: at most one member leads, and each tenure has a higher fence";

/// The authority that grants a group's tenure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthorityConfig {
    /// No authority: leadership is advisory.
    Nobody,
    /// A majority of the configured voters.
    Quorum(QuorumConfig),
    /// A store that the user runs anyway.
    Store(StoreConfig),
}

/// A store, and the parameters with which members ask it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreConfig {
    /// The kind of store and its address.
    pub store: StoreKind,
    /// The time for which tenure is granted.
    pub ttl: Duration,
    /// The high bits of each fence. An operator raises the era when the store has lost its count.
    pub era: u16,
    /// The directory that keeps the highest fence seen, if any. With it a member notices after a
    /// restart that its store was set back.
    pub state: Option<PathBuf>,
}

/// The kind of store and its address.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreKind {
    /// etcd.
    Etcd(EtcdConfig),
    /// PostgreSQL.
    Postgres {
        /// An address of the form `postgresql://user:password@host:5432/database`.
        url: String,
    },
}

/// The address of etcd, and the credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct EtcdConfig {
    /// The members of the cluster, as `http://host:2379` or `https://host:2379`.
    pub endpoints: Vec<String>,
    /// The user name and password, if etcd requires them.
    pub login: Option<(String, String)>,
    /// The PEM file of the CA that signed the endpoints' certificates. Required for `https`.
    pub ca: Option<PathBuf>,
}

impl std::fmt::Debug for StoreKind {
    /// Omits addresses, which may contain passwords.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl StoreKind {
    /// The name of this kind of store in messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Etcd(_) => "etcd",
            Self::Postgres { .. } => "postgres",
        }
    }

    /// True if this program was built with support for this kind of store.
    pub fn is_built(&self) -> bool {
        match self {
            Self::Etcd(_) => cfg!(feature = "etcd"),
            Self::Postgres { .. } => cfg!(feature = "postgres"),
        }
    }
}

impl StoreConfig {
    /// Returns the parameters for a [`LeaseClient`](crate::LeaseClient).
    pub fn terms(&self, group: &str, member: &str) -> StoreTerms {
        StoreTerms {
            member: member.to_owned(),
            group: group.to_owned(),
            ttl: self.ttl,
            answer_within: answer_within(self.ttl),
            drift_ppm: DRIFT_PPM,
            era: self.era,
        }
    }
}

/// The time in which the authority must answer.
fn answer_within(ttl: Duration) -> Duration {
    Duration(ttl.0 / ANSWERS_IN_A_TTL)
}

/// The least time in which a transferee may take tenure, however promptly voters must answer.
const TAKEN_AT_LEAST: Duration = Duration::from_millis(250);

/// The number of answers, each as late as permitted, after which a live transferee has tenure: one
/// message to it, and the two round trips of an attempt.
const ANSWERS_TO_TAKE: u64 = 3;

/// An authority made of voters of the group itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuorumConfig {
    /// The voters' names: an odd number, the same list on every member.
    pub voters: Vec<String>,
    /// The time for which tenure is granted.
    pub ttl: Duration,
    /// The directory in which a voter keeps its promises.
    pub state: Option<PathBuf>,
}

impl QuorumConfig {
    /// Returns the parameters for the tenure protocol.
    pub fn terms(&self) -> tenure::Config {
        let voters = self.voters.iter().map(|name| member_id(name)).collect();
        let answer_within = answer_within(self.ttl);
        tenure::Config {
            back_off: Duration(self.ttl.0 / BACK_OFFS_IN_A_TTL).min(LONGEST_BACK_OFF),
            ..tenure::Config::field(voters, self.ttl, answer_within)
        }
    }

    /// The time in which a transferee may take the tenure that was transferred to it. After that
    /// the elected member gets the next tenure.
    pub fn taken_within(&self) -> Duration {
        Duration(self.ttl.0.saturating_mul(ANSWERS_TO_TAKE) / ANSWERS_IN_A_TTL).max(TAKEN_AT_LEAST)
    }

    /// Returns a hash of the list of voters that does not depend on their order.
    pub fn voters_id(&self) -> u64 {
        let mut names: Vec<&str> = self.voters.iter().map(String::as_str).collect();
        names.sort_unstable();
        group_id(&names.join(" "))
    }

    /// The vote of `member` in `group`.
    pub fn vote<'a>(&self, group: &'a str, member: &'a str) -> Vote<'a> {
        Vote { group, member, voters: self.voters_id() }
    }

    /// Checks that the names can be the voters of a group.
    ///
    /// # Errors
    /// Returns a message that says what is wrong and what to do.
    pub fn check_voters(&self) -> Result<(), String> {
        const WHERE: &str = "--voters, or voters = [..]";
        let count = self.voters.len();
        if count.is_multiple_of(2) || count > MOST_VOTERS {
            let names = self.voters.join(", ");
            return Err(format!(
                "{count} voters ({names}): name an odd number of them, 1 to {MOST_VOTERS} ({WHERE})"
            ));
        }
        for (at, voter) in self.voters.iter().enumerate() {
            if !is_name(voter) {
                return Err(format!("voter `{voter}`: {NAME_RULE} ({WHERE})"));
            }
            if self.voters[..at].contains(voter) {
                return Err(format!("voter `{voter}` is named twice: name each once ({WHERE})"));
            }
        }
        Ok(())
    }

    /// True if `member` is a voter.
    pub fn is_voter(&self, member: &str) -> bool {
        self.voters.iter().any(|voter| voter == member)
    }
}

impl AuthorityConfig {
    /// Checks that the rules of tenure can be kept with this configuration.
    ///
    /// # Errors
    /// Returns the reason why not.
    pub fn check(&self) -> Result<(), ConfigError> {
        match self {
            Self::Nobody => Ok(()),
            Self::Quorum(quorum) => quorum.terms().check(),
            Self::Store(store) => store.terms("", "").check(),
        }
    }

    /// The time for which tenure is granted, or `None` without an authority.
    pub fn ttl(&self) -> Option<Duration> {
        match self {
            Self::Nobody => None,
            Self::Quorum(quorum) => Some(quorum.ttl),
            Self::Store(store) => Some(store.ttl),
        }
    }

    /// The time in which the authority must answer, or `None` without an authority.
    pub fn answer_within(&self) -> Option<Duration> {
        self.ttl().map(answer_within)
    }

    /// Describes the authority and its ttl in one sentence.
    pub fn sentence(&self) -> String {
        match self {
            Self::Nobody => "advisory".to_owned(),
            Self::Quorum(quorum) => {
                format!("fenced by voters {}, ttl {}", quorum.voters.join(" "), quorum.ttl)
            }
            Self::Store(store) => {
                let era = match store.era {
                    0 => String::new(),
                    era => format!(", era {era}"),
                };
                format!("fenced by {}, ttl {}{era}", store.store.name(), store.ttl)
            }
        }
    }

    /// Describes the guarantee of leadership with this authority.
    pub fn worth(&self) -> &'static str {
        match self {
            Self::Nobody => ADVISORY,
            Self::Quorum(_) | Self::Store(_) => FENCED,
        }
    }
}
