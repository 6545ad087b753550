//! The demo's agents: real processes, heard by what they print.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use hustings::Joining;
use hustings_agent::clock;
use hustings_protocol::Instant;
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;

use super::NAMES;
use crate::failure::Failure;

/// One of the agents, by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Player(usize);

impl fmt::Display for Player {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(NAMES[self.0])
    }
}

/// How many of them grant tenure.
const VOTERS: usize = 3;

/// All of them.
pub(super) struct Troupe {
    announce: hustings_protocol::Duration,
    ttl: hustings_protocol::Duration,
    /// Where the voters keep what they promise, each in a directory of its own.
    state: PathBuf,
    /// A group of this run's own, so that two demos at once do not meet.
    group: String,
    agents: Vec<Agent>,
    heard: Receiver<(usize, u32, Line)>,
    voice: Sender<(usize, u32, Line)>,
}

struct Agent {
    process: Child,
    /// Is told to go, or gone.
    off: bool,
    up: Option<Instant>,
    /// Whom it names, and since when.
    names: Option<Named>,
}

/// Whom an agent names.
#[derive(Debug, Clone)]
struct Named {
    leader: String,
    /// Of its tenure, if it has one.
    fence: Option<u64>,
    since: Instant,
}

/// What all agree on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Agreed {
    pub(super) leader: Player,
    pub(super) fence: u64,
    /// When the last of them knew.
    pub(super) known: Instant,
}

/// What an agent prints with `--events`.
#[derive(Debug, Deserialize)]
struct Line {
    time_ns: u64,
    #[serde(default)]
    up: bool,
    #[serde(default)]
    leader: Option<String>,
    #[serde(default)]
    fence: Option<u64>,
}

impl Troupe {
    /// Starts the agents.
    pub(super) fn enter(
        names: &[&str],
        announce: hustings_protocol::Duration,
        ttl: hustings_protocol::Duration,
    ) -> Result<Self, Failure> {
        let (voice, heard) = mpsc::channel();
        let group = format!("demo-{}", std::process::id());
        let mut troupe = Self {
            announce,
            ttl,
            state: std::env::temp_dir().join(format!("hustings-{group}")),
            group,
            agents: Vec::new(),
            heard,
            voice,
        };
        for voter in &names[..VOTERS] {
            troupe.found(voter)?;
        }
        for index in 0..names.len() {
            let agent = troupe.start(index)?;
            troupe.agents.push(agent);
        }
        Ok(troupe)
    }

    /// Makes a voter of a group that is new.
    fn found(&self, voter: &str) -> Result<(), Failure> {
        let joining = Joining::on_this_host(&self.group, voter);
        let voters = &NAMES[..VOTERS];
        let joining = joining.fenced_by(voters, self.ttl.into(), &self.state.join(voter));
        joining
            .found_voter()
            .map_err(|error| Failure::Failed(format!("cannot make voter {voter}: {error}")))
    }

