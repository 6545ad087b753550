//! A configuration in a few words, for people.

use hustings_protocol::announce::{Joining, Listen, Takeover};
use hustings_protocol::probabilistic;

use super::{AgentConfig, AuthorityConfig, GroupConfig, ProtocolConfig};
use crate::reach::Reach;

/// What being the leader is worth without an authority.
const ADVISORY: &str =
    "leadership is advisory: for a while two members may both take themselves for the leader";

/// What it is worth with one.
const FENCED: &str =
    "leadership is fenced: at most one member leads, and each tenure has a higher fence";

impl AgentConfig {
    /// Who it is and where it listens.
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
}

impl GroupConfig {
    /// How its leader is elected and its members are found, whether it has a key, and where it is recorded.
    pub fn sentence(&self) -> String {
        let keys = match self.keys.len() {
            0 => "no key".to_owned(),
            1 => "key set".to_owned(),
            several => format!("{several} keys set"),
        };
        let ways = match (self.multicast, &self.join[..]) {
            (Some(address), []) => format!("multicast {address}"),
            (Some(address), join) => format!("multicast {address}, join {}", join.join(" ")),
            (None, []) => "no multicast and nobody to join: others must join here".to_owned(),
            (None, join) => format!("join {}", join.join(" ")),
        };
        let trace = self.trace.as_ref();
        let trace = trace.map_or_else(String::new, |path| format!("; trace {}", path.display()));
        let merit = match self.campaigns {
            _ if self.protocol.is_none() => self.council.sentence(),
            true => format!("priority {}", self.merit.0),
            false => "never leads".to_owned(),
        };
        let view = self.view;
        let view = view.map_or_else(String::new, |view| format!(", knowing {view} of many"));
        let round = match self.protocol {
            ProtocolConfig::Probabilistic(config) => self.round_in_words(config),
            _ => String::new(),
        };
        format!(
            "group {}: {}{round}{view}, {merit}; {}; {keys}; {ways}{trace}",
            self.name,
            self.protocol.sentence(),
            self.authority.sentence(),
        )
    }

    /// How many are expected to relay in a first round, and how long it takes.
    fn round_in_words(&self, config: probabilistic::Config) -> String {
        let config = match self.goes_by_rumour() {
            true => config.by_rumour(),
            false => config,
        };
        match self.target {
            Some(target) => {
                let longest = config.round_time(u32::MAX);
                format!(", K from the target {target}, {longest} for a first round at most")
            }
            None => {
                let first = config.strategy.first;
                let lasts = config.round_time(first);
                format!(", K {first}, {lasts} for a first round")
            }
        }
    }

    /// Whether what is said to all of a group that nobody knows whole goes from each to a few others, at least at first.
    fn goes_by_rumour(&self) -> bool {
        self.view.is_some() && Reach::new(self.multicast, !self.join.is_empty()).may_miss_some()
    }
}

impl AuthorityConfig {
    /// Who grants tenure, and for how long at a time.
    pub fn sentence(&self) -> String {
        match self {
            Self::Nobody => "advisory".to_owned(),
            Self::Quorum(quorum) => format!(
                "fenced by voters {}, ttl {}",
                quorum.voters.join(" "),
                quorum.ttl
            ),
            Self::Store(store) => {
                let era = match store.era {
                    0 => String::new(),
                    era => format!(", era {era}"),
                };
                format!("fenced by {}, ttl {}{era}", store.store.name(), store.ttl)
            }
        }
    }

    /// What being the leader is worth.
    pub fn worth(&self) -> &'static str {
        match self {
            Self::Nobody => ADVISORY,
            Self::Quorum(_) | Self::Store(_) => FENCED,
        }
    }
}

impl ProtocolConfig {
    /// Its name and its intervals.
    pub fn sentence(&self) -> String {
        let name = self.name();
        match self {
            Self::Announce(config) => {
                let first = config.listen_interval(config.assumed_loss);
                let first = first.map_or_else(|| "ever".to_owned(), |span| span.to_string());
                let listen = match config.listen {
                    Listen::Measured { .. } => format!("auto ({first} at first)"),
                    Listen::For(_) | Listen::Never => first,
                };
                let patience = match config.joining {
                    Joining::Query { patience } | Joining::SuppressThenQuery { patience } => {
                        format!(", patience {patience}")
                    }
                    Joining::Announce => String::new(),
                };
                let takeover = match config.takeover {
                    Takeover::Never => "never",
                    Takeover::ByTheBetter => "by-the-better",
                };
                format!(
                    "{name}: announce {}, suppress {}, listen {listen}, takeover {takeover}{patience}",
                    config.announce, config.suppress
                )
            }
            Self::Bully(config) => {
                let patience = patience_in_words(config.patience);
                format!(
                    "{name}: answers within {}, victory within {}{patience}",
                    config.answer_within, config.victory_within
                )
            }
            Self::NoElection => "no leader is elected".to_owned(),
            Self::ChangRoberts(config) => format!("{name}{}", patience_in_words(config.patience)),
            Self::ModifiedRing(config) => format!("{name}{}", patience_in_words(config.patience)),
            Self::Probabilistic(config) => format!("{name}: bound {}", config.hop),
        }
    }
}

fn patience_in_words(patience: Option<hustings_protocol::Duration>) -> String {
    patience.map_or_else(String::new, |span| format!(", patience {span}"))
}
