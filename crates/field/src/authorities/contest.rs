//! Members on separate hosts that compete for one tenure: their processes, and the faults that can
//! be injected.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use hustings_testkit::{Process, Scratch, this_program};
use rustix::process::{Pid, Signal, kill_process};

use super::stores::Stores;
use super::worker::{ReportSocket, StartReport};
use super::{HolderFault, LockMethod};
use crate::Result;
use crate::failover::USUAL;
use crate::hosts::address;
use crate::measure::now_ns;
use crate::testbed::{KEY, MEMBERS, PORT, Testbed, name, voters};

/// The number of voters. They are the first members.
pub(super) const VOTERS: usize = 3;

/// Longer than any command takes to begin, beyond the ttl.
const PATIENCE: Duration = Duration::from_secs(15);

/// The hosts, program and stores that a contest uses. The program has support for both stores.
#[derive(Clone, Copy)]
pub(super) struct Setup<'a> {
    pub(super) testbed: Testbed<'a>,
    pub(super) stores: &'a Stores<'a>,
}

pub(super) struct Contest<'a> {
    setup: Setup<'a>,
    method: LockMethod,
    ttl: Option<Duration>,
    pub(super) home: Scratch,
    group: String,
    pub(super) reports: ReportSocket,
    /// The processes of each member: the client, and the reader of the output of `etcdctl elect`.
    clients: Vec<Vec<Process>>,
}

/// The role of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The member wants tenure. It also votes if it is one of the voters.
    Candidate,
    /// The member only votes.
    VoterOnly,
}

impl<'a> Contest<'a> {
    /// Returns a new contest without running members.
    pub(super) fn new(setup: Setup<'a>, method: LockMethod, ttl: Option<Duration>) -> Result<Self> {
        let group = format!("cost-{}", now_ns());
        let home = Scratch::new("hustings-cost");
        let reports = ReportSocket::open(home.path())?;
        let contest = Self {
            setup,
            method,
            ttl,
            home,
            group,
            reports,
            clients: (0..MEMBERS).map(|_| Vec::new()).collect(),
        };
        if method.has_voters() {
            setup.testbed.init_voters(VOTERS, |voter| contest.membership(voter))?;
        }
        Ok(contest)
    }

    /// Returns the command that runs under tenure.
    fn work(&self, member: usize) -> [String; 4] {
        let reports = self.reports.path.to_string_lossy().into_owned();
        [this_program(), "worker".to_owned(), reports, member.to_string()]
    }

    /// Returns the options of `hustings`.
    fn membership(&self, member: usize) -> Vec<String> {
        let mut options = words(&["--group", &self.group, "--name", &name(member), "--key", KEY]);
        if self.method != LockMethod::QuorumByDefault {
            options.extend(words(&["--bind", &format!("{}:{PORT}", address(member))]));
            options.extend(words(USUAL));
            if let Some(ttl) = self.ttl {
                options.extend(words(&["--ttl", &format!("{}ms", ttl.as_millis())]));
            }
        }
        options.extend(match self.method {
            LockMethod::Etcd => words(&["--etcd", &self.setup.stores.etcd()]),
            LockMethod::Postgres => words(&["--postgres", &self.setup.stores.postgres()]),
            _ => {
                let state = self.home.join(&format!("disk.{}", name(member)));
                words(&["--voters", &voters(VOTERS), "--state", &state.to_string_lossy()])
            }
        });
        options
    }

    fn client(&self, member: usize, role: Role) -> Result<Command> {
        let (stores, group) = (self.setup.stores, &self.group);
        let ttl = self.ttl.unwrap_or_default().as_secs().to_string();
        let work = self.work(member);
        let mut command = self.setup.testbed.hosts.tied_command(member);
        match self.method {
            LockMethod::Quorum
            | LockMethod::QuorumByDefault
            | LockMethod::Etcd
            | LockMethod::Postgres => {
                command.arg(self.setup.testbed.program).arg("run").args(self.membership(member));
                if self.method != LockMethod::QuorumByDefault {
                    command.args(["--http", "127.0.0.1:7480"]);
                }
                if role == Role::VoterOnly {
                    let file = self.home.join(&format!("{}.toml", name(member)));
                    let text = format!("[[group]]\nname = \"{group}\"\ncampaign = false\n");
                    fs::write(&file, text)?;
                    command.arg("--config").arg(file);
                }
                command.arg("--").args(work);
            }
            LockMethod::EtcdLock => {
                command.args(["etcdctl", "--endpoints", &stores.etcd(), "lock", "--ttl", &ttl]);
                command.args(["--", group]).args(work);
            }
            LockMethod::EtcdElect => {
                command.args(["etcdctl", "--endpoints", &stores.etcd(), "elect", group]);
                command.arg(name(member));
            }
            LockMethod::AdvisoryLock => {
                let script = self.home.join(&format!("{}.sql", name(member)));
                let lock = format!("SELECT pg_advisory_lock(hashtext('{group}'));");
                fs::write(&script, format!("{lock}\n\\! exec {}\n", work.join(" ")))?;
                command.args(["psql", "-X", "-q", "-d", &stores.postgres(), "-f"]).arg(script);
            }
        }
        command.stdout(Stdio::null()).stderr(File::create(self.log(member))?);
        Ok(command)
    }

