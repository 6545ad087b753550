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

impl LockMethod {
    pub(super) const ALL: [Self; 6] = [
        Self::Quorum,
        Self::Etcd,
        Self::Postgres,
        Self::EtcdLock,
        Self::EtcdElect,
        Self::AdvisoryLock,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Quorum => "quorum of 3, ttl 300 ms",
            Self::QuorumByDefault => "quorum of 3, default options",
            Self::Etcd => "etcd, ttl 2 s",
            Self::Postgres => "postgres, ttl 300 ms",
            Self::EtcdLock => "etcdctl lock, ttl 2 s",
            Self::EtcdElect => "etcdctl elect, ttl 60 s",
            Self::AdvisoryLock => "psql, pg_advisory_lock",
        }
    }

    /// The program that starts the command.
    pub(super) fn client(self) -> &'static str {
        match self {
            Self::Quorum | Self::QuorumByDefault | Self::Etcd | Self::Postgres => "hustings run",
            Self::EtcdLock | Self::EtcdElect => "etcdctl",
            Self::AdvisoryLock => "psql",
        }
    }

    /// The duration of one grant. etcd grants no less than two seconds. `etcdctl elect` always asks
    /// for sixty. An advisory lock lasts as long as its connection.
    pub(super) fn ttl(self) -> Option<Duration> {
        match self {
            Self::Quorum | Self::Postgres => Some(Duration::from_millis(300)),
            Self::QuorumByDefault | Self::Etcd | Self::EtcdLock => Some(Duration::from_secs(2)),
            Self::EtcdElect => Some(Duration::from_secs(60)),
            Self::AdvisoryLock => None,
        }
    }

    pub(super) fn is_ours(self) -> bool {
        self.has_voters() || matches!(self, Self::Etcd | Self::Postgres)
    }

    /// True if members grant tenure.
    pub(super) fn has_voters(self) -> bool {
        matches!(self, Self::Quorum | Self::QuorumByDefault)
    }

    /// The store that grants the lock; `None` if the members do.
    pub(super) fn store(self) -> Option<Store> {
        match self {
            Self::Quorum | Self::QuorumByDefault => None,
            Self::Etcd | Self::EtcdLock | Self::EtcdElect => Some(Store::Etcd),
            Self::Postgres | Self::AdvisoryLock => Some(Store::Postgres),
        }
    }

    /// The faults from which the method recovers in a time that a test can wait for. `etcdctl
    /// elect` does not notice that the reader of its line is gone. PostgreSQL is not notified of a
    /// lost host: it keeps the connection for two hours.
    pub(super) fn faults(self) -> &'static [HolderFault] {
        match self {
            Self::Quorum | Self::QuorumByDefault | Self::Etcd | Self::Postgres | Self::EtcdLock => {
                &[HolderFault::Command, HolderFault::Client, HolderFault::Host]
            }
            Self::EtcdElect => &[HolderFault::Client],
            Self::AdvisoryLock => &[HolderFault::Command, HolderFault::Client],
        }
    }

    /// The number of trials when the user wants `asked`: fewer for methods that take seconds.
    pub(super) fn trials(self, asked: u32) -> u32 {
        match self {
            Self::Quorum | Self::Postgres | Self::AdvisoryLock => asked,
            Self::QuorumByDefault | Self::Etcd | Self::EtcdLock => asked.div_ceil(3),
            Self::EtcdElect => asked.div_ceil(10),
        }
    }
}

impl HolderFault {
    pub(super) fn name(self, method: LockMethod) -> String {
        match self {
            Self::Command => "SIGKILL of the command".to_owned(),
            Self::Client => format!("SIGKILL of {}", method.client()),
            Self::Host => "host lost".to_owned(),
        }
    }
}
