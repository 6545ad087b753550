//! Hosts for trials: network namespaces of our own on a bridge of our own, gone when dropped.

use std::fs;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use super::measure::now_ns;
use crate::Result;

/// Beyond so many hosts each knows one neighbour alone: the kernel has room for about a thousand pairs of neighbours, in
/// all namespaces together.
const MOST_NEIGHBOURS: usize = 24;

/// Where the bridge is, to hosts that know it alone.
const BRIDGE_ADDRESS: &str = "10.72.255.254";
const BRIDGE_MAC: &str = "02:72:ff:00:00:01";

/// The trial's network. Nothing in it leads out of this machine.
pub(crate) struct Hosts {
    /// What the names of all its namespaces begin with.
    prefix: String,
    count: usize,
}

impl Hosts {
    /// Why hosts cannot be made here, if they cannot.
    pub(crate) fn missing() -> Option<String> {
        let probe = format!("hustings-{}-probe", std::process::id());
        match ip(&["netns", "add", &probe]) {
            Ok(()) => {
                let _ = ip(&["netns", "delete", &probe]);
                None
            }
            Err(error) => Some(format!("network namespaces are not allowed here: {error}")),
        }
    }

    /// Makes `count` hosts on one bridge, each with one interface.
    pub(crate) fn make(count: usize) -> Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let serial = MADE.fetch_add(1, Ordering::Relaxed);
        let hosts = Self {
            prefix: format!("hustings-{}-{serial}", std::process::id()),
            count,
        };
        let bridge = hosts.bridge();
        ip(&["netns", "add", &bridge])?;
        // A bridge that listens in on group memberships forgets them without a querier.
        let mut links = vec!["link add bridge type bridge mcast_snooping 0".to_owned()];
        for index in 0..count {
            let host = hosts.host(index);
            ip(&["netns", "add", &host])?;
            links.push(format!(
                "link add port{index} type veth peer name eth0 netns {host}"
            ));
            links.push(format!("link set port{index} master bridge up"));
        }
        links.push("link set bridge up".to_owned());
        batch(&bridge, &links)?;
        match count <= MOST_NEIGHBOURS {
            true => hosts.join_directly()?,
            false => hosts.join_by_way_of_the_bridge()?,
        }
        Ok(hosts)
    }

    /// Each finds the others by itself.
    fn join_directly(&self) -> Result<()> {
        for index in 0..self.count {
            let lines = [
                format!("address add {}/16 dev eth0", address(index)),
                "link set eth0 up".to_owned(),
                "link set lo up".to_owned(),
            ];
            batch(&self.host(index), &lines)?;
        }
        Ok(())
    }

    /// Each knows one neighbour, the bridge, which passes unicasts on. Multicasts go to all, as ever.
    fn join_by_way_of_the_bridge(&self) -> Result<()> {
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
        run(Command::new("ip").args(["netns", "exec", &bridge, "sh", "-c", settings]))?;
        for index in 0..self.count {
            let lines = [
                format!("link set eth0 address {}", mac(index)),
                // Three hundred hosts that look for IPv6 routers are heard by three hundred.
                "link set eth0 addrgenmode none".to_owned(),
                format!("address add {}/32 dev eth0", address(index)),
                "link set eth0 up".to_owned(),
                "link set lo up".to_owned(),
                format!("route add {BRIDGE_ADDRESS} dev eth0"),
                format!("neigh add {BRIDGE_ADDRESS} lladdr {BRIDGE_MAC} dev eth0 nud permanent"),
                format!("route add 10.72.0.0/16 via {BRIDGE_ADDRESS}"),
                "route add 224.0.0.0/4 dev eth0".to_owned(),
            ];
            batch(&self.host(index), &lines)?;
        }
        Ok(())
    }

    /// Every host gets an IPv6 address too.
    pub(crate) fn speak_ipv6(&self) -> Result<()> {
        for index in 0..self.count {
            let address = format!("{}/64", Family::V6.address(index));
            // Nobody else can have it: usable at once, without asking around for a second.
            let arguments = ["address", "replace", &address, "dev", "eth0", "nodad"];
            inside(&self.host(index), &arguments)?;
        }
        Ok(())
    }

    fn bridge(&self) -> String {
        format!("{}-bridge", self.prefix)
    }

    fn host(&self, index: usize) -> String {
        format!("{}-{index}", self.prefix)
    }

    /// A command that runs on host `index`.
    pub(crate) fn command(&self, index: usize, program: &str) -> Command {
        // `ip netns exec` becomes the program: the process is the program's.
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.host(index), program]);
        command
    }

    /// A command that runs on host `index`, hears nothing, and ends when this process does. Its arguments are
    /// options of `setpriv`, the program, and what that takes.
    pub(crate) fn tied_command(&self, index: usize) -> Command {
        let mut command = self.command(index, "setpriv");
        command.args(["--pdeathsig", "KILL"]).stdin(Stdio::null());
        command
    }

    /// Replaces host `index`'s packet filter by `rules`, the body of an nftables table.
    pub(crate) fn filter(&self, index: usize, rules: &str) -> Result<()> {
        let script = format!(
            "table inet trial\ndelete table inet trial\ntable inet trial {{\n{rules}\n}}\n"
        );
        let path = std::env::temp_dir().join(format!("{}-{index}.nft", self.prefix));
        fs::write(&path, script)?;
        let mut command = self.command(index, "nft");
        let applied = run(command.arg("-f").arg(&path));
        fs::remove_file(&path)?;
        applied
    }

    /// Takes host `index`'s packet filter away.
    pub(crate) fn unfilter(&self, index: usize) -> Result<()> {
        self.filter(index, "")
    }

    /// Everything that host `index` sends or should receive vanishes. Returns when it began.
    pub(crate) fn isolate(&self, index: usize) -> Result<u64> {
        let began = now_ns();
        self.filter(
            index,
            "chain in { type filter hook input priority 0; iif != lo drop; }\n\
             chain out { type filter hook output priority 0; oif != lo drop; }",
        )?;
        Ok(began)
    }

    /// Host `index` loses `percent` of what it should receive.
    pub(crate) fn lose(&self, index: usize, percent: u32) -> Result<()> {
        self.filter(
            index,
            &format!(
                "chain in {{ type filter hook input priority 0; iif != lo numgen random mod 100 < {percent} drop; }}"
            ),
        )
    }

    /// No multicast of a group's reaches host `index`. Those of the link itself do: without them IPv6
    /// finds no neighbours.
    pub(crate) fn drop_multicasts(&self, index: usize) -> Result<()> {
        self.filter(
            index,
            "chain in { type filter hook input priority 0; ip daddr 224.0.0.0/4 drop; ip6 daddr ff05::/16 drop; }",
        )
    }

    /// No multicast that host `index` sends leaves it, over IPv4.
    pub(crate) fn silence(&self, index: usize) -> Result<()> {
        self.filter(
            index,
            "chain out { type filter hook output priority 0; ip daddr 224.0.0.0/4 drop; }",
        )
    }

    /// Host `index` receives nothing from `others`.
    pub(crate) fn block(&self, index: usize, others: &[usize]) -> Result<()> {
        let all = |family: Family| {
            let addresses = others
                .iter()
                .map(|&other| family.address(other).to_string());
            addresses.collect::<Vec<_>>().join(", ")
        };
        self.filter(
            index,
            &format!(
                "chain in {{ type filter hook input priority 0; ip saddr {{ {} }} drop; ip6 saddr {{ {} }} drop; }}",
                all(Family::V4),
                all(Family::V6)
            ),
        )
    }

    /// Ends the TCP connections of host `index` to a port of `address`, as if each end had reset it.
    pub(crate) fn sever(&self, index: usize, address: &str, port: u16) -> Result<()> {
        let mut command = self.command(index, "ss");
        command.args(["--no-header", "--kill", "dst", &format!("{address}:{port}")]);
        let output = command.output()?;
        // It prints those that it ended.
        match output.status.success() && !output.stdout.is_empty() {
            true => Ok(()),
            false => Err(format!("{command:?} ended no connection").into()),
        }
    }

    /// Nothing passes between the hosts `left` and the hosts `right`.
    pub(crate) fn cut(&self, left: &[usize], right: &[usize]) -> Result<()> {
        for (side, other) in [(left, right), (right, left)] {
            for &index in side {
                self.block(index, other)?;
            }
        }
        Ok(())
    }

    /// Takes all packet filters away, at all hosts at once. Returns when it began: the last is gone a
    /// few milliseconds later.
    pub(crate) fn heal(&self) -> Result<u64> {
        let began = now_ns();
        let healed: bool = thread::scope(|scope| {
            let heal = |index| scope.spawn(move || self.unfilter(index).is_ok());
            let hosts: Vec<_> = (0..self.count).map(heal).collect();
            hosts.into_iter().all(|it| it.join().unwrap_or(false))
        });
        match healed {
            true => Ok(began),
            false => Err("packet filters cannot be taken away".into()),
        }
    }

    /// How many packets host `index` has sent and received.
    pub(crate) fn packets(&self, index: usize) -> Result<Packets> {
        let mut command = self.command(index, "cat");
        let directory = "/sys/class/net/eth0/statistics";
        command.args(["tx_packets", "rx_packets"].map(|file| format!("{directory}/{file}")));
        let output = command.output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut counts = text.lines().map(str::parse);
        match (counts.next(), counts.next()) {
            (Some(Ok(sent)), Some(Ok(received))) => Ok(Packets { sent, received }),
            _ => Err(format!("{command:?} does not tell two counts: {text:?}").into()),
        }
    }

    /// How many datagrams came to host `index` that no socket's buffer had room for.
    pub(crate) fn without_room(&self, index: usize) -> Result<u64> {
        let output = self.command(index, "cat").arg("/proc/net/snmp").output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let count = udp_count(&text, "RcvbufErrors");
        count.ok_or_else(|| format!("/proc/net/snmp has no RcvbufErrors: {text:?}").into())
    }
}

