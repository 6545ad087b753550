//! What tenure costs: the three authorities side by side, and what people use instead.
//!
//! Five hosts contend, a sixth has the stores. What is granted lets a command run, which says when it began.

mod contender;
mod contest;
mod counts;
mod kills;
mod moment;
mod stores;
mod syncs;
mod times;
mod wire;
pub(crate) mod worker;

use std::path::Path;

use super::ground::{Ground, MEMBERS};
use super::hosts::Hosts;
use super::table::Report;
use super::{Options, release};
use crate::Result;
use contender::Contender;
use contest::Ring;
use stores::Stores;

/// `cargo xtask field --cost`.
pub(super) fn run(options: &Options) -> Result<()> {
    let features = ["--bin", "hustings", "--features", "etcd,postgres"];
    let program = release(&features, "hustings")?;
    let hosts = Hosts::make(MEMBERS + 1)?;
    let chosen = options.choose(&Contender::ALL, |contender| contender.name());
    let mut report = Report::default();

    let title = "Messages, packets and syncs to get tenure, and to keep it once:";
    let mut table = report.table(title, &counts::HEADINGS);
    for contender in &chosen {
        // New ones each time: what one contender has left behind ends in another's time, and is written to disk.
        let stores = Stores::open(&hosts, MEMBERS)?;
        counts::run(ring(&hosts, &stores, &program), **contender, &mut table)?;
    }
    for line in HOW_IT_IS_COUNTED.lines() {
        table.note(line);
    }

    let title = "Until a command runs under tenure, in milliseconds, 5 hosts:";
    let mut table = report.table(title, &times::HEADINGS);
    let stores = Stores::open(&hosts, MEMBERS)?;
    for contender in &chosen {
        let trials = contender.trials(options.trials);
        let ring = ring(&hosts, &stores, &program);
        times::run(ring, **contender, trials, &mut table)?;
    }
    for line in HOW_IT_IS_TIMED.lines() {
        table.note(line);
    }
    report.close()
}

/// How soon the next command runs when `hustings run` is killed, with default options.
pub(super) fn run_kills(ground: Ground<'_>, options: &Options, report: &mut Report) -> Result<()> {
    let stores = Stores::none(ground.hosts);
    kills::run(ring(ground.hosts, &stores, ground.program), options, report)
}

fn ring<'a>(hosts: &'a Hosts, stores: &'a Stores<'a>, program: &'a Path) -> Ring<'a> {
    Ring {
        hosts,
        stores,
        program,
    }
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
etcd grants no ttl below 2 s; etcdctl elect always asks for 60 s, and is not told if its reader dies.
An advisory lock lasts as long as its connection: a lost host keeps it until TCP gives up, after hours.";
