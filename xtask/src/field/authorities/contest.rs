//! Members that contend for one tenure, one a host: their processes, and what can be done to them.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::contender::{Blow, Contender};
use super::stores::Stores;
use super::worker::{Beginning, Desk};
use crate::Result;
use crate::field::ground::{KEY, MEMBERS, PORT, name, voters};
use crate::field::hosts::{Hosts, address, run_together, this_program};
use crate::field::measure::now_ns;
use crate::field::trials::USUAL;

/// How many of the members vote, from the first on.
pub(super) const VOTERS: usize = 3;

/// Longer than any command takes to begin beyond the ttl.
const PATIENCE: Duration = Duration::from_secs(15);

/// Where contests are held.
#[derive(Clone, Copy)]
pub(super) struct Ring<'a> {
    pub(super) hosts: &'a Hosts,
    pub(super) stores: &'a Stores<'a>,
    /// `hustings`, with both stores.
    pub(super) program: &'a Path,
}

pub(super) struct Contest<'a> {
    ring: Ring<'a>,
    contender: Contender,
    ttl: Option<Duration>,
    home: PathBuf,
    group: String,
    pub(super) desk: Desk,
    clients: Vec<Option<Client>>,
}

struct Client {
    process: Child,
    /// Of `etcdctl elect`: who reads what it prints.
    reader: Option<Child>,
}

/// How a member takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// It wants tenure, and votes if it is one of those who do.
    Stands,
    /// It only votes.
    VotesAlone,
}

impl<'a> Contest<'a> {
    /// A new one, in which nobody takes part yet.
    pub(super) fn new(ring: Ring<'a>, contender: Contender, ttl: Option<Duration>) -> Result<Self> {
        let group = format!("cost-{}", now_ns());
        let home = std::env::temp_dir().join(&group);
        fs::create_dir(&home)?;
        let desk = Desk::open(&home)?;
        let contest = Self {
            ring,
            contender,
            ttl,
            home,
            group,
            desk,
            clients: (0..MEMBERS).map(|_| None).collect(),
        };
        if contender.has_voters() {
            contest.found()?;
        }
        Ok(contest)
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    /// Initialises the voters.
    fn found(&self) -> Result<()> {
        let init = |voter| {
            let mut command = self.on_host(voter, self.ring.program);
            command.args(["voter", "init", "--new"]);
            self.membership(voter, &mut command);
            command
        };
        run_together((0..VOTERS).map(init))
    }

    fn on_host(&self, member: usize, program: impl AsRef<OsStr>) -> Command {
        let mut command = self.ring.hosts.tied_command(member);
        command.arg(program);
        command
    }

    /// The command that runs under tenure.
    fn work(&self, member: usize) -> [String; 4] {
        let desk = self.desk.path().to_string_lossy().into_owned();
        [
            this_program(),
            "worker".to_owned(),
            desk,
            member.to_string(),
        ]
    }

    fn membership(&self, member: usize, command: &mut Command) {
        command.args(["--group", &self.group, "--name", &name(member)]);
        command.args(["--key", KEY]);
        if self.contender != Contender::QuorumByDefault {
            let place = format!("{}:{PORT}", address(member));
            command.args(["--bind", &place]).args(USUAL);
            if let Some(ttl) = self.ttl {
                command.args(["--ttl", &format!("{}ms", ttl.as_millis())]);
            }
        }
        match self.contender {
            Contender::Etcd => {
                command.args(["--etcd", &self.ring.stores.etcd()]);
            }
            Contender::Postgres => {
                command.args(["--postgres", &self.ring.stores.postgres()]);
            }
            _ => {
                let state = self.home.join(format!("disk.{}", name(member)));
                command.args(["--voters", &voters(VOTERS)]);
                command.arg("--state").arg(state);
            }
        }
    }

    fn client(&self, member: usize, part: Part) -> Result<Command> {
        let (stores, group) = (self.ring.stores, &self.group);
        let ttl = self.ttl.unwrap_or_default().as_secs().to_string();
        let work = self.work(member);
        let mut command = match self.contender {
            Contender::Quorum
            | Contender::QuorumByDefault
            | Contender::Etcd
            | Contender::Postgres => {
                let mut run = self.on_host(member, self.ring.program);
                run.arg("run");
                if self.contender != Contender::QuorumByDefault {
                    run.args(["--http", "127.0.0.1:7480"]);
                }
                self.membership(member, &mut run);
                if part == Part::VotesAlone {
                    let file = self.home.join("voter.toml");
                    let text = format!("[[group]]\nname = \"{group}\"\ncampaign = false\n");
                    fs::write(&file, text)?;
                    run.arg("--config").arg(file);
                }
                run.arg("--").args(work);
                run
            }
            Contender::EtcdLock => {
                let mut lock = self.on_host(member, "etcdctl");
                lock.args(["--endpoints", &stores.etcd(), "lock", "--ttl", &ttl, "--"]);
                lock.arg(group).args(work);
                lock
            }
            Contender::EtcdElect => {
                let mut elect = self.on_host(member, "etcdctl");
                elect.args(["--endpoints", &stores.etcd(), "elect", group, &name(member)]);
                elect
            }
            Contender::AdvisoryLock => {
                let script = self.home.join(format!("{}.sql", name(member)));
                let lock = format!("SELECT pg_advisory_lock(hashtext('{group}'));");
                fs::write(&script, format!("{lock}\n\\! exec {}\n", work.join(" ")))?;
                let mut psql = self.on_host(member, "psql");
                psql.args(["-X", "-q", "-d", &stores.postgres(), "-f"])
                    .arg(script);
                psql
            }
        };
        command
            .stdout(Stdio::null())
            .stderr(File::create(self.log(member))?);
        Ok(command)
    }

    pub(super) fn log(&self, member: usize) -> PathBuf {
        self.home.join(format!("{}.log", name(member)))
    }

    /// Waits for the next command to begin.
    pub(super) fn next(&mut self) -> Result<Beginning> {
        let ttl = self.contender.ttl().unwrap_or_default();
        let next = self.desk.within(PATIENCE + ttl)?;
        next.ok_or_else(|| format!("no command begins:{}", self.last_lines()).into())
    }

    /// The last that each member has logged.
    fn last_lines(&self) -> String {
        let mut lines = String::new();
        for member in 0..MEMBERS {
            let log = fs::read_to_string(self.log(member)).unwrap_or_default();
            let last: Vec<&str> = log.lines().rev().take(3).collect();
            for line in last.iter().rev() {
                lines += &format!("\n  {}: {line}", name(member));
            }
        }
        lines
    }

    /// The processes of some members.
    pub(super) fn processes(&self, members: &[usize]) -> Vec<u32> {
        let clients = members.iter().filter_map(|it| self.clients[*it].as_ref());
        clients.map(|client| client.process.id()).collect()
    }
}

// What can be done.
impl Contest<'_> {
    pub(super) fn start(&mut self, member: usize, part: Part) -> Result<()> {
        let mut command = self.client(member, part)?;
        let mut reader = None;
        let process = if self.contender == Contender::EtcdElect {
            let mut process = command.stdout(Stdio::piped()).spawn()?;
            let [program, arguments @ ..] = self.work(member);
            let lines = process.stdout.take().ok_or("it has no output")?;
            let mut read = Command::new(program);
            read.args(arguments).arg("--after-a-line").stdin(lines);
            reader = Some(read.spawn()?);
            process
        } else {
            command.spawn()?
        };
        self.clients[member] = Some(Client { process, reader });
        Ok(())
    }