/// What `/proc/net/snmp` says of UDP under this heading.
fn udp_count(text: &str, heading: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|it| it.strip_prefix("Udp: "));
    let (headings, values) = (lines.next()?, lines.next()?);
    let mut pairs = headings.split(' ').zip(values.split(' '));
    pairs.find(|it| it.0 == heading)?.1.parse().ok()
}

/// How many packets a host has sent and received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packets {
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for index in 0..self.count {
            // What is not there need not be removed.
            let _ = ip(&["netns", "delete", &self.host(index)]);
        }
        let _ = ip(&["netns", "delete", &self.bridge()]);
    }
}

/// Where this very program can be started from: cargo may have built another in its place meanwhile.
pub(crate) fn this_program() -> String {
    format!("/proc/{}/exe", std::process::id())
}

/// Which of their host's addresses members have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    V4,
    V6,
}

impl Family {
    /// The address of host `index`.
    pub(crate) fn address(self, index: usize) -> IpAddr {
        match self {
            Self::V4 => Ipv4Addr::new(10, 72, (index / 250) as u8, (index % 250 + 1) as u8).into(),
            Self::V6 => Ipv6Addr::new(0xfd72, 0, 0, 0, 0, 0, 0, (index + 1) as u16).into(),
        }
    }
}

/// The address of host `index`, where nothing else is asked for.
pub(crate) fn address(index: usize) -> String {
    Family::V4.address(index).to_string()
}

