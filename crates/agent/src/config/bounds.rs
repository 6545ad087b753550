//! The bounds of intervals and addresses. Files and command lines are checked against them when
//! they are read. A program that fills in a configuration itself is checked against the same
//! bounds.

use hustings_protocol::{Duration, announce};

use super::presets::{
    ANNOUNCE_BOUNDS, Bounds, LISTEN_BOUNDS, SUPPRESS_BOUNDS, TTL_BOUNDS, WAIT_BOUNDS,
};
use super::{
    AgentConfigError, AuthorityConfig, GroupConfig, ProtocolConfig, StoreConfig, StoreKind, values,
};

/// Checks that real members can keep the intervals of `protocol`. The simulator's may be shorter or
/// longer.
pub(super) fn check_intervals(protocol: &ProtocolConfig) -> Result<(), (&'static str, String)> {
    for (name, span, bounds) in intervals(protocol) {
        let refused = |what| (name, format!("{span}: {what}"));
        bounds.check(span).map_err(refused)?;
    }
    Ok(())
}

/// Returns the configured intervals with their bounds. The same bounds apply to files and command
/// lines.
fn intervals(protocol: &ProtocolConfig) -> Vec<(&'static str, Duration, Bounds)> {
    let election_timeout = |span: Option<Duration>| span.map(|it| ("patience", it, WAIT_BOUNDS));
    match protocol {
        ProtocolConfig::Announce(config) => {
            let listen = match config.listen {
                announce::Listen::For(span) => Some(("listen", span, LISTEN_BOUNDS)),
                announce::Listen::Never | announce::Listen::Measured { .. } => None,
            };
            let asks = match config.joining {
                announce::Joining::Announce => None,
                announce::Joining::Query { election_timeout }
                | announce::Joining::SuppressThenQuery { election_timeout } => {
                    Some(election_timeout)
                }
            };
            let always = [
                ("announce", config.announce, ANNOUNCE_BOUNDS),
                ("suppress", config.suppress, SUPPRESS_BOUNDS),
            ];
            let some = listen.into_iter().chain(election_timeout(asks));
            always.into_iter().chain(some).collect()
        }
        ProtocolConfig::Bully(config) => {
            // Both are multiples of the delay bound.
            let waits = [
                ("answer_within", config.answer_within, LISTEN_BOUNDS),
                ("victory_within", config.victory_within, LISTEN_BOUNDS),
            ];
            waits.into_iter().chain(election_timeout(config.election_timeout)).collect()
        }
        ProtocolConfig::ChangRoberts(config) => {
            election_timeout(config.election_timeout).into_iter().collect()
        }
        ProtocolConfig::ModifiedRing(config) => {
            election_timeout(config.election_timeout).into_iter().collect()
        }
        ProtocolConfig::Probabilistic(config) => {
            vec![("hop", config.hop, WAIT_BOUNDS), ("spread", config.spread, WAIT_BOUNDS)]
        }
        ProtocolConfig::NoElection => Vec::new(),
    }
}

pub(super) fn check_ttl(group: &GroupConfig) -> Result<(), AgentConfigError> {
    let Some(ttl) = group.authority.ttl() else {
        return Ok(());
    };
    let checked = TTL_BOUNDS.check(ttl);
    checked.map(drop).map_err(|what| AgentConfigError::Interval {
        group: group.name.clone(),
        interval: "ttl",
        what: format!("{ttl}: {what}"),
    })
}

/// Checks that the addresses of members and stores can be used. Addresses of stores may hold
/// passwords, so errors do not show them.
pub(super) fn check_places(group: &GroupConfig) -> Result<(), AgentConfigError> {
    let refused = |field, what| AgentConfigError::Place { group: group.name.clone(), field, what };
    for place in &group.join {
        let unfit = |what| refused("join", format!("`{place}`: {what}"));
        values::place(place).map_err(unfit)?;
    }
    match &group.authority {
        AuthorityConfig::Store(StoreConfig {
            store: StoreKind::Etcd { endpoints, .. }, ..
        }) => {
            for endpoint in endpoints {
                values::endpoint(endpoint).map_err(|what| refused("etcd", what))?;
            }
        }
        AuthorityConfig::Store(StoreConfig { store: StoreKind::Postgres { url }, .. }) => {
            values::postgres(url).map_err(|what| refused("postgres", what))?;
        }
        AuthorityConfig::Nobody | AuthorityConfig::Quorum(_) => {}
    }
    Ok(())
}
