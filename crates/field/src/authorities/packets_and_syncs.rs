//! Counts what passes while it runs: packets on the wire, by packet filters, and syncs of the disk,
//! by the system calls of processes.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use hustings_testkit::{Process, poll, run};
use serde_json::Value;

use super::contest::Setup;
use super::stores::Store;
use crate::Result;
use crate::hosts::Hosts;
use crate::testbed::{MEMBERS, PORT};

/// Counts packets by the filters of some hosts until it is dropped.
pub(super) struct PacketMeter<'a> {
    hosts: &'a Hosts,
    on: Range<usize>,
}

impl<'a> PacketMeter<'a> {
    /// Counts packets between a store's host and the other hosts.
    pub(super) fn at_store(setup: Setup<'a>, store: Store) -> Result<Self> {
        let port = store.port();
        // TCP sets the PSH flag on the last packet of each write.
        let rules = format!(
            "chain in {{ type filter hook input priority 0; iif != lo tcp dport {port} counter name passed; \
             iif != lo tcp dport {port} tcp flags & psh == psh counter name messages; }}\n\
             chain out {{ type filter hook output priority 0; oif != lo tcp sport {port} counter name passed; \
             oif != lo tcp sport {port} tcp flags & psh == psh counter name messages; }}"
        );
        let host = setup.stores.host;
        Self::begin(setup, host..host + 1, &rules)
    }

    /// Counts datagrams from member to member.
    pub(super) fn at_members(setup: Setup<'a>) -> Result<Self> {
        let rules = format!(
            "chain out {{ type filter hook output priority 0; oif != lo udp sport {PORT} ip daddr != 224.0.0.0/4 \
             counter name passed; }}"
        );
        Self::begin(setup, 0..MEMBERS, &rules)
    }

    fn begin(setup: Setup<'a>, on: Range<usize>, rules: &str) -> Result<Self> {
        let hosts = setup.testbed.hosts;
        let rules = format!("counter passed {{ }}\ncounter messages {{ }}\n{rules}");
        on.clone().try_for_each(|host| hosts.filter(host, &rules))?;
        Ok(Self { hosts, on })
    }

    /// Returns the number of packets since the beginning, and of those with a payload. The others
    /// open, confirm and close connections.
    pub(super) fn read(&self) -> Result<[u64; 2]> {
        let counted = |name| -> Result<u64> {
            self.on.clone().map(|host| counter(self.hosts, host, name)).sum()
        };
        Ok([counted("passed")?, counted("messages")?])
    }
}

impl Drop for PacketMeter<'_> {
    fn drop(&mut self) {
        for host in self.on.clone() {
            // The filter only counts: at worst it stays.
            let _ = self.hosts.unfilter(host);
        }
    }
}

fn counter(hosts: &Hosts, host: usize, name: &str) -> Result<u64> {
    let mut command = hosts.command(host, "nft");
    command.args(["-j", "list", "counters", "table", "inet", "trial"]);
    let listed: Value = serde_json::from_str(&run(&mut command)?)?;
    packets(&listed, name).ok_or_else(|| format!("host {host} has no counter {name}").into())
}

fn packets(listed: &Value, name: &str) -> Option<u64> {
    let counters = listed["nftables"].as_array()?.iter();
    let mut counters = counters.map(|it| &it["counter"]);
    counters.find(|it| it["name"] == name)?["packets"].as_u64()
}

const ATTACHES_WITHIN: Duration = Duration::from_secs(5);

/// Counts the syncs of some processes and of their children until it is dropped.
pub(super) struct SyncMeter {
    _tracer: Process,
    log: PathBuf,
}

impl SyncMeter {
    /// Begins to count, with a log file in `home`.
    pub(super) fn begin(processes: &[u32], home: &Path) -> Result<Self> {
        let log = home.join("syncs");
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-e", "trace=fsync,fdatasync,sync,syncfs", "-o"]);
        command.arg(&log);
        for process in processes {
            command.args(["-p", &process.to_string()]);
        }
        command.stdin(Stdio::null()).stderr(Stdio::null());
        // On SIGTERM strace detaches from the processes that it traces.
        let tracer = Process::spawn_terminated(&mut command)?;
        let are_traced = || processes.iter().all(|it| is_traced(*it)).then_some(());
        let attached = poll(ATTACHES_WITHIN, are_traced);
        attached.ok_or("strace does not attach: may this user trace processes?")?;
        Ok(Self { _tracer: tracer, log })
    }

    /// Returns the count since the beginning.
    pub(super) fn read(&self) -> Result<u64> {
        Ok(calls(&fs::read_to_string(&self.log)?))
    }
}

fn is_traced(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|tracer| tracer.trim() != "0")
}

/// Counts the calls that began. If another thread acts during a call, strace writes two lines for
/// it.
fn calls(log: &str) -> u64 {
    let began = |line: &&str| line.contains("sync(") || line.contains("syncfs(");
    log.lines().filter(began).count() as u64
}

#[cfg(test)]
mod tests {
    use super::{calls, packets};

    #[test]
    fn counters_are_found_by_name() {
        let listed = serde_json::json!({"nftables": [
            {"metainfo": {"version": "1.0.6"}},
            {"counter": {"family": "inet", "name": "messages", "packets": 3, "bytes": 9}},
            {"counter": {"family": "inet", "name": "passed", "packets": 7, "bytes": 9}},
        ]});
        assert_eq!(packets(&listed, "passed"), Some(7));
        assert_eq!(packets(&listed, "messages"), Some(3));
        assert_eq!(packets(&listed, "asked"), None);
    }

    #[test]
    fn call_on_two_lines_counts_once() {
        let log = "\
1907  fdatasync(9 <unfinished ...>
1908  fsync(4)                          = 0
1907  <... fdatasync resumed>)          = 0
1907  +++ exited with 0 +++
1908  fdatasync(9)                      = 0
";
        assert_eq!(calls(log), 3);
        assert_eq!(calls(""), 0);
    }
}
