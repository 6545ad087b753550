//! Who grants tenure, as it is configured.

use std::path::PathBuf;

use hustings_protocol::config::ConfigError;
use hustings_protocol::{Duration, tenure};

use super::presets::{ANSWERS_IN_A_TTL, BACK_OFFS_IN_A_TTL};
use crate::identity::member_id;

/// Who grants a group's tenure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthorityConfig {
    /// Nobody: leadership is advisory.
    Nobody,
    /// A majority of these members.
    Quorum(QuorumConfig),
}

/// Voters of the group itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuorumConfig {
    /// Their names: an odd number, the same on every member.
    pub voters: Vec<String>,
    /// For how long tenure is granted at a time.
    pub ttl: Duration,
    /// The directory in which a voter keeps what it promised.
    pub state: Option<PathBuf>,
}

impl QuorumConfig {
    /// As the rules know it.
    pub fn terms(&self) -> tenure::Config {
        let voters = self.voters.iter().map(|name| member_id(name)).collect();
        let answer_within = Duration(self.ttl.0 / ANSWERS_IN_A_TTL);
        tenure::Config {
            back_off: Duration(self.ttl.0 / BACK_OFFS_IN_A_TTL),
            ..tenure::Config::field(voters, self.ttl, answer_within)
        }
    }

    /// Whether `member` votes.
    pub fn is_voter(&self, member: &str) -> bool {
        self.voters.iter().any(|voter| voter == member)
    }
}

impl AuthorityConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        match self {
            Self::Nobody => Ok(()),
            Self::Quorum(quorum) => quorum.terms().check(),
        }
    }

    /// For how long tenure is granted at a time; none where nobody grants it.
    pub fn ttl(&self) -> Option<Duration> {
        match self {
            Self::Nobody => None,
            Self::Quorum(quorum) => Some(quorum.ttl),
        }
    }
}
