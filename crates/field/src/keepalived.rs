//! keepalived on the same hosts, for comparison. It runs VRRP version 3, which has intervals below
//! a second.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use hustings_testkit::{Process, Scratch, line_reader, run};

use super::hosts::Hosts;
use super::measure::{milliseconds, now_ns};
use super::testbed::{MEMBERS, PATIENCE};
use crate::Result;

/// The address that moves between the hosts. No host has it by itself.
const VIRTUAL_ADDRESS: &str = "10.72.200.1/16";

/// The time after which a master that was cut off has come back, and all others follow it.
const SETTLES_IN: Duration = Duration::from_millis(1_500);

/// One keepalived on each host.
pub(super) struct Routers<'h> {
    hosts: &'h Hosts,
    home: Scratch,
    processes: Vec<Process>,
    receiver: Receiver<Became>,
}

/// A change of a keepalived's state.
struct Became {
    host: usize,
    is_master: bool,
    at_ns: u64,
}

impl<'h> Routers<'h> {
    /// Starts one keepalived on each host, and waits until all have settled. The first has the
    /// priority `highest`, and each further one `step` less than the one before it.
    pub(super) fn start(hosts: &'h Hosts, highest: u8, step: u8) -> Result<Self> {
        let home = Scratch::new("hustings-keepalived");
        let (sender, receiver) = mpsc::channel();
        let mut routers = Self { hosts, home, processes: Vec::new(), receiver };
        for host in 0..MEMBERS {
            let priority = highest - step * host as u8;
            routers.start_one(host, priority, &sender)?;
        }
        routers.master(|host| host == 0)?;
        Ok(routers)
    }

    fn start_one(&mut self, host: usize, priority: u8, sender: &Sender<Became>) -> Result<()> {
        let file = |suffix: &str| self.home.join(&format!("{host}.{suffix}"));
        let fifo = file("fifo");
        run(Command::new("mkfifo").arg(&fifo))?;
        fs::write(file("conf"), configuration(&fifo, priority))?;
        let (states, sender) = (fifo.clone(), sender.clone());
        // A fifo can be opened when keepalived writes to it.
        thread::spawn(move || {
            let became =
                move |line: String| Became { host, is_master: is_master(&line), at_ns: now_ns() };
            File::open(states).map(|states| line_reader::forward(states, sender, became))
        });
        let mut command = self.hosts.tied_command(host);
        command
            .args(["keepalived", "--dont-fork", "--vrrp", "--log-console"])
            .args([Path::new("--use-file"), &file("conf"), Path::new("--pid"), &file("pid")])
            .args([Path::new("--vrrp_pid"), &file("vrrp-pid")])
            .stdout(Stdio::null())
            .stderr(File::create(file("log"))?);
        // SIGKILL would leave its child behind.
        self.processes.push(Process::spawn_terminated(&mut command)?);
        Ok(())
    }

    /// Waits until a host for which `which` holds becomes master. Returns the host and the time.
    fn master(&self, which: impl Fn(usize) -> bool) -> Result<(usize, u64)> {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let became = self.receiver.recv_timeout(left);
            let became = became.map_err(|_| "no keepalived becomes master")?;
            if became.is_master && which(became.host) {
                return Ok((became.host, became.at_ns));
            }
        }
    }

    /// Isolates the master, host 0, and brings it back. Returns the milliseconds until another host
    /// was master.
    pub(super) fn lose_master(&self) -> Result<f64> {
        // The fault hits every point of an interval equally often.
        thread::sleep(SETTLES_IN + Duration::from_micros(now_ns() % 100_000));
        while self.receiver.try_recv().is_ok() {}
        let began = self.hosts.isolate(0)?;
        let next = self.master(|host| host != 0);
        self.hosts.unfilter(0)?;
        Ok(milliseconds(began, next?.1))
    }
}

impl Drop for Routers<'_> {
    fn drop(&mut self) {
        Process::kill_all(&mut self.processes);
    }
}

fn configuration(fifo: &Path, priority: u8) -> String {
    format!(
        "global_defs {{\n  vrrp_version 3\n  vrrp_notify_fifo {}\n}}\n\
         vrrp_instance field {{\n  state BACKUP\n  interface eth0\n  virtual_router_id 72\n  priority {priority}\n  \
         advert_int 0.1\n  virtual_ipaddress {{\n    {VIRTUAL_ADDRESS}\n  }}\n}}\n",
        fifo.display()
    )
}

/// True if a line says that its keepalived has become master: `INSTANCE "field" MASTER 254`.
fn is_master(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next() == Some("INSTANCE") && words.nth(1) == Some("MASTER")
}

#[cfg(test)]
mod tests {
    use super::is_master;

    #[test]
    fn states_are_parsed() {
        assert!(is_master("INSTANCE \"field\" MASTER 254"));
        assert!(!is_master("INSTANCE \"field\" BACKUP 254"));
        assert!(!is_master("GROUP \"field\" MASTER 254"));
        assert!(!is_master(""));
    }
}