    fn start(&self, index: usize) -> Result<Agent, Failure> {
        let failed = |error| Failure::Failed(format!("cannot start an agent: {error}"));
        let program = std::env::current_exe().map_err(failed)?;
        let mut command = Command::new(program);
        command
            .args(["agent", "--events", "--die-with-parent", "--log", "error"])
            .args(["--name", NAMES[index], "--group", &self.group])
            .args(["--bind", "127.0.0.1:0", "--interface", "127.0.0.1"])
            .args(["--http", "off", "--announce", &self.announce.to_string()])
            .args(["--voters", &NAMES[..VOTERS].join(",")])
            .args(["--ttl", &self.ttl.to_string(), "--state"])
            .arg(self.state.join(NAMES[index]))
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        // The demo shows what it shows, whatever is set for agents of this host.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("HUSTINGS_") {
                command.env_remove(name);
            }
        }
        let mut process = command.spawn().map_err(failed)?;
        let pid = process.id();
        if let Some(output) = process.stdout.take() {
            let voice = self.voice.clone();
            thread::spawn(move || listen(index, pid, output, &voice));
        }
        Ok(Agent {
            process,
            off: false,
            up: None,
            names: None,
        })
    }

    pub(super) fn pid(&self, player: Player) -> u32 {
        self.agents[player.0].process.id()
    }

    /// Kills an agent. Returns when.
    pub(super) fn kill(&mut self, player: Player) -> Result<Instant, Failure> {
        let at = self.signal(player, Signal::KILL)?;
        // It cannot refuse.
        let _ = self.agents[player.0].process.wait();
        Ok(at)
    }

    /// Asks an agent to stop. Returns when.
    pub(super) fn terminate(&mut self, player: Player) -> Result<Instant, Failure> {
        self.signal(player, Signal::TERM)
    }

    fn signal(&mut self, player: Player, signal: Signal) -> Result<Instant, Failure> {
        let agent = &mut self.agents[player.0];
        agent.off = true;
        agent.names = None;
        let pid = Pid::from_child(&agent.process);
        let at = clock::now();
        kill_process(pid, signal)
            .map_err(|error| Failure::Failed(format!("cannot signal agent {pid:?}: {error}")))?;
        Ok(at)
    }

    /// Starts an agent again. Returns when.
    pub(super) fn restart(&mut self, player: Player) -> Result<Instant, Failure> {
        let at = clock::now();
        self.agents[player.0] = self.start(player.0)?;
        Ok(at)
    }

    /// Waits until all are up. Returns when the last one was.
    pub(super) fn wait_all_up(&mut self, patience: Duration) -> Result<Instant, Failure> {
        self.wait("come up", patience, |agents| {
            let up: Option<Vec<Instant>> = agents.iter().map(|agent| agent.up).collect();
            up?.into_iter().max()
        })
    }

    /// Waits until all who are there name the same leader, and not `former`. Returns who it is, and
    /// when the last of them knew.
    pub(super) fn wait_named(
        &mut self,
        former: Option<Player>,
        patience: Duration,
    ) -> Result<(Player, Instant), Failure> {
        self.wait("agree on a leader", patience, |agents| {
            named_by_all(agents, former).map(|(leader, _, known)| (leader, known))
        })
    }

    /// Waits until all who are there know that the leader, and not `former`, holds tenure.
    pub(super) fn wait_tenure(
        &mut self,
        former: Option<Player>,
        patience: Duration,
    ) -> Result<Agreed, Failure> {
        self.wait("grant a tenure", patience, |agents| {
            let (leader, fence, known) = named_by_all(agents, former)?;
            let fence = fence?;
            Some(Agreed {
                leader,
                fence,
                known,
            })
        })
    }

    /// Listens for `span`, whatever happens.
    pub(super) fn rest(&mut self, span: Duration) {
        let until = clock::now() + span.into();
        loop {
            let left = Duration::from(until - clock::now());
            match self.heard.recv_timeout(left) {
                Ok((index, pid, line)) => self.note(index, pid, line),
                Err(_) => return,
            }
        }
    }

    fn wait<R>(
        &mut self,
        what: &str,
        patience: Duration,
        ready: impl Fn(&[Agent]) -> Option<R>,
    ) -> Result<R, Failure> {
        let until = clock::now() + patience.into();
        loop {
            if let Some(result) = ready(&self.agents) {
                return Ok(result);
            }
            let left = Duration::from(until - clock::now());
            match self.heard.recv_timeout(left) {
                Ok((index, pid, line)) => self.note(index, pid, line),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Err(Failure::Failed(format!(
                        "the agents did not {what} within {} s: does this host's loopback carry multicasts?",
                        patience.as_secs()
                    )));
                }
            }
        }
    }

    fn note(&mut self, index: usize, pid: u32, line: Line) {
        let agent = &mut self.agents[index];
        if agent.process.id() != pid || agent.off {
            return; // the last words of one that was killed
        }
        let at = Instant(line.time_ns);
        match line.up {
            true => agent.up = Some(at),
            false => {
                let fence = line.fence;
                agent.names = line.leader.map(|leader| Named {
                    leader,
                    fence,
                    since: at,
                });
            }
        }
    }

    /// All leave.
    pub(super) fn exit(mut self) -> Result<(), Failure> {
        for index in 0..self.agents.len() {
            if !self.agents[index].off {
                self.terminate(Player(index))?;
            }
        }
        for agent in &mut self.agents {
            agent
                .process
                .wait()
                .map_err(|error| Failure::Failed(format!("lost an agent: {error}")))?;
        }
        Ok(())
    }
}

impl Drop for Troupe {
    /// Whatever went wrong, nobody stays behind.
    fn drop(&mut self) {
        for agent in &mut self.agents {
            // Those that have ended cannot be killed, and need not be.
            let _ = agent.process.kill();
            let _ = agent.process.wait();
        }
        // What the voters promised is of no use to anybody else.
        let _ = std::fs::remove_dir_all(&self.state);
    }
}

/// Whom all who are there name, unless it is `former`: who it is, its fence if all know of the same, and since when.
fn named_by_all(
    agents: &[Agent],
    former: Option<Player>,
) -> Option<(Player, Option<u64>, Instant)> {
    let present = agents.iter().filter(|agent| !agent.off);
    let named: Option<Vec<&Named>> = present.map(|agent| agent.names.as_ref()).collect();
    let named = named?;
    let Named { leader, fence, .. } = *named.first()?;
    let index = NAMES.iter().position(|name| name == leader)?;
    let agree = named.iter().all(|it| it.leader == *leader);
    let is_there = !agents[index].off && former != Some(Player(index));
    let fence = fence.filter(|fence| named.iter().all(|it| it.fence == Some(*fence)));
    let since = named.iter().map(|it| it.since).max()?;
    (agree && is_there).then_some((Player(index), fence, since))
}

fn listen(index: usize, pid: u32, output: ChildStdout, voice: &Sender<(usize, u32, Line)>) {
    for line in BufReader::new(output).lines() {
        let Ok(line) = line else { return };
        if let Ok(line) = serde_json::from_str(&line)
            && voice.send((index, pid, line)).is_err()
        {
            return; // the demo is over
        }
    }
}
