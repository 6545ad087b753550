//! Hosts for trials: network namespaces on a bridge, removed when dropped.

use std::ffi::OsStr;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use hustings_testkit::{Scratch, TIED, in_namespace, run};

use super::measure::now_ns;
use crate::Result;

/// The number of hosts above which each host knows only one neighbour. The kernel has room for
/// about a thousand pairs of neighbours in all namespaces together.
const MOST_NEIGHBOURS: usize = 24;

/// The address of the bridge, for hosts that know only the bridge.
const BRIDGE_ADDRESS: &str = "10.72.255.254";
const BRIDGE_MAC: &str = "02:72:ff:00:00:01";

/// The network of a trial. It has no connection to the outside of this machine.
pub(crate) struct Hosts {
    /// The common prefix of the names of its namespaces.
    prefix: String,
    count: usize,
}

impl Hosts {
    /// Fails if hosts cannot be made here.
    pub(crate) fn probe() -> Result<()> {
        let probe = format!("hustings-{}-probe", std::process::id());
        ip(&["netns", "add", &probe])
            .map_err(|error| format!("network namespaces are not allowed here: {error}"))?;
        let _ = ip(&["netns", "delete", &probe]);
        Ok(())
    }

    /// Makes `count` hosts on one bridge, each with one interface.
    pub(crate) fn make(count: usize) -> Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let serial = MADE.fetch_add(1, Ordering::Relaxed);
        let hosts = Self { prefix: format!("hustings-{}-{serial}", std::process::id()), count };
        let bridge = hosts.bridge();
        ip(&["netns", "add", &bridge])?;
        // A bridge with multicast snooping forgets group memberships if there is no querier.
        let mut links = vec!["link add bridge type bridge mcast_snooping 0".to_owned()];
        for index in 0..count {
            let host = hosts.namespace(index);
            ip(&["netns", "add", &host])?;
            links.push(format!("link add port{index} type veth peer name eth0 netns {host}"));
            links.push(format!("link set port{index} master bridge up"));
        }
        links.push("link set bridge up".to_owned());
        batch(&bridge, &links)?;
        if count <= MOST_NEIGHBOURS {
            hosts.join_directly()?;
        } else {
            hosts.route_through_bridge()?;
        }
        Ok(hosts)
    }

    /// Lets each host find the others by ARP.
    fn join_directly(&self) -> Result<()> {
        for index in 0..self.count {
            let lines = [
                format!("address add {}/16 dev eth0", address(index)),
                "link set eth0 up".to_owned(),
                "link set lo up".to_owned(),
            ];
            batch(&self.namespace(index), &lines)?;
        }
        Ok(())
    }

    /// Gives each host one neighbour, the bridge, which forwards unicasts. Multicasts go to all
    /// hosts as usual.
    fn route_through_bridge(&self) -> Result<()> {
        let bridge = self.bridge();
        let mut lines = vec![
            format!("link set bridge address {BRIDGE_MAC}"),
            format!("address add {BRIDGE_ADDRESS}/16 dev bridge"),
        ];
        let neighbour = |index| {
            let (address, mac) = (address(index), mac(index));
            format!("neigh add {address} lladdr {mac} dev bridge nud permanent")
        };
        lines.extend((0..self.count).map(neighbour));
        batch(&bridge, &lines)?;
        let settings = "cd /proc/sys/net/ipv4 && echo 1 >ip_forward \
            && echo 0 >conf/all/send_redirects && echo 0 >conf/bridge/send_redirects";
        run(in_namespace(&bridge, "sh").args(["-c", settings]))?;
        for index in 0..self.count {
            let lines = [
                format!("link set eth0 address {}", mac(index)),
                // Three hundred hosts would each send router solicitations to all the others.
                "link set eth0 addrgenmode none".to_owned(),
                format!("address add {}/32 dev eth0", address(index)),
                "link set eth0 up".to_owned(),
                "link set lo up".to_owned(),
                format!("route add {BRIDGE_ADDRESS} dev eth0"),
                format!("neigh add {BRIDGE_ADDRESS} lladdr {BRIDGE_MAC} dev eth0 nud permanent"),
                format!("route add 10.72.0.0/16 via {BRIDGE_ADDRESS}"),
                "route add 224.0.0.0/4 dev eth0".to_owned(),
            ];
            batch(&self.namespace(index), &lines)?;
        }
        Ok(())
    }

    /// Gives every host an IPv6 address too.
    pub(crate) fn add_ipv6_addresses(&self) -> Result<()> {
        for index in 0..self.count {
            let address = format!("{}/64", Family::V6.address(index));
            // The address is unique, so duplicate address detection, which takes a second, is
            // skipped.
            let host = self.namespace(index);
            ip(&["-netns", &host, "address", "replace", &address, "dev", "eth0", "nodad"])?;
        }
        Ok(())
    }

    fn bridge(&self) -> String {
        format!("{}-bridge", self.prefix)
    }

    /// Returns the name of the namespace of host `index`.
    pub(crate) fn namespace(&self, index: usize) -> String {
        format!("{}-{index}", self.prefix)
    }

    /// Returns a command that runs on host `index`.
    pub(crate) fn command(&self, index: usize, program: impl AsRef<OsStr>) -> Command {
        in_namespace(&self.namespace(index), program)
    }

    /// Returns a command that runs on host `index`, has no input, and ends when this process ends.
    /// Its arguments are options of `setpriv`, the program, and the program's arguments.
    pub(crate) fn tied_command(&self, index: usize) -> Command {
        let mut command = self.command(index, TIED[0]);
        command.args(&TIED[1..]).stdin(Stdio::null());
        command
    }

    /// Replaces the packet filter of host `index` by `rules`, the body of an nftables table.
    pub(crate) fn filter(&self, index: usize, rules: &str) -> Result<()> {
        let script = format!(
            "table inet trial\ndelete table inet trial\ntable inet trial {{\n{rules}\n}}\n"
        );
        run(self.command(index, "nft").arg(script))?;
        Ok(())
    }

    /// Removes the packet filter of host `index`.
    pub(crate) fn unfilter(&self, index: usize) -> Result<()> {
        self.filter(index, "")
    }

    /// Replaces the packet filter of host `index` by `rules` for the packets that it receives.
    fn filter_input(&self, index: usize, rules: &str) -> Result<()> {
        self.filter(index, &format!("chain in {{ type filter hook input priority 0; {rules} }}"))
    }

    /// Replaces the packet filter of host `index` by `rules` for the packets that it sends.
    pub(crate) fn filter_output(&self, index: usize, rules: &str) -> Result<()> {
        self.filter(index, &format!("chain out {{ type filter hook output priority 0; {rules} }}"))
    }

    /// Drops every packet that host `index` sends or should receive. Returns the time before the
    /// change.
    pub(crate) fn isolate(&self, index: usize) -> Result<u64> {
        let began = now_ns();
        self.filter(
            index,
            "chain in { type filter hook input priority 0; iif != lo drop; }\n\
             chain out { type filter hook output priority 0; oif != lo drop; }",
        )?;
        Ok(began)
    }

    /// Makes every host in `hosts` lose `percent` of the packets that it should receive.
    pub(crate) fn lose(&self, hosts: impl IntoIterator<Item = usize>, percent: u32) -> Result<()> {
        let rules = format!("iif != lo numgen random mod 100 < {percent} drop;");
        hosts.into_iter().try_for_each(|index| self.filter_input(index, &rules))
    }

    /// Drops the groups' multicasts at host `index`. Link-local multicasts pass, because IPv6 needs
    /// them to find neighbours.
    pub(crate) fn drop_multicasts(&self, index: usize) -> Result<()> {
        self.filter_input(index, "ip daddr 224.0.0.0/4 drop; ip6 daddr ff05::/16 drop;")
    }

    /// Drops the IPv4 multicasts that host `index` sends.
    pub(crate) fn silence(&self, index: usize) -> Result<()> {
        self.filter_output(index, "ip daddr 224.0.0.0/4 drop;")
    }

    /// Drops all packets from `others` at host `index`.
    pub(crate) fn block(&self, index: usize, others: &[usize]) -> Result<()> {
        let all = |family: Family| {
            let addresses = others.iter().map(|&other| family.address(other).to_string());
            addresses.collect::<Vec<_>>().join(", ")
        };
        let (v4, v6) = (all(Family::V4), all(Family::V6));
        self.filter_input(index, &format!("ip saddr {{ {v4} }} drop; ip6 saddr {{ {v6} }} drop;"))
    }

    /// Ends the TCP connections of host `index` to a port of `address`, as if each end had reset
    /// them.
    pub(crate) fn sever(&self, index: usize, address: &str, port: u16) -> Result<()> {
        let mut command = self.command(index, "ss");
        command.args(["--no-header", "--kill", "dst", &format!("{address}:{port}")]);
        // `ss` prints the connections that it ended.
        ensure!(!run(&mut command)?.is_empty(), "{command:?} ended no connection");
        Ok(())
    }

    /// Drops all packets between the hosts `left` and the hosts `right`.
    pub(crate) fn cut(&self, left: &[usize], right: &[usize]) -> Result<()> {
        for (side, other) in [(left, right), (right, left)] {
            for &index in side {
                self.block(index, other)?;
            }
        }
        Ok(())
    }

    /// Removes the packet filters of all hosts at once. Returns the time before the change: the
    /// last filter is gone a few milliseconds later.
    pub(crate) fn heal(&self) -> Result<u64> {
        let began = now_ns();
        let healed: bool = thread::scope(|scope| {
            let heal = |index| scope.spawn(move || self.unfilter(index).is_ok());
            let hosts: Vec<_> = (0..self.count).map(heal).collect();
            hosts.into_iter().all(|it| it.join().unwrap_or(false))
        });
        ensure!(healed, "packet filters cannot be taken away");
        Ok(began)
    }

    /// Returns the numbers of packets that host `index` has sent and received.
    pub(crate) fn packets(&self, index: usize) -> Result<[f64; 2]> {
        let directory = "/sys/class/net/eth0/statistics";
        let files = ["tx_packets", "rx_packets"].map(|file| format!("{directory}/{file}"));
        let text = run(self.command(index, "cat").args(files))?;
        let counts: std::result::Result<Vec<f64>, _> = text.lines().map(str::parse).collect();
        counts?.try_into().map_err(|_| format!("not two counts of packets: {text:?}").into())
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for index in 0..self.count {
            // A namespace that does not exist need not be removed.
            let _ = ip(&["netns", "delete", &self.namespace(index)]);
        }
        let _ = ip(&["netns", "delete", &self.bridge()]);
    }
}

