//! Counts packets on the wire with packet filters.

use serde_json::Value;

use super::contest::Setup;
use super::stores::Store;
use crate::Result;
use crate::hosts::Hosts;
use crate::testbed::{MEMBERS, PORT};

/// Packets between the members and the authority that grants tenure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Passed {
    pub(super) packets: u64,
    /// Packets with a payload. The others open, confirm and close connections.
    pub(super) messages: u64,
}

/// Counts packets between a store's host and the other hosts.
pub(super) struct StoreMeter<'a> {
    hosts: &'a Hosts,
    host: usize,
}

impl<'a> StoreMeter<'a> {
    pub(super) fn begin(setup: Setup<'a>, store: Store) -> Result<Self> {
        let (hosts, host) = (setup.hosts, setup.stores.host);
        let port = store.port();
        // TCP sets the PSH flag on the last packet of each write.
        let rules = format!(
            "counter passed {{ }}\ncounter messages {{ }}\n\
             chain in {{ type filter hook input priority 0; iif != lo tcp dport {port} counter name passed; \
             iif != lo tcp dport {port} tcp flags & psh == psh counter name messages; }}\n\
             chain out {{ type filter hook output priority 0; oif != lo tcp sport {port} counter name passed; \
             oif != lo tcp sport {port} tcp flags & psh == psh counter name messages; }}"
        );
        hosts.filter(host, &rules)?;
        Ok(Self { hosts, host })
    }

    /// Returns the counts since the beginning.
    pub(super) fn read(&self) -> Result<Passed> {
        let counted = |name| counter(self.hosts, self.host, name);
        Ok(Passed { packets: counted("passed")?, messages: counted("messages")? })
    }
}

impl Drop for StoreMeter<'_> {
    fn drop(&mut self) {
        // The filter only counts: at worst it stays.
        let _ = self.hosts.unfilter(self.host);
    }
}

/// Counts datagrams from member to member.
pub(super) struct MemberMeter<'a>(&'a Hosts);

impl<'a> MemberMeter<'a> {
    pub(super) fn begin(setup: Setup<'a>) -> Result<Self> {
        let rules = format!(
            "counter passed {{ }}\n\
             chain out {{ type filter hook output priority 0; oif != lo udp sport {PORT} ip daddr != 224.0.0.0/4 \
             counter name passed; }}"
        );
        for host in 0..MEMBERS {
            setup.hosts.filter(host, &rules)?;
        }
        Ok(Self(setup.hosts))
    }

    /// Returns the count since the beginning.
    pub(super) fn read(&self) -> Result<u64> {
        (0..MEMBERS).map(|host| counter(self.0, host, "passed")).sum()
    }
}

impl Drop for MemberMeter<'_> {
    fn drop(&mut self) {
        for host in 0..MEMBERS {
            // The filter only counts: at worst it stays.
            let _ = self.0.unfilter(host);
        }
    }
}

fn counter(hosts: &Hosts, host: usize, name: &str) -> Result<u64> {
    let mut command = hosts.command(host, "nft");
    command.args(["-j", "list", "counters", "table", "inet", "trial"]);
    let output = command.output()?;
    let listed: Value = serde_json::from_slice(&output.stdout)?;
    packets(&listed, name).ok_or_else(|| format!("host {host} has no counter {name}").into())
}

fn packets(listed: &Value, name: &str) -> Option<u64> {
    let counters = listed["nftables"].as_array()?.iter();
    let mut counters = counters.map(|it| &it["counter"]);
    counters.find(|it| it["name"] == name)?["packets"].as_u64()
}

#[cfg(test)]
mod tests {
    use super::packets;

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
}