    pub(super) fn log(&self, member: usize) -> PathBuf {
        self.home.join(&format!("{}.log", name(member)))
    }

    /// Waits for the next command to begin.
    pub(super) fn next(&mut self) -> Result<StartReport> {
        let ttl = self.method.profile().ttl.unwrap_or_default();
        let next = self.reports.within(PATIENCE + ttl)?;
        next.ok_or_else(|| format!("no command begins:{}", self.last_lines()).into())
    }

    /// Returns the last lines of each member's log.
    fn last_lines(&self) -> String {
        let mut lines = String::new();
        for member in 0..MEMBERS {
            let log = fs::read_to_string(self.log(member)).unwrap_or_default();
            let first = log.lines().count().saturating_sub(3);
            for line in log.lines().skip(first) {
                lines += &format!("\n  {}: {line}", name(member));
            }
        }
        lines
    }

    /// Returns the process ids of the given members.
    pub(super) fn processes(&self, members: &[usize]) -> Vec<u32> {
        let clients = members.iter().filter_map(|it| self.clients[*it].first());
        clients.map(|client| client.id()).collect()
    }

    // Starting members and injecting faults.

    pub(super) fn start(&mut self, member: usize, role: Role) -> Result<()> {
        let mut command = self.client(member, role)?;
        if self.method == LockMethod::EtcdElect {
            command.stdout(Stdio::piped());
        }
        let mut client = Process::spawn(&mut command)?;
        let output = client.stdout.take();
        self.clients[member] = vec![client];
        if let Some(output) = output {
            let [program, arguments @ ..] = self.work(member);
            let mut read = Command::new(program);
            read.args(arguments).arg("--after-a-line").stdin(output);
            self.clients[member].push(Process::spawn(&mut read)?);
        }
        Ok(())
    }

    pub(super) fn start_all(&mut self) -> Result<()> {
        (0..MEMBERS).try_for_each(|member| self.start(member, Role::Candidate))
    }

    /// Starts every member whose process has ended.
    pub(super) fn restart_ended(&mut self) -> Result<()> {
        for member in 0..MEMBERS {
            let client = self.clients[member].first_mut();
            let status = client.map(|it| it.try_wait()).transpose()?;
            if status != Some(None) {
                self.restart(member)?;
            }
        }
        Ok(())
    }

    /// Injects a fault at the member whose command runs. Returns the time of the fault.
    pub(super) fn inject(&mut self, holder: StartReport, fault: HolderFault) -> Result<u64> {
        let at_ns = now_ns();
        match fault {
            HolderFault::Command => kill(holder.pid)?,
            HolderFault::Client => {
                let client = self.clients[holder.member].first();
                client.ok_or("a command runs whose client does not")?.signal(Signal::KILL)?;
            }
            HolderFault::Host => _ = self.setup.testbed.hosts.isolate(holder.member)?,
        }
        Ok(at_ns)
    }

    /// Undoes a fault at the member whose command ran. The caller may still have to start its
    /// client.
    pub(super) fn undo(&mut self, former: StartReport, fault: HolderFault) -> Result<()> {
        if fault == HolderFault::Host {
            self.setup.testbed.hosts.unfilter(former.member)?;
        }
        // The command may have outlived its client, or its host was cut off from the others.
        if self.reports.is_running(former) {
            self.clients[former.member].clear();
            let _ = kill(former.pid);
        }
        Ok(())
    }

    /// Kills a member's processes and starts them again.
    pub(super) fn restart(&mut self, member: usize) -> Result<()> {
        self.clients[member].clear();
        self.start(member, Role::Candidate)
    }
}

impl Drop for Contest<'_> {
    fn drop(&mut self) {
        self.clients.clear();
        for report in &self.reports.received {
            if self.reports.is_running(*report) {
                let _ = kill(report.pid);
            }
        }
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn kill(process: u32) -> Result<()> {
    let pid = Pid::from_raw(process.cast_signed()).ok_or("no process")?;
    Ok(kill_process(pid, Signal::KILL)?)
}