/// The address family that members use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    V4,
    V6,
}

impl Family {
    /// Returns the address of host `index`.
    pub(crate) fn address(self, index: usize) -> IpAddr {
        match self {
            Self::V4 => Ipv4Addr::new(10, 72, (index / 250) as u8, (index % 250 + 1) as u8).into(),
            Self::V6 => Ipv6Addr::new(0xfd72, 0, 0, 0, 0, 0, 0, (index + 1) as u16).into(),
        }
    }
}

/// Returns the IPv4 address of host `index`.
pub(crate) fn address(index: usize) -> String {
    Family::V4.address(index).to_string()
}

/// Returns the MAC address of host `index`.
fn mac(index: usize) -> String {
    let [high, low] = (index as u16).to_be_bytes();
    format!("02:72:00:00:{high:02x}:{low:02x}")
}

/// Runs many `ip` commands in one process, so that hundreds of hosts are made in seconds.
fn batch(namespace: &str, lines: &[String]) -> Result<()> {
    let home = Scratch::new("hustings-ip");
    let script = home.join("batch");
    fs::write(&script, lines.join("\n") + "\n")?;
    run(Command::new("ip").args(["-netns", namespace, "-batch"]).arg(script))?;
    Ok(())
}

fn ip(arguments: &[&str]) -> Result<()> {
    run(Command::new("ip").args(arguments))?;
    Ok(())
}
