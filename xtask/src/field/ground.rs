//! Where trials are held.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::hosts::{Family, Hosts};
use super::measure::now_ns;
use super::members::{Homes, Members};
use crate::Result;

/// Members of a group, unless it is a crowd.
pub(crate) const MEMBERS: usize = 5;

/// Where members receive unless told otherwise.
pub(crate) const PORT: u16 = 7400;

/// The key of groups that need one.
pub(crate) const KEY: &str = "3333333333333333333333333333333333333333333333333333333333333333";

/// Far longer than anything here takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Where trials are held: the hosts, the program that runs on them, and how its members speak.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'a> {
    pub(crate) hosts: &'a Hosts,
    pub(crate) program: &'a Path,
    family: Family,
}

impl<'a> Ground<'a> {
    /// Members speak IPv4.
    pub(crate) fn new(hosts: &'a Hosts, program: &'a Path) -> Self {
        let family = Family::V4;
        Self {
            hosts,
            program,
            family,
        }
    }

    /// The same hosts, where members speak IPv6.
    pub(crate) fn over_ipv6(self) -> Result<Self> {
        self.hosts.speak_ipv6()?;
        let family = Family::V6;
        Ok(Self { family, ..self })
    }

    /// The program, on host `host`.
    pub(crate) fn command(&self, host: usize) -> Command {
        self.hosts.command(host, &self.program.to_string_lossy())
    }

    /// Where a member on host `host` receives, if it does at `port`.
    pub(crate) fn place(&self, host: usize, port: u16) -> SocketAddr {
        SocketAddr::new(self.family.address(host), port)
    }

    /// A group of its own, one member a host: late frames of the last trial's group are strangers.
    pub(crate) fn group(&self, options: &[&str]) -> Members<'a> {
        self.members(Homes::OneEach { port: PORT }, MEMBERS, options)
    }

    /// A group of its own for `count` members.
    pub(crate) fn members(&self, homes: Homes, count: usize, options: &[&str]) -> Members<'a> {
        let group = format!("field-{}", now_ns());
        let mut all = vec!["--group", &group];
        if !options.contains(&"--key") {
            all.push("--insecure");
        }
        all.extend(options);
        Members::new(*self, homes, count, &all)
    }

    /// A group whose members have agreed on a leader, and had time to settle.
    pub(crate) fn settled(&self, options: &[&str]) -> Result<(Members<'a>, usize)> {
        let mut members = self.group(options);
        members.start_all()?;
        let everyone = members.everyone();
        members.agree(&everyone, &everyone, PATIENCE)?;
        members.settle();
        let (leader, _) = members.agree(&everyone, &everyone, PATIENCE)?;
        Ok((members, leader))
    }
}

/// What the member on host `index` is called.
pub(crate) fn name(index: usize) -> String {
    format!("h{index}")
}

/// What `--voters` takes, where the first `count` members vote.
pub(crate) fn voters(count: usize) -> String {
    (0..count).map(name).collect::<Vec<_>>().join(",")
}
