//! The cost of tenure: the three authorities side by side, and the usual alternatives.
//!
//! Five hosts compete for tenure and a sixth runs the stores. A member that is granted tenure runs
//! a command, which reports when it began.

mod contest;
mod counts;
mod packets_and_syncs;
mod stores;
mod times;
pub(crate) mod worker;

use std::time::Duration;

use super::hosts::Hosts;
use super::table::Report;
use super::testbed::{MEMBERS, Testbed, release};
use crate::{Options, Result};
use contest::Setup;
use stores::{Store, Stores};
pub(crate) use times::kills;

/// Runs `cargo xtask field --cost`.
pub(super) fn run(options: &Options) -> Result<()> {
    let features = ["--bin", "hustings", "--features", "etcd,postgres"];
    let program = release(&features, "hustings")?;
    let hosts = Hosts::make(MEMBERS + 1)?;
    let chosen = options.choose(&LockMethod::ALL, |method| method.profile().name);
    let mut report = Report::default();

    let testbed = Testbed::new(&hosts, &program);

    let title = "Messages, packets and syncs to get tenure, and to keep it once:";
    report.table(title, &counts::HEADINGS);
    for method in &chosen {
        // New stores each time: what one method left behind would expire and be written to disk
        // while the next one is counted.
        let stores = Stores::open(&hosts, MEMBERS)?;
        counts::run(Setup { testbed, stores: &stores }, **method, &mut report)?;
    }
    report.note(HOW_IT_IS_COUNTED);

    let title = "Until a command runs under tenure, in milliseconds, 5 hosts:";
    report.table(title, &times::HEADINGS);
    let stores = Stores::open(&hosts, MEMBERS)?;
    for method in &chosen {
        let trials = method.profile().trials(options.trials);
        times::run(Setup { testbed, stores: &stores }, **method, trials, &mut report)?;
    }
    report.note(HOW_IT_IS_TIMED);
    report.close()
}

const HOW_IT_IS_COUNTED: &str = "\
One member asks, which does not vote; connecting is part of acquiring; the median of five.
Quorum: messages are questions to the voters and their answers, by the members' own counters, a datagram
  each; wire: all unicast datagrams between members meanwhile, by their hosts' packet filters.
The others: packets at the store's host and port, by its packet filter; messages are those with data (PSH).
SyncMeter: fsync and fdatasync of the voters, or of all processes of the store, by strace.
Renewals: of etcd, by its own count; else, a third of the ttl each. An advisory lock needs none.
etcdctl renews once when it begins, which is counted as a part of acquiring.";

const HOW_IT_IS_TIMED: &str = "\
From the start of the first of five processes, or from the blow, until the next command runs and says so;
tenure: median and p95 until its member's log has the fence, to which the limits are. Overlaps: the former command still ran then.
etcd grants no ttl below 2 s; etcdctl elect always asks for 60 s, and does not notice if its reader dies.
An advisory lock lasts as long as its connection: a lost host keeps it until TCP gives up, after hours.";

/// An authority of tenure, or a lock that is used in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LockMethod {
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
enum HolderFault {
    /// SIGKILL of the command.
    Command,
    /// SIGKILL of the process that started the command.
    Client,
    /// No packet passes between its host and the others.
    Host,
}

/// The properties of a method.
struct Profile {
    name: &'static str,
    /// The program that starts the command.
    client: &'static str,
    /// The duration of one grant.
    ttl: Option<Duration>,
    /// The store that grants the lock; `None` if the members do.
    store: Option<Store>,
    /// The faults from which the method recovers in a time that a test can wait for.
    faults: &'static [HolderFault],
    /// One in this many trials is carried out: fewer for methods that take seconds.
    one_in: u32,
}

impl Profile {
    /// Returns the number of trials when the user wants `asked`.
    fn trials(&self, asked: u32) -> u32 {
        asked.div_ceil(self.one_in)
    }
}

impl LockMethod {
    const ALL: [Self; 6] = [
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
    fn profile(self) -> Profile {
        use HolderFault::{Client, Command, Host};
        const ALL: &[HolderFault] = &[Command, Client, Host];
        let ours = "hustings run";
        let (etcd, postgres) = (Some(Store::Etcd), Some(Store::Postgres));
        let (name, client, ttl_ms, store, faults, one_in) = match self {
            Self::Quorum => ("quorum of 3, ttl 300 ms", ours, Some(300), None, ALL, 1),
            Self::QuorumByDefault => {
                ("quorum of 3, default options", ours, Some(2_000), None, ALL, 3)
            }
            Self::Etcd => ("etcd, ttl 2 s", ours, Some(2_000), etcd, ALL, 3),
            Self::Postgres => ("postgres, ttl 300 ms", ours, Some(300), postgres, ALL, 1),
            Self::EtcdLock => ("etcdctl lock, ttl 2 s", "etcdctl", Some(2_000), etcd, ALL, 3),
            Self::EtcdElect => {
                ("etcdctl elect, ttl 60 s", "etcdctl", Some(60_000), etcd, &[Client][..], 10)
            }
            Self::AdvisoryLock => {
                ("psql, pg_advisory_lock", "psql", None, postgres, &[Command, Client][..], 1)
            }
        };
        Profile { name, client, ttl: ttl_ms.map(Duration::from_millis), store, faults, one_in }
    }

    fn is_ours(self) -> bool {
        self.has_voters() || matches!(self, Self::Etcd | Self::Postgres)
    }

    /// True if members grant tenure.
    fn has_voters(self) -> bool {
        matches!(self, Self::Quorum | Self::QuorumByDefault)
    }
}

impl HolderFault {
    fn name(self, method: LockMethod) -> String {
        match self {
            Self::Command => "SIGKILL of the command".to_owned(),
            Self::Client => format!("SIGKILL of {}", method.profile().client),
            Self::Host => "host lost".to_owned(),
        }
    }
}
