//! Bounds that apply to files, command lines and programs alike.

use hustings_protocol::Duration;
use hustings_protocol::announce::{Config, Listen};

use super::{announced, group, settle};
use crate::authority::config::EtcdConfig;
use crate::config::{AuthorityConfig, GroupConfig, ProtocolConfig, StoreConfig, StoreKind};

/// The bounds also apply to a program that fills in a configuration without a file.
#[test]
fn intervals_out_of_bounds_are_refused_from_any_source() {
    let mut config = settle(&group("")).unwrap();
    let mut check = |protocol| {
        config.groups[0].protocol = protocol;
        config.check().unwrap_err().to_string()
    };
    assert_eq!(
        check(ProtocolConfig::announce_field(Duration(1))),
        "group `web`: announce 1ns: too short: choose from 1ms to 1h"
    );
    let listen = Listen::For(Duration::from_secs(100_000));
    let usual = announced("");
    assert_eq!(
        check(ProtocolConfig::Announce(Config { listen, ..usual })),
        "group `web`: listen 100000s: too long: choose from 1ms to 24h"
    );
    let suppress = Duration::from_secs(3601);
    assert_eq!(
        check(ProtocolConfig::Announce(Config { suppress, ..usual })),
        "group `web`: suppress 3601s: too long: choose from 0s to 1h"
    );
    let (short, second) = (Duration(1), Duration::from_secs(1));
    for (protocol, interval) in [
        (ProtocolConfig::bully_field(second, short), "patience"),
        (ProtocolConfig::bully_field(short, second), "answer_within"),
        (ProtocolConfig::chang_roberts_field(short), "patience"),
        (ProtocolConfig::modified_ring_field(short), "patience"),
        (ProtocolConfig::probabilistic_field("web", short, 7), "hop"),
    ] {
        let said = check(protocol);
        let begins = format!("group `web`: {interval} ");
        assert!(said.starts_with(&begins), "{said}");
        assert!(said.contains("too short: choose from 1ms"), "{said}");
    }
}

/// The bounds of ttl, addresses and stores also apply to programs.
#[test]
fn bounds_of_ttl_and_addresses_apply_to_programs() {
    let voters = group("voters = [\"a\", \"b\", \"c\"]");
    let check = |change: &dyn Fn(&mut GroupConfig)| {
        let mut config = settle(&voters).unwrap();
        change(&mut config.groups[0]);
        config.check().map_err(|unfit| unfit.to_string())
    };
    let with_ttl = |millis| {
        check(&|group: &mut GroupConfig| {
            if let AuthorityConfig::Quorum(quorum) = &mut group.authority {
                quorum.ttl = Duration::from_millis(millis);
            }
        })
    };
    for millis in [100, 3_600_000] {
        assert_eq!(with_ttl(millis), Ok(()));
    }
    for (millis, said) in [(99, "99ms: too short"), (3_600_001, "3600001ms: too long")] {
        let said = format!("group `web`: ttl {said}: choose from 100ms to 1h");
        assert_eq!(with_ttl(millis), Err(said));
    }
    let place = check(&|group| group.join = vec!["10.0.0.2".to_owned()]).unwrap_err();
    assert!(place.starts_with("group `web`: join `10.0.0.2`: not a host and a port"), "{place}");
    let address = "239.255.72.85:0".parse().unwrap();
    assert_eq!(
        check(&|group| group.multicast = Some(address)).unwrap_err(),
        "multicast 239.255.72.85:0: port 0 cannot be used: choose a port, such as 7401"
    );
    let postgres = StoreKind::Postgres { url: "secret@db".to_owned() };
    let endpoints = vec!["secret@etcd".to_owned()];
    let etcd = StoreKind::Etcd(EtcdConfig { endpoints, login: None, ca: None });
    for (store, said) in [(postgres, "postgres write it as"), (etcd, "etcd write it as")] {
        if !store.is_built() {
            continue;
        }
        let refused = check(&|group| {
            group.authority = AuthorityConfig::Store(StoreConfig {
                store: store.clone(),
                ttl: Duration::from_secs(2),
                era: 0,
                state: None,
            });
        });
        let refused = refused.unwrap_err();
        assert!(refused.contains(said), "{refused}");
        assert!(!refused.contains("secret"), "{refused}");
    }
}