    pub(super) fn start_all(&mut self) -> Result<()> {
        (0..MEMBERS).try_for_each(|member| self.start(member, Part::Stands))
    }

    /// Starts those that have ended.
    pub(super) fn start_the_ended(&mut self) -> Result<()> {
        for member in 0..MEMBERS {
            let client = self.clients[member].as_mut();
            let has_ended = match client {
                Some(client) => client.process.try_wait()?.is_some(),
                None => true,
            };
            if has_ended {
                self.end(member);
                self.start(member, Part::Stands)?;
            }
        }
        Ok(())
    }

    /// Lets a blow fall on the one whose command runs. Returns when that was.
    pub(super) fn strike(&mut self, holder: Beginning, blow: Blow) -> Result<u64> {
        let at_ns = now_ns();
        match blow {
            Blow::Command => kill(holder.pid)?,
            Blow::Client => match &self.clients[holder.member] {
                Some(client) => kill(client.process.id())?,
                None => return Err("a command runs whose client does not".into()),
            },
            Blow::Host => _ = self.ring.hosts.isolate(holder.member)?,
        }
        Ok(at_ns)
    }

    /// Makes good what a blow has done to the one whose command ran, save that its client may have to be started.
    pub(super) fn make_good(&mut self, former: Beginning, blow: Blow) -> Result<()> {
        if blow == Blow::Host {
            self.ring.hosts.unfilter(former.member)?;
        }
        // It may have outlived its client, or not have heard that it is not to go on.
        if self.desk.is_at_work(former) {
            self.end(former.member);
            let _ = kill(former.pid);
        }
        Ok(())
    }

    /// Kills what a member has started, and starts it again.
    pub(super) fn restart(&mut self, member: usize) -> Result<()> {
        self.end(member);
        self.start(member, Part::Stands)
    }

    fn end(&mut self, member: usize) {
        if let Some(Client { process, reader }) = self.clients[member].take() {
            for mut child in [Some(process), reader].into_iter().flatten() {
                // What cannot be killed has ended.
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

impl Drop for Contest<'_> {
    fn drop(&mut self) {
        for member in 0..MEMBERS {
            self.end(member);
        }
        for beginning in &self.desk.reported {
            if self.desk.is_at_work(*beginning) {
                let _ = kill(beginning.pid);
            }
        }
        let _ = fs::remove_dir_all(&self.home);
    }
}

fn kill(process: u32) -> Result<()> {
    let pid = Pid::from_raw(process.cast_signed()).ok_or("no process")?;
    Ok(kill_process(pid, Signal::KILL)?)
}
