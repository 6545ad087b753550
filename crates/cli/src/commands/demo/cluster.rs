//! The demo's agents: real processes, observed through the events that they print.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use hustings::GroupOptions;
use hustings_agent::clock;
use hustings_protocol::{Duration as Time, Instant};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;

use super::{NAMES, STEP_LIMIT};
use crate::failure::Failure;

/// One agent, by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Member(usize);

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(NAMES[self.0])
    }
}

/// The number of agents that grant tenure.
const VOTERS: usize = 3;

/// All agents of the demo.
pub(super) struct DemoCluster {
    announce: Time,
    ttl: Time,
    /// The directory that holds one state directory per voter.
    state: PathBuf,
    /// The group's name, unique to this run, so that two demos at once do not meet.
    group: String,
    agents: Vec<Agent>,
    /// The lines of all agents, each with the agent's index and process.
    lines: Receiver<(usize, u32, Line)>,
    readers: Sender<(usize, u32, Line)>,
}

struct Agent {
    process: Child,
    /// True if the agent was asked to stop or has ended.
    off: bool,
    up: Option<Instant>,
    /// The leader that it names.
    names: Option<KnownLeader>,
}

/// The leader that an agent names.
#[derive(Debug, Clone, PartialEq, Eq)]
struct KnownLeader {
    leader: String,
    /// The time since which the agent names this leader.
    since: Instant,
    /// The fence of the leader's tenure, if it has one, and the time since which the agent knows of
    /// it.
    tenure: Option<(u64, Instant)>,
}

/// The leader that all agents agree on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Agreed {
    pub(super) leader: Member,
    pub(super) fence: u64,
    /// The time at which the last agent named it.
    pub(super) named: Instant,
    /// The time at which the last agent knew of its tenure.
    pub(super) known: Instant,
}

/// A line that an agent prints with `--events`.
#[derive(Debug, Deserialize)]
struct Line {
    time_ns: u64,
    #[serde(default)]
    up: bool,
    leader: Option<String>,
    fence: Option<u64>,
}

impl DemoCluster {
    /// Initialises the voters and starts all agents.
    pub(super) fn start(announce: Time, ttl: Time) -> Result<Self, Failure> {
        let (readers, lines) = mpsc::channel();
        let group = format!("demo-{}", std::process::id());
        let state = std::env::temp_dir().join(format!("hustings-{group}"));
        let agents = Vec::new();
        let mut cluster = Self { announce, ttl, state, group, agents, lines, readers };
        let voters = &NAMES[..VOTERS];
        for voter in voters {
            let joining = GroupOptions::on_this_host(&cluster.group, voter);
            let joining = joining.fenced_by(voters, ttl.into(), &cluster.state.join(voter));
            let made = joining.found_voter();
            made.map_err(Failure::cannot(&format!("make voter {voter}")))?;
        }
        for index in 0..NAMES.len() {
            let agent = cluster.start_agent(index)?;
            cluster.agents.push(agent);
        }
        Ok(cluster)
    }

    fn start_agent(&self, index: usize) -> Result<Agent, Failure> {
        let failed = Failure::cannot("start an agent");
        let program = std::env::current_exe().map_err(&failed)?;
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
        // Settings for other agents on this host must not change the demo.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("HUSTINGS_") {
                command.env_remove(name);
            }
        }
        let mut process = command.spawn().map_err(&failed)?;
        let pid = process.id();
        if let Some(output) = process.stdout.take() {
            let reader = self.readers.clone();
            thread::spawn(move || read_lines(index, pid, output, &reader));
        }
        Ok(Agent { process, off: false, up: None, names: None })
    }

    pub(super) fn pid(&self, member: Member) -> u32 {
        self.agents[member.0].process.id()
    }

    /// Kills an agent and returns the time of the kill.
    pub(super) fn kill(&mut self, member: Member) -> Result<Instant, Failure> {
        let at = self.signal(member, Signal::KILL)?;
        // A killed process cannot refuse to end.
        let _ = self.agents[member.0].process.wait();
        Ok(at)
    }

    /// Asks an agent to stop and returns the time of the signal.
    pub(super) fn terminate(&mut self, member: Member) -> Result<Instant, Failure> {
        self.signal(member, Signal::TERM)
    }

    fn signal(&mut self, member: Member, signal: Signal) -> Result<Instant, Failure> {
        let agent = &mut self.agents[member.0];
        agent.off = true;
        agent.names = None;
        let pid = Pid::from_child(&agent.process);
        let at = clock::now();
        let signalled = kill_process(pid, signal);
        signalled.map_err(Failure::cannot(&format!("signal agent {pid:?}")))?;
        Ok(at)
    }

    /// Starts an agent again and returns the time of the start.
    pub(super) fn restart(&mut self, member: Member) -> Result<Instant, Failure> {
        let at = clock::now();
        self.agents[member.0] = self.start_agent(member.0)?;
        Ok(at)
    }

    /// Waits until all agents are up and returns the time at which the last one was.
    pub(super) fn wait_all_up(&mut self) -> Result<Instant, Failure> {
        self.wait("come up", |agents| {
            let up: Option<Vec<Instant>> = agents.iter().map(|agent| agent.up).collect();
            up?.into_iter().max()
        })
    }

    /// Waits until all running agents know that a leader other than `former` holds tenure.
    pub(super) fn wait_tenure(&mut self, former: Option<Member>) -> Result<Agreed, Failure> {
        self.wait("grant a tenure", |agents| {
            let present = agents.iter().filter(|agent| !agent.off);
            let named: Option<Vec<_>> = present.map(|agent| agent.names.as_ref()).collect();
            let agreed = agreed(&named?)?;
            let is_there = !agents[agreed.leader.0].off && former != Some(agreed.leader);
            is_there.then_some(agreed)
        })
    }

    /// Reads events for `span`, whatever they say.
    pub(super) fn rest(&mut self, span: Duration) {
        let _: Option<()> = self.read_until(span, |_| None);
    }

    fn wait<R>(&mut self, what: &str, ready: impl Fn(&[Agent]) -> Option<R>) -> Result<R, Failure> {
        self.read_until(STEP_LIMIT, ready).ok_or_else(|| {
            Failure::Failed(format!(
                "the agents did not {what} within {} s: check that multicast works on this host's \
                 loopback interface",
                STEP_LIMIT.as_secs()
            ))
        })
    }

    /// Reads events until `ready` returns a result. Returns `None` after `timeout`.
    fn read_until<R>(
        &mut self,
        timeout: Duration,
        ready: impl Fn(&[Agent]) -> Option<R>,
    ) -> Option<R> {
        let until = clock::now() + timeout.into();
        loop {
            if let Some(result) = ready(&self.agents) {
                return Some(result);
            }
            let left = Duration::from(until - clock::now());
            let (index, pid, line) = self.lines.recv_timeout(left).ok()?;
            let agent = &mut self.agents[index];
            if agent.process.id() != pid || agent.off {
                continue; // printed before the agent was killed
            }
            if line.up {
                agent.up = Some(Instant(line.time_ns));
            } else {
                agent.names = KnownLeader::after(agent.names.take(), line);
            }
        }
    }

    /// Stops all agents in good order.
    pub(super) fn stop(mut self) -> Result<(), Failure> {
        for index in 0..self.agents.len() {
            if !self.agents[index].off {
                self.terminate(Member(index))?;
            }
        }
        for agent in &mut self.agents {
            let ended = agent.process.wait();
            ended.map_err(|error| Failure::Failed(format!("lost an agent: {error}")))?;
        }
        Ok(())
    }
}

