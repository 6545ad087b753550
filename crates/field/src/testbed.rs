//! The testbed: hosts, the programs on them, and groups of members.

use std::env;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hustings_testkit::{run, run_together};
use serde_json::Value;

use super::hosts::{Family, Hosts, address};
use super::measure::now_ns;
use super::members::{Members, Placement};
use crate::Result;

/// The number of members of a group, unless a trial uses another number.
pub(crate) const MEMBERS: usize = 5;

/// The port at which members receive by default.
pub(crate) const PORT: u16 = 7400;

/// The key of groups that need one.
pub(crate) const KEY: &str = "3333333333333333333333333333333333333333333333333333333333333333";

/// Far longer than any event here takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The hosts, the program that runs on them, and the address family of the members.
#[derive(Clone, Copy)]
pub(crate) struct Testbed<'a> {
    pub(crate) hosts: &'a Hosts,
    pub(crate) program: &'a Path,
    family: Family,
}

impl<'a> Testbed<'a> {
    /// Returns a testbed whose members use IPv4.
    pub(crate) fn new(hosts: &'a Hosts, program: &'a Path) -> Self {
        Self { hosts, program, family: Family::V4 }
    }

    /// Returns the same testbed with members that use IPv6.
    pub(crate) fn over_ipv6(self) -> Result<Self> {
        self.hosts.add_ipv6_addresses()?;
        Ok(Self { family: Family::V6, ..self })
    }

    /// Returns a command that runs the program on host `host`.
    pub(crate) fn command(&self, host: usize) -> Command {
        self.hosts.command(host, self.program)
    }

    /// Returns the address of a member on host `host` that receives at `port`.
    pub(crate) fn place(&self, host: usize, port: u16) -> SocketAddr {
        SocketAddr::new(self.family.address(host), port)
    }

    /// Returns a new group with one member on each host. Late frames of the previous trial belong
    /// to another group.
    pub(crate) fn group(&self, options: &[&str]) -> Members<'a> {
        self.members(Placement::OneEach { port: PORT }, MEMBERS, options)
    }

    /// Returns a new group for `count` members.
    pub(crate) fn members(
        &self,
        placement: Placement,
        count: usize,
        options: &[&str],
    ) -> Members<'a> {
        let group = format!("field-{}", now_ns());
        let mut all = vec!["--group", &group];
        if !options.contains(&"--key") {
            all.push("--insecure");
        }
        all.extend(options);
        Members::new(*self, placement, count, &all)
    }

    /// Returns a group whose members have agreed on a leader and settled, and the leader.
    pub(crate) fn settled(&self, options: &[&str]) -> Result<(Members<'a>, usize)> {
        let mut members = self.group(options);
        members.start_all()?;
        members.agree_all(PATIENCE)?;
        members.settle();
        let (leader, _) = members.agree_all(PATIENCE)?;
        Ok((members, leader))
    }

    /// Initialises the first `count` members as voters of a new group, each with its options.
    pub(crate) fn init_voters<O: AsRef<std::ffi::OsStr>>(
        &self,
        count: usize,
        options: impl Fn(usize) -> Vec<O>,
    ) -> Result<()> {
        let init = |voter| {
            let mut command = self.command(voter);
            command.args(["voter", "init", "--new"]).args(options(voter));
            command
        };
        Ok(run_together((0..count).map(init))?)
    }
}

/// Returns the name of the member on host `index`.
pub(crate) fn name(index: usize) -> String {
    format!("h{index}")
}

/// Returns the value of `--voters` if the first `count` members vote.
pub(crate) fn voters(count: usize) -> String {
    (0..count).map(name).collect::<Vec<_>>().join(",")
}

/// Returns the options of a member of a group in which the first `count` members vote.
pub(crate) fn voting_member(
    group: &str,
    member: usize,
    count: usize,
    ttl: Duration,
    state: &Path,
) -> Vec<String> {
    let (name, bind) = (name(member), format!("{}:{PORT}", address(member)));
    let (voters, ttl) = (voters(count), format!("{}ms", ttl.as_millis()));
    let state = state.to_string_lossy();
    let options = [
        ["--group", group],
        ["--name", &name],
        ["--key", KEY],
        ["--bind", &bind],
        ["--voters", &voters],
        ["--ttl", &ttl],
        ["--state", &state],
    ];
    options.concat().into_iter().map(str::to_owned).collect()
}

/// Runs the simulator and returns the metrics that it reports.
pub(crate) fn simulate(
    program: &Path,
    protocol: &str,
    options: impl FnOnce(&mut Command),
) -> Result<Value> {
    let mut command = Command::new(program);
    command.args(["sim", protocol, "--format", "json"]);
    options(&mut command);
    Ok(serde_json::from_str::<Value>(&run(&mut command)?)?["metrics"].take())
}

/// Returns the path of a program or example of the development build, which `cargo xtask` makes
/// together with this program.
pub(crate) fn dev(file: &str) -> Result<PathBuf> {
    let program = env::current_exe()?.with_file_name(file);
    program.canonicalize().map_err(|error| format!("{}: {error}", program.display()).into())
}

/// Builds the target `what` in release mode and returns the path of `file`. The package is that of
/// the program unless `what` names another.
pub(crate) fn release(what: &[&str], file: &str) -> Result<PathBuf> {
    let shown = format!("cargo build --release {}", what.join(" "));
    println!("$ {shown}");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let mut build = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.args(["build", "--release"]).args(what).current_dir(root);
    let status = build.status().map_err(|error| format!("`{shown}` did not start: {error}"))?;
    ensure!(status.success(), "`{shown}` ended with {status}");
    Ok(env::current_exe()?.with_file_name("../release").join(file).canonicalize()?)
}