/// What the interface of host `index` is called on the bridge.
fn mac(index: usize) -> String {
    let [high, low] = (index as u16).to_be_bytes();
    format!("02:72:00:00:{high:02x}:{low:02x}")
}

/// Carries out many commands of `ip` at once: hundreds of hosts are made in seconds.
fn batch(namespace: &str, lines: &[String]) -> Result<()> {
    let mut command = Command::new("ip");
    command
        .args(["-netns", namespace, "-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut process = command.spawn()?;
    if let Some(mut input) = process.stdin.take() {
        input.write_all((lines.join("\n") + "\n").as_bytes())?;
    }
    let output = process.wait_with_output()?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(format!("{command:?}: {}", said.trim()).into())
        }
    }
}

fn inside(namespace: &str, arguments: &[&str]) -> Result<()> {
    let mut all = vec!["-netns", namespace];
    all.extend(arguments);
    ip(&all)
}

fn ip(arguments: &[&str]) -> Result<()> {
    run(Command::new("ip").args(arguments))
}

pub(crate) fn run(command: &mut Command) -> Result<()> {
    let output = command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{command:?}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )
        .into()),
    }
}

/// Runs them all at once, as each may wait for the others.
pub(crate) fn run_together(commands: impl Iterator<Item = Command>) -> Result<()> {
    let start = |mut command: Command| {
        let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
        let started = command.spawn();
        started.map_err(|error| format!("{command:?}: {error}").into())
    };
    let started: Vec<Child> = commands.map(start).collect::<Result<_>>()?;
    for child in started {
        let output = child.wait_with_output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("ended with {}: {}", output.status, said.trim()).into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{run, run_together, udp_count};
    use std::fs;
    use std::process::Command;

    #[test]
    fn counts_of_udp_are_found_by_their_heading() {
        let text = "Tcp: InErrs\nTcp: 9\nUdp: InDatagrams RcvbufErrors\nUdp: 5 7\nUdpLite: RcvbufErrors\nUdpLite: 8\n";
        assert_eq!(udp_count(text, "RcvbufErrors"), Some(7));
        assert_eq!(udp_count(text, "InErrs"), None);
    }

    #[test]
    fn those_that_wait_for_each_other_are_run_together_and_a_failure_is_told() {
        let fifo = std::env::temp_dir().join(format!("hustings-{}-fifo", std::process::id()));
        run(Command::new("mkfifo").arg(&fifo)).unwrap();
        let shell = |script: &str| {
            let mut command = Command::new("timeout");
            command.args(["20", "sh", "-c", script]).arg(&fifo);
            command
        };
        let both = [shell("echo word > $0"), shell("read word < $0")];
        let ran = run_together(both.into_iter());
        fs::remove_file(&fifo).unwrap();
        ran.unwrap();
        let failed = run_together([shell("echo why >&2; exit 3")].into_iter());
        let told = failed.unwrap_err().to_string();
        assert_eq!(told, "ended with exit status: 3: why");
    }
}