impl Drop for DemoCluster {
    /// Kills all agents, so that none outlives the demo after an error.
    fn drop(&mut self) {
        for agent in &mut self.agents {
            // An agent that has ended cannot be killed and need not be.
            let _ = agent.process.kill();
            let _ = agent.process.wait();
        }
        // No other group can use the voters' promises.
        let _ = std::fs::remove_dir_all(&self.state);
    }
}

impl KnownLeader {
    /// Returns the leader that an agent names after it has printed a line.
    fn after(before: Option<Self>, line: Line) -> Option<Self> {
        let at = Instant(line.time_ns);
        let leader = line.leader?;
        let same = before.filter(|it| it.leader == leader);
        let known = same.as_ref().and_then(|it| it.tenure);
        let tenure = line.fence.map(|fence| match known {
            Some((known, since)) if known == fence => (fence, since),
            Some(_) | None => (fence, at),
        });
        Some(Self { since: same.map_or(at, |it| it.since), leader, tenure })
    }
}

/// Returns the leader that all agents agree on. `None` if they name two, or if one does not know of
/// the tenure.
fn agreed(named: &[&KnownLeader]) -> Option<Agreed> {
    let leader = &named.first()?.leader;
    let (fence, mut known) = named.first()?.tenure?;
    for it in named {
        let (other, since) = it.tenure?;
        if it.leader != *leader || other != fence {
            return None;
        }
        known = known.max(since);
    }
    let leader = Member(NAMES.iter().position(|name| name == leader)?);
    let named = named.iter().map(|it| it.since).max()?;
    Some(Agreed { leader, fence, named, known })
}

fn read_lines(index: usize, pid: u32, output: ChildStdout, lines: &Sender<(usize, u32, Line)>) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        if let Ok(line) = serde_json::from_str(&line)
            && lines.send((index, pid, line)).is_err()
        {
            return; // the demo is over
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{KnownLeader, Line, agreed};
    use hustings_protocol::Instant;

    /// Returns the leader that an agent names after these lines of times, leaders and fences.
    fn named(lines: &[(u64, Option<&str>, Option<u64>)]) -> Option<KnownLeader> {
        lines.iter().fold(None, |before, (time_ns, leader, fence)| {
            let line = Line {
                time_ns: *time_ns,
                up: false,
                leader: leader.map(str::to_owned),
                fence: *fence,
            };
            KnownLeader::after(before, line)
        })
    }

    /// Lines of several agents are read in any order: a later line must not hide an earlier one.
    #[test]
    fn leader_counts_as_named_from_the_first_line_not_from_its_tenure() {
        let first = [(5, Some("bravo"), None), (438, Some("bravo"), Some(3))];
        let first = named(&first).unwrap();
        let other = [
            (1, Some("charlie"), Some(2)),
            (9, Some("bravo"), None),
            (430, Some("bravo"), Some(3)),
        ];
        let other = named(&other).unwrap();
        let agreed = agreed(&[&first, &other]).unwrap();
        assert_eq!((agreed.leader.to_string(), agreed.fence), ("bravo".to_owned(), 3));
        assert_eq!((agreed.named, agreed.known), (Instant(9), Instant(438)));
    }

    #[test]
    fn leader_named_again_counts_from_then_on() {
        let again = [(1, Some("bravo"), Some(2)), (2, None, None), (3, Some("bravo"), None)];
        let again = named(&again).unwrap();
        assert_eq!((again.since, again.tenure), (Instant(3), None));
        assert!(agreed(&[&again]).is_none());
        let renewed = [(1, Some("bravo"), Some(2)), (4, Some("bravo"), Some(3))];
        let renewed = named(&renewed).unwrap();
        assert_eq!(renewed.tenure, Some((3, Instant(4))));
        let other = named(&[(1, Some("bravo"), Some(2))]).unwrap();
        assert!(agreed(&[&renewed, &other]).is_none());
    }
}
