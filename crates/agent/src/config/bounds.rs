//! The bounds of intervals and addresses. The values of files and command lines are read within them; a program that
//! fills in a configuration by itself is held to the same.

use hustings_protocol::{Duration, announce};

use super::presets::{
    ANNOUNCE_BOUNDS, Bounds, LISTEN_BOUNDS, SUPPRESS_BOUNDS, TTL_BOUNDS, WAIT_BOUNDS,
};
use super::{AuthorityConfig, GroupConfig, ProtocolConfig, StoreConfig, StoreKind, Unfit, values};

impl ProtocolConfig {
    /// Whether real members can keep to its intervals: the simulator's may be shorter or longer.
    pub(super) fn check_intervals(&self) -> Result<(), (&'static str, String)> {
        for (name, span, bounds) in self.intervals() {
            let refused = |what| (name, format!("{span}: {what}"));
            bounds.check(span).map_err(refused)?;
        }
        Ok(())
    }

    /// The intervals that are configured, each with what it may be. The same hold for files and command lines.
    fn intervals(&self) -> Vec<(&'static str, Duration, Bounds)> {
        let patience = |span: Option<Duration>| span.map(|it| ("patience", it, WAIT_BOUNDS));
        match self {
            Self::Announce(config) => {
                let listen = match config.listen {
                    announce::Listen::For(span) => Some(("listen", span, LISTEN_BOUNDS)),
                    announce::Listen::Never | announce::Listen::Measured { .. } => None,
                };
                let asks = match config.joining {
                    announce::Joining::Announce => None,
                    announce::Joining::Query { patience }
                    | announce::Joining::SuppressThenQuery { patience } => Some(patience),
                };
                let always = [
                    ("announce", config.announce, ANNOUNCE_BOUNDS),
                    ("suppress", config.suppress, SUPPRESS_BOUNDS),
                ];
                let some = listen.into_iter().chain(patience(asks));
                always.into_iter().chain(some).collect()
            }
            Self::Bully(config) => {
                // Both are some bounds long.
                let waits = [
                    ("answer_within", config.answer_within, LISTEN_BOUNDS),
                    ("victory_within", config.victory_within, LISTEN_BOUNDS),
                ];
                waits.into_iter().chain(patience(config.patience)).collect()
            }
            Self::ChangRoberts(config) => patience(config.patience).into_iter().collect(),
            Self::ModifiedRing(config) => patience(config.patience).into_iter().collect(),
            Self::Probabilistic(config) => vec![
                ("hop", config.hop, WAIT_BOUNDS),
                ("spread", config.spread, WAIT_BOUNDS),
            ],
            Self::NoElection => Vec::new(),
        }
    }
}

impl GroupConfig {
    pub(super) fn check_ttl(&self) -> Result<(), Unfit> {
        let Some(ttl) = self.authority.ttl() else {
            return Ok(());
        };
        let checked = TTL_BOUNDS.check(ttl);
        checked.map(drop).map_err(|what| Unfit::Interval {
            group: self.name.clone(),
            interval: "ttl",
            what: format!("{ttl}: {what}"),
        })
    }

    /// Whether the addresses of members and stores can be used. Those of stores may hold passwords, and are not shown.
    pub(super) fn check_places(&self) -> Result<(), Unfit> {
        let refused = |field, what| Unfit::Place {
            group: self.name.clone(),
            field,
            what,
        };
        for place in &self.join {
            let unfit = |what| refused("join", format!("`{place}`: {what}"));
            values::place(place).map_err(unfit)?;
        }
        match &self.authority {
            AuthorityConfig::Store(StoreConfig {
                store: StoreKind::Etcd { endpoints, .. },
                ..
            }) => {
                for endpoint in endpoints {
                    values::endpoint(endpoint).map_err(|what| refused("etcd", what))?;
                }
            }
            AuthorityConfig::Store(StoreConfig {
                store: StoreKind::Postgres { url },
                ..
            }) => {
                values::postgres(url).map_err(|what| refused("postgres", what))?;
            }
            AuthorityConfig::Nobody | AuthorityConfig::Quorum(_) => {}
        }
        Ok(())
    }
}
