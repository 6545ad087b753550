//! The cost of tenure: the three authorities side by side, and the usual alternatives.
//!
//! Five hosts compete for tenure and a sixth runs the stores. A member that is granted tenure runs
//! a command, which reports when it began.

mod contest;
mod counts;
mod kills;
mod lock_comparison;
mod meters;
mod stores;
mod times;
pub(crate) mod worker;

use super::hosts::Hosts;
use super::programs::release;
use super::table::Report;
use super::testbed::{MEMBERS, Testbed};
use crate::{Options, Result};
use contest::Setup;
use lock_comparison::LockMethod;
use stores::Stores;

/// Runs `cargo xtask field --cost`.
pub(super) fn run(options: &Options) -> Result<()> {
    let features = ["--bin", "hustings", "--features", "etcd,postgres"];
    let program = release(&features, "hustings")?;
    let hosts = Hosts::make(MEMBERS + 1)?;
    let chosen = options.choose(&LockMethod::ALL, |method| method.profile().name);
    let mut report = Report::default();

    let title = "Messages, packets and syncs to get tenure, and to keep it once:";
    let mut table = report.table(title, &counts::HEADINGS);
    for method in &chosen {
        // New stores each time: what one method left behind would expire and be written to disk
        // while the next one is counted.
        let stores = Stores::open(&hosts, MEMBERS)?;
        let setup = Setup { testbed: Testbed::new(&hosts, &program), stores: &stores };
        counts::run(setup, **method, &mut table)?;
    }
    for line in HOW_IT_IS_COUNTED.lines() {
        table.note(line);
    }

    let title = "Until a command runs under tenure, in milliseconds, 5 hosts:";
    let mut table = report.table(title, &times::HEADINGS);
    let stores = Stores::open(&hosts, MEMBERS)?;
    for method in &chosen {
        let trials = method.profile().trials(options.trials);
        let setup = Setup { testbed: Testbed::new(&hosts, &program), stores: &stores };
        times::run(setup, **method, trials, &mut table)?;
    }
    for line in HOW_IT_IS_TIMED.lines() {
        table.note(line);
    }
    report.close()
}

/// Measures how soon the next command runs after `hustings run` is killed, with default options.
pub(super) fn run_kills(
    testbed: Testbed<'_>,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let stores = Stores::none(testbed.hosts);
    kills::run(Setup { testbed, stores: &stores }, options, report)
}

const HOW_IT_IS_COUNTED: &str = "\
One member asks, which does not vote; connecting is part of acquiring; the median of five.
Quorum: messages are questions to the voters and their answers, by the members' own counters, a datagram
  each; wire: all unicast datagrams between members meanwhile, by their hosts' packet filters.
The others: packets at the store's host and port, by its packet filter; messages are those with data (PSH).
Syncs: fsync and fdatasync of the voters, or of all processes of the store, by strace.
Renewals: of etcd, by its own count; else, a third of the ttl each. An advisory lock needs none.
etcdctl renews once when it begins, which is counted as a part of acquiring.";

const HOW_IT_IS_TIMED: &str = "\
From the start of the first of five processes, or from the blow, until the next command runs and says so;
tenure: median and p95 until its member's log has the fence, to which the limits are. Overlaps: the former command still ran then.
etcd grants no ttl below 2 s; etcdctl elect always asks for 60 s, and does not notice if its reader dies.
An advisory lock lasts as long as its connection: a lost host keeps it until TCP gives up, after hours.";
