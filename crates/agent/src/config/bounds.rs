//! The bounds of intervals and addresses. Files and command lines are checked against them when
//! they are read. A program that fills in a configuration itself is checked against the same
//! bounds.

use hustings_protocol::Duration;
use hustings_protocol::announce::{self, Listen};

use super::presets::{
    ANNOUNCE_BOUNDS, Bounds, LISTEN_BOUNDS, SUPPRESS_BOUNDS, TTL_BOUNDS, WAIT_BOUNDS,
};
use super::{
    AuthorityConfig, GroupConfig, GroupConfigError, ProtocolConfig, StoreConfig, StoreKind, values,
};

/// Checks that real members can keep the intervals of `protocol`. The simulator's may be shorter or
/// longer.
pub(super) fn check_intervals(protocol: &ProtocolConfig) -> Result<(), GroupConfigError> {
    let mut intervals = intervals(protocol).into_iter();
    intervals.try_for_each(|(field, span, bounds)| check_interval(field, span, bounds))
}

fn check_interval(
    field: &'static str,
    span: Duration,
    bounds: Bounds,
) -> Result<(), GroupConfigError> {
    bounds.check(span).map(drop).map_err(|what| {
        let what = format!("{span}: {what}");
        GroupConfigError::Value { field, what }
    })
}

/// Returns the configured intervals with their bounds. The same bounds apply to files and command
/// lines.
fn intervals(protocol: &ProtocolConfig) -> Vec<(&'static str, Duration, Bounds)> {
    let mut intervals = match protocol {
        ProtocolConfig::Announce(config) => vec![
            ("announce", config.announce, ANNOUNCE_BOUNDS),
            ("suppress", config.suppress, SUPPRESS_BOUNDS),
        ],
        // Both are multiples of the delay bound.
        ProtocolConfig::Bully(config) => vec![
            ("answer_within", config.answer_within, LISTEN_BOUNDS),
            ("victory_within", config.victory_within, LISTEN_BOUNDS),
        ],
        ProtocolConfig::Probabilistic(config) => {
            vec![("hop", config.hop, WAIT_BOUNDS), ("spread", config.spread, WAIT_BOUNDS)]
        }
        ProtocolConfig::ChangRoberts(_)
        | ProtocolConfig::ModifiedRing(_)
        | ProtocolConfig::NoElection => Vec::new(),
    };
    if let ProtocolConfig::Announce(announce::Config { listen: Listen::For(span), .. }) = protocol {
        intervals.push(("listen", *span, LISTEN_BOUNDS));
    }
    let patience = protocol.election_timeout();
    intervals.extend(patience.map(|span| ("patience", span, WAIT_BOUNDS)));
    intervals
}

/// Checks the duration of tenure and the addresses of members and stores. Addresses of stores may
/// hold passwords, so errors do not show them.
pub(super) fn check_values(group: &GroupConfig) -> Result<(), GroupConfigError> {
    let refused = |field, what| GroupConfigError::Value { field, what };
    if let Some(ttl) = group.authority.ttl() {
        check_interval("ttl", ttl, TTL_BOUNDS)?;
    }
    for place in &group.join {
        values::place(place).map_err(|what| refused("join", format!("`{place}`: {what}")))?;
    }
    let AuthorityConfig::Store(StoreConfig { store, .. }) = &group.authority else {
        return Ok(());
    };
    match store {
        StoreKind::Etcd { endpoints, .. } => {
            let checked = endpoints.iter().try_for_each(|it| values::endpoint(it).map(drop));
            checked.map_err(|what| refused("etcd", what))
        }
        StoreKind::Postgres { url } => {
            values::postgres(url).map(drop).map_err(|what| refused("postgres", what))
        }
    }
}
