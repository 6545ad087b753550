//! Who grants tenure, as it is configured.

use std::path::PathBuf;

use hustings_protocol::config::ConfigError;
use hustings_protocol::tenure::MOST_VOTERS;
use hustings_protocol::{Duration, tenure};

use super::check_name;
use super::presets::{ANSWERS_IN_A_TTL, BACK_OFFS_IN_A_TTL, DRIFT_PPM, LONGEST_BACK_OFF};
use crate::authority::StoreTerms;
use crate::authority::voter_file::Vote;
use crate::identity::{group_id, member_id};

/// Who grants a group's tenure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthorityConfig {
    /// Nobody: leadership is advisory.
    Nobody,
    /// A majority of these members.
    Quorum(QuorumConfig),
    /// A store that runs anyway.
    Store(StoreConfig),
}

/// A store, and on which terms it is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreConfig {
    /// Which, and where.
    pub store: StoreKind,
    /// For how long tenure is granted at a time.
    pub ttl: Duration,
    /// The high bits of each fence: raised by hand when the store has lost what it counted.
    pub era: u16,
    /// The directory in which the highest fence seen is kept, if any: a store that was set back is then noticed
    /// even by a member that has restarted.
    pub state: Option<PathBuf>,
}

/// Which store.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreKind {
    /// etcd, at these endpoints.
    Etcd {
        /// As `http://host:2379`.
        endpoints: Vec<String>,
        /// As whom, if it wants to know: a name and a password.
        login: Option<(String, String)>,
        /// The certificate of whoever signed those of the endpoints.
        ca: Option<PathBuf>,
    },
    /// PostgreSQL.
    Postgres {
        /// As `postgresql://user:password@host:5432/database`.
        url: String,
    },
}

impl std::fmt::Debug for StoreKind {
    /// Without addresses, which may hold passwords.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl StoreKind {
    /// What people call it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Etcd { .. } => "etcd",
            Self::Postgres { .. } => "postgres",
        }
    }

    /// Whether this program was built with it.
    pub fn is_built(&self) -> bool {
        match self {
            Self::Etcd { .. } => cfg!(feature = "etcd"),
            Self::Postgres { .. } => cfg!(feature = "postgres"),
        }
    }
}

impl StoreConfig {
    /// As the clerk knows it.
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

/// Whoever grants tenure must answer in this time.
fn answer_within(ttl: Duration) -> Duration {
    Duration(ttl.0 / ANSWERS_IN_A_TTL)
}

/// However promptly voters must answer, an heir has this long.
const TAKEN_AT_LEAST: Duration = Duration::from_millis(250);

/// An heir that is there has tenure when so many answers have come, each as late as it may: a word to it, and the two
/// round trips of an attempt.
const ANSWERS_TO_TAKE: u64 = 3;

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
        let answer_within = answer_within(self.ttl);
        tenure::Config {
            back_off: Duration(self.ttl.0 / BACK_OFFS_IN_A_TTL).min(LONGEST_BACK_OFF),
            ..tenure::Config::field(voters, self.ttl, answer_within)
        }
    }

    /// For how long an heir may take tenure that was handed to it, before whom the election names gets the next.
    pub fn taken_within(&self) -> Duration {
        Duration(self.ttl.0.saturating_mul(ANSWERS_TO_TAKE) / ANSWERS_IN_A_TTL).max(TAKEN_AT_LEAST)
    }

    /// What tells this list of voters from any other, in whatever order it is written.
    pub fn voters_id(&self) -> u64 {
        let mut names: Vec<&str> = self.voters.iter().map(String::as_str).collect();
        names.sort_unstable();
        group_id(&names.join(" "))
    }

    /// The vote of `member` in `group`.
    pub fn vote<'a>(&self, group: &'a str, member: &'a str) -> Vote<'a> {
        let voters = self.voters_id();
        Vote {
            group,
            member,
            voters,
        }
    }

    /// Whether these can be the voters of a group: if not, what is wrong with them, and what to do.
    pub(super) fn check_voters(&self) -> Result<(), String> {
        const WHERE: &str = "--voters, or voters = [..]";
        let count = self.voters.len();
        if count.is_multiple_of(2) || count > MOST_VOTERS {
            let names = self.voters.join(", ");
            return Err(format!(
                "{count} voters ({names}): name an odd number of them, 1 to {MOST_VOTERS} ({WHERE})"
            ));
        }
        for (at, voter) in self.voters.iter().enumerate() {
            check_name("voter", voter).map_err(|unfit| format!("{unfit} ({WHERE})"))?;
            if self.voters[..at].contains(voter) {
                return Err(format!(
                    "voter `{voter}` is named twice: name each once ({WHERE})"
                ));
            }
        }
        Ok(())
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
            Self::Store(store) => store.terms("", "").check(),
        }
    }

    /// For how long tenure is granted at a time; none where nobody grants it.
    pub fn ttl(&self) -> Option<Duration> {
        match self {
            Self::Nobody => None,
            Self::Quorum(quorum) => Some(quorum.ttl),
            Self::Store(store) => Some(store.ttl),
        }
    }

    /// In which time whoever grants tenure must answer; none where nobody grants it.
    pub(crate) fn answer_within(&self) -> Option<Duration> {
        self.ttl().map(answer_within)
    }
}
