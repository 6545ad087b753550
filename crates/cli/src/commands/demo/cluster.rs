//! The demo's agents: real processes, observed through the events that they print.

use std::fmt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use hustings::GroupOptions;
use hustings_agent::clock;
use hustings_protocol::{Duration as Time, Instant};
use hustings_testkit::{Processes, command};
use rustix::process::Signal;
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
    processes: Processes,
    agents: [Agent; NAMES.len()],
}

#[derive(Default)]
struct Agent {
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
        let group = format!("demo-{}", std::process::id());
        let state = std::env::temp_dir().join(format!("hustings-{group}"));
        let (processes, agents) = (Processes::new(NAMES.len()), Default::default());
        let mut cluster = Self { announce, ttl, state, group, processes, agents };
        let voters = &NAMES[..VOTERS];
        for voter in voters {
            let joining = GroupOptions::on_this_host(&cluster.group, voter);
            let joining = joining.fenced_by(voters, ttl.into(), &cluster.state.join(voter));
            let made = joining.found_voter();
            made.map_err(Failure::cannot(&format!("make voter {voter}")))?;
        }
        for index in 0..NAMES.len() {
            cluster.start_agent(index)?;
        }
        Ok(cluster)
    }

    fn start_agent(&mut self, index: usize) -> Result<(), Failure> {
        let failed = Failure::cannot("start an agent");
        let program = std::env::current_exe().map_err(&failed)?;
        // Settings for other agents on this host do not change the demo: `command` removes them.
        let mut command = command(program, "agent --events --die-with-parent --log error");
        command
            .args(["--name", NAMES[index], "--group", &self.group])
            .args(["--bind", "127.0.0.1:0", "--interface", "127.0.0.1"])
            .args(["--http", "off", "--announce", &self.announce.to_string()])
            .args(["--voters", &NAMES[..VOTERS].join(",")])
            .args(["--ttl", &self.ttl.to_string(), "--state"])
            .arg(self.state.join(NAMES[index]))
            .stderr(Stdio::inherit());
        self.agents[index] = Agent::default();
        self.processes.start(index, &mut command).map_err(failed)
    }

    pub(super) fn pid(&mut self, member: Member) -> Result<u32, Failure> {
        Ok(self.processes.process(member.0).map_err(Failure::failed)?.id())
    }

    /// Kills an agent and returns the time of the kill.
    pub(super) fn kill(&mut self, member: Member) -> Result<Instant, Failure> {
        let at = self.ignore(member);
        self.processes.end(member.0, Signal::KILL).map_err(Failure::cannot("kill an agent"))?;
        Ok(at)
    }

    /// Asks an agent to stop and returns the time of the signal.
    pub(super) fn terminate(&mut self, member: Member) -> Result<Instant, Failure> {
        let at = self.ignore(member);
        self.processes.signal(member.0, Signal::TERM).map_err(Failure::cannot("stop an agent"))?;
        Ok(at)
    }

    /// Ignores what an agent prints from now on, and returns the time.
    fn ignore(&mut self, member: Member) -> Instant {
        self.agents[member.0] = Agent { off: true, ..Agent::default() };
        clock::now()
    }

    /// Starts an agent again and returns the time of the start.
    pub(super) fn restart(&mut self, member: Member) -> Result<Instant, Failure> {
        let at = clock::now();
        self.start_agent(member.0)?;
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
            let line = self.processes.next_line((until - clock::now()).into())?;
            let agent = &mut self.agents[line.place];
            match serde_json::from_str::<Line>(&line.text) {
                Ok(line) if line.up => agent.up = Some(Instant(line.time_ns)),
                Ok(line) if !agent.off => {
                    agent.names = KnownLeader::after(agent.names.take(), line);
                }
                Ok(_) | Err(_) => {} // the agent is to end, or the line is not an event
            }
        }
    }

    /// Ends all agents that still run and waits for them.
    pub(super) fn stop(mut self) -> Result<(), Failure> {
        for index in 0..NAMES.len() {
            if !self.agents[index].off {
                self.terminate(Member(index))?;
            }
        }
        for index in 0..NAMES.len() {
            let ended = self.processes.process(index).and_then(|it| it.wait());
            ended.map_err(|error| Failure::Failed(format!("lost an agent: {error}")))?;
        }
        Ok(())
    }
}

impl Drop for DemoCluster {
    fn drop(&mut self) {
        self.processes = Processes::new(0); // ends the agents, which write below the directory
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
