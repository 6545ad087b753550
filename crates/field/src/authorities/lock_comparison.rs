//! The methods under measurement: the authorities of tenure, and the usual alternatives.

use std::time::Duration;

use super::stores::Store;

/// An authority of tenure, or a lock that is used in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockMethod {
    /// `hustings run`, with three of the members as voters.
    Quorum,
    /// The same with default options.
    QuorumByDefault,
    /// `hustings run`, with etcd.
    Etcd,
    /// `hustings run`, with PostgreSQL.
    Postgres,
    /// `etcdctl lock`, which runs a command under a lock.
    EtcdLock,
    /// `etcdctl elect`, which prints a line when it is elected.
    EtcdElect,
    /// `psql`, which takes an advisory lock and then runs a command.
    AdvisoryLock,
}

/// The fault that hits the member whose command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HolderFault {
    /// SIGKILL of the command.
    Command,
    /// SIGKILL of the process that started the command.
    Client,
    /// No packet passes between its host and the others.
    Host,
}

/// The properties of a method.
pub(super) struct Profile {
    pub(super) name: &'static str,
    /// The program that starts the command.
    client: &'static str,
    /// The duration of one grant.
    pub(super) ttl: Option<Duration>,
    /// The store that grants the lock; `None` if the members do.
    pub(super) store: Option<Store>,
    /// The faults from which the method recovers in a time that a test can wait for.
    pub(super) faults: &'static [HolderFault],
    /// One in this many trials is carried out: fewer for methods that take seconds.
    one_in: u32,
}

impl Profile {
    /// Returns the number of trials when the user wants `asked`.
    pub(super) fn trials(&self, asked: u32) -> u32 {
        asked.div_ceil(self.one_in)
    }
}

impl LockMethod {
    pub(super) const ALL: [Self; 6] = [
        Self::Quorum,
        Self::Etcd,
        Self::Postgres,
        Self::EtcdLock,
        Self::EtcdElect,
        Self::AdvisoryLock,
    ];

    /// Returns what is known of the method. etcd grants no less than two seconds. `etcdctl elect`
    /// always asks for sixty, and does not notice that the reader of its line is gone. An advisory
    /// lock lasts as long as its connection, which PostgreSQL keeps for two hours after a host was
    /// lost.
    pub(super) fn profile(self) -> Profile {
        use HolderFault::{Client, Command, Host};
        const ALL: &[HolderFault] = &[Command, Client, Host];
        let profile = |name, client, ttl_ms: Option<u64>, store, faults, one_in| {
            let ttl = ttl_ms.map(Duration::from_millis);
            Profile { name, client, ttl, store, faults, one_in }
        };
        let ours = "hustings run";
        let (etcd, postgres) = (Some(Store::Etcd), Some(Store::Postgres));
        match self {
            Self::Quorum => profile("quorum of 3, ttl 300 ms", ours, Some(300), None, ALL, 1),
            Self::QuorumByDefault => {
                profile("quorum of 3, default options", ours, Some(2_000), None, ALL, 3)
            }
            Self::Etcd => profile("etcd, ttl 2 s", ours, Some(2_000), etcd, ALL, 3),
            Self::Postgres => profile("postgres, ttl 300 ms", ours, Some(300), postgres, ALL, 1),
            Self::EtcdLock => {
                profile("etcdctl lock, ttl 2 s", "etcdctl", Some(2_000), etcd, ALL, 3)
            }
            Self::EtcdElect => {
                profile("etcdctl elect, ttl 60 s", "etcdctl", Some(60_000), etcd, &[Client], 10)
            }
            Self::AdvisoryLock => {
                let faults = &[Command, Client];
                profile("psql, pg_advisory_lock", "psql", None, postgres, faults, 1)
            }
        }
    }

    pub(super) fn is_ours(self) -> bool {
        self.has_voters() || matches!(self, Self::Etcd | Self::Postgres)
    }

    /// True if members grant tenure.
    pub(super) fn has_voters(self) -> bool {
        matches!(self, Self::Quorum | Self::QuorumByDefault)
    }
}

impl HolderFault {
    pub(super) fn name(self, method: LockMethod) -> String {
        match self {
            Self::Command => "SIGKILL of the command".to_owned(),
            Self::Client => format!("SIGKILL of {}", method.profile().client),
            Self::Host => "host lost".to_owned(),
        }
    }
}
