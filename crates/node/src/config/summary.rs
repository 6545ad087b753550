//! Short descriptions of a configuration, for people.

use hustings_protocol::announce::{Listen, Takeover};
use hustings_protocol::probabilistic;

use super::{GroupConfig, ProtocolConfig};
use crate::multicast_probe::MulticastProbe;

impl GroupConfig {
    /// Describes the election, the discovery of members, the keys and the trace file.
    pub fn sentence(&self) -> String {
        let keys = match self.keys.len() {
            0 => "no key".to_owned(),
            1 => "key set".to_owned(),
            several => format!("{several} keys set"),
        };
        let channels = match (self.multicast, &self.join[..]) {
            (Some(address), []) => format!("multicast {address}"),
            (Some(address), join) => format!("multicast {address}, join {}", join.join(" ")),
            (None, []) => {
                "no multicast and no address to join: other members must join here".to_owned()
            }
            (None, join) => format!("join {}", join.join(" ")),
        };
        let trace = self.trace.as_ref();
        let trace = trace.map_or_else(String::new, |path| format!("; trace {}", path.display()));
        let priority = match self.campaigns {
            _ if self.protocol.is_none() => self.council.sentence(),
            true => format!("priority {}", self.priority.0),
            false => "never leads".to_owned(),
        };
        let view = self.view;
        let view = view.map_or_else(String::new, |view| format!(", knowing {view} of many"));
        let round = match self.protocol {
            ProtocolConfig::Probabilistic(config) => self.round_in_words(config),
            _ => String::new(),
        };
        format!(
            "group {}: {}{round}{view}, {priority}; {}; {keys}; {channels}{trace}",
            self.name,
            self.protocol.sentence(),
            self.authority.sentence(),
        )
    }

    /// Describes the expected number of relaying members in a first round, and the length of that
    /// round.
    fn round_in_words(&self, config: probabilistic::Config) -> String {
        let config = if self.goes_by_rumour() { config.by_rumour() } else { config };
        match self.target {
            Some(target) => {
                let longest = config.round_time(u32::MAX);
                format!(", K from the target {target}, at most {longest} for a first round")
            }
            None => {
                let first = config.strategy.first;
                let lasts = config.round_time(first);
                format!(", K {first}, {lasts} for a first round")
            }
        }
    }

    /// True if messages to all members of a group with partial views are relayed from each member
    /// to a few others, at least at first.
    fn goes_by_rumour(&self) -> bool {
        self.view.is_some()
            && MulticastProbe::new(self.multicast, !self.join.is_empty()).may_miss_some()
    }
}

impl ProtocolConfig {
    /// Describes the protocol and its intervals.
    pub fn sentence(&self) -> String {
        let name = self.name();
        let patience = self.election_timeout();
        let patience = patience.map_or_else(String::new, |span| format!(", patience {span}"));
        match self {
            Self::Announce(config) => {
                let first = config.listen_interval(config.assumed_loss);
                let first = first.map_or_else(|| "ever".to_owned(), |span| span.to_string());
                let listen = match config.listen {
                    Listen::Measured { .. } => format!("auto ({first} at first)"),
                    Listen::For(_) | Listen::Never => first,
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
            Self::Bully(config) => format!(
                "{name}: answers within {}, victory within {}{patience}",
                config.answer_within, config.victory_within
            ),
            Self::NoElection => "no leader is elected".to_owned(),
            Self::ChangRoberts(_) | Self::ModifiedRing(_) => format!("{name}{patience}"),
            Self::Probabilistic(config) => format!("{name}: bound {}", config.hop),
        }
    }
}
