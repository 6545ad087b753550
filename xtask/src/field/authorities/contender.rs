//! Who is measured: what grants tenure, or what people use instead.

use std::time::Duration;

use super::stores::Store;

/// What grants tenure, or what people use instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contender {
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

/// What befalls the one whose command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blow {
    /// SIGKILL of the command.
    Command,
    /// SIGKILL of what has started the command.
    Client,
    /// Nothing passes between its host and the others.
    Host,
}

impl Contender {
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

    /// Who starts the command.
    pub(super) fn client(self) -> &'static str {
        match self {
            Self::Quorum | Self::QuorumByDefault | Self::Etcd | Self::Postgres => "hustings run",
            Self::EtcdLock | Self::EtcdElect => "etcdctl",
            Self::AdvisoryLock => "psql",
        }
    }

    /// For how long tenure is granted at a time. etcd grants no less than two seconds, and `etcdctl elect` asks for
    /// sixty and cannot be told otherwise. An advisory lock lasts as long as its connection.
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

    /// Whether members grant tenure.
    pub(super) fn has_voters(self) -> bool {
        matches!(self, Self::Quorum | Self::QuorumByDefault)
    }

    /// Where it is granted, unless by the members.
    pub(super) fn store(self) -> Option<Store> {
        match self {
            Self::Quorum | Self::QuorumByDefault => None,
            Self::Etcd | Self::EtcdLock | Self::EtcdElect => Some(Store::Etcd),
            Self::Postgres | Self::AdvisoryLock => Some(Store::Postgres),
        }
    }

    /// What it survives in a time that can be waited for. `etcdctl elect` is not told when whoever reads its line is
    /// gone. Nobody tells PostgreSQL that a host is lost: its connection lasts for two hours.
    pub(super) fn blows(self) -> &'static [Blow] {
        match self {
            Self::Quorum | Self::QuorumByDefault | Self::Etcd | Self::Postgres | Self::EtcdLock => {
                &[Blow::Command, Blow::Client, Blow::Host]
            }
            Self::EtcdElect => &[Blow::Client],
            Self::AdvisoryLock => &[Blow::Command, Blow::Client],
        }
    }

    /// How many trials are made where `asked` are wanted: fewer of those that take seconds.
    pub(super) fn trials(self, asked: u32) -> u32 {
        match self {
            Self::Quorum | Self::Postgres | Self::AdvisoryLock => asked,
            Self::QuorumByDefault | Self::Etcd | Self::EtcdLock => asked.div_ceil(3),
            Self::EtcdElect => asked.div_ceil(10),
        }
    }
}

impl Blow {
    pub(super) fn name(self, contender: Contender) -> String {
        match self {
            Self::Command => "SIGKILL of the command".to_owned(),
            Self::Client => format!("SIGKILL of {}", contender.client()),
            Self::Host => "host lost".to_owned(),
        }
    }
}
