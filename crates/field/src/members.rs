//! The agents of a trial, one on each host, observed by the events that they print.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hustings_testkit::{Line, Outcome, Processes, Scratch, run};
use rustix::process::Signal;
use serde_json::Value;

use super::measure::{CpuMeter, milliseconds, now_ns};
use super::testbed::{MEMBERS, PATIENCE, PORT, Testbed, name};
use crate::Result;

/// The placement of agents on hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placement {
    /// One agent on each host. It receives at this port, and serves HTTP 80 ports above.
    OneEach { port: u16 },
    /// One agent on each host, without any option about addresses.
    OneEachByDefault,
    /// All agents on host 0, each at any free port, without HTTP.
    Shared,
}

/// The agents of a trial.
pub(crate) struct Members<'g> {
    testbed: Testbed<'g>,
    placement: Placement,
    /// The first two are `--group` and its name.
    options: Vec<String>,
    /// The options whose value is a file or directory of each agent's own, in `home`.
    files: Vec<&'static str>,
    home: Scratch,
    agents: Processes,
    events: Vec<AgentEvents>,
}

/// The events of an agent that runs.
#[derive(Default)]
struct AgentEvents {
    up_ns: Option<u64>,
    /// Its reports of the leader, oldest first.
    reports: Vec<LeaderReport>,
}

/// A member's report of the leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LeaderReport {
    pub(crate) at_ns: u64,
    /// `None` if there is no leader.
    pub(crate) leader: Option<usize>,
    /// The fence of the leader's tenure, if it holds tenure.
    fence: Option<u64>,
}

impl<'g> Members<'g> {
    /// Creates places for `count` agents, none of which runs yet. Agents are started with
    /// `options`.
    pub(crate) fn new(
        testbed: Testbed<'g>,
        placement: Placement,
        count: usize,
        options: &[&str],
    ) -> Self {
        Self {
            testbed,
            placement,
            options: options.iter().map(|&option| option.to_owned()).collect(),
            files: Vec::new(),
            home: Scratch::new("hustings-members"),
            agents: Processes::new(count),
            events: (0..count).map(|_| AgentEvents::default()).collect(),
        }
    }

    /// Starts an agent on every host. Returns the time.
    pub(crate) fn start_all(&mut self) -> Result<u64> {
        let at = now_ns();
        self.everyone().into_iter().try_for_each(|index| self.start(index))?;
        Ok(at)
    }

    /// Starts all agents. Returns the leader that they agree on, and the milliseconds until all
    /// name it, from the time at which the last of them came up.
    pub(crate) fn cold_start(&mut self, patience: Duration) -> Result<(usize, f64)> {
        let started = self.start_all()?;
        let (leader, known) = self.agree_all(patience)?;
        let up = self.events.iter().filter_map(|events| events.up_ns).max();
        Ok((leader, milliseconds(up.unwrap_or(started), known)))
    }

    /// Starts agent `index`.
    pub(crate) fn start(&mut self, index: usize) -> Result<()> {
        let mut command = self.command(index, index);
        self.spawn(index, command.args(&self.options))
    }

    /// Starts agent `index` under the name of agent `other`, and waits for it to end by itself.
    /// Returns its exit code, if it has one.
    pub(crate) fn run_as(&mut self, index: usize, other: usize) -> Result<Option<i32>> {
        let mut command = self.command(index, other);
        self.spawn(index, command.args(&self.options).stderr(Stdio::null()))?; // it prints an error
        Ok(self.agents.process(index)?.wait()?.code())
    }

    /// Starts agent `index` in the same group, with `options` in place of the usual ones.
    pub(crate) fn start_with(&mut self, index: usize, options: &[&str]) -> Result<()> {
        let mut command = self.command(index, index);
        self.spawn(index, command.args(&self.options[..2]).args(options))
    }

    fn spawn(&mut self, index: usize, command: &mut Command) -> Result<()> {
        self.agents.start(index, command.stdin(Stdio::null()).stdout(Stdio::piped()))?;
        self.events[index] = AgentEvents::default();
        Ok(())
    }

    /// Returns the command of agent `index`, under the name of agent `called`.
    fn command(&self, index: usize, called: usize) -> Command {
        let (host, place) = match self.placement {
            Placement::OneEach { port } => (index, Some((port, http(port)))),
            Placement::OneEachByDefault => (index, None),
            Placement::Shared => (0, Some((0, "off".to_owned()))),
        };
        let mut command = self.testbed.command(host);
        command
            .args(["agent", "--events", "--die-with-parent", "--log", "error"])
            .args(["--name", &name(called)]);
        if let Some((port, http)) = place {
            let place = self.testbed.place(host, port);
            command.args(["--bind", &place.to_string(), "--http", &http]);
            command.args(["--interface", &place.ip().to_string()]);
        }
        for option in &self.files {
            command.arg(option).arg(self.file(option, called));
        }
        command
    }

    /// Returns the file or directory of agent `index` for an option.
    fn file(&self, option: &str, index: usize) -> PathBuf {
        self.home.join(&format!("{}{option}", name(index)))
    }

    /// Makes all agents that are started from now on write a trace.
    pub(crate) fn record(&mut self) {
        self.files.push("--trace");
    }

    /// Returns the trace of agent `index`.
    pub(crate) fn trace(&self, index: usize) -> Result<String> {
        Ok(fs::read_to_string(self.file("--trace", index))?)
    }

    /// Initialises every member as a voter of a new group.
    pub(crate) fn init_voters(&mut self) -> Result<()> {
        self.files.push("--state");
        self.testbed.init_voters(self.agents.count(), |index| self.voter_options(index))
    }

    fn voter_options(&self, index: usize) -> Vec<String> {
        let place = self.testbed.place(index, PORT).to_string();
        let state = self.file("--state", index).to_string_lossy().into_owned();
        let own = ["--name", &name(index), "--bind", &place, "--state", &state];
        own.map(str::to_owned).into_iter().chain(self.options.iter().cloned()).collect()
    }

    /// Initialises voter `index` again from the answers of the others. Its agent must not run.
    /// `within` limits the time.
    pub(crate) fn init(&self, index: usize, within: &str) -> Result<Outcome> {
        let mut command = self.testbed.command(index);
        command.args(["voter", "init", "--within", within]).args(self.voter_options(index));
        Ok(Outcome::of(&mut command)?)
    }

    /// Deletes the file of voter `index`.
    pub(crate) fn lose_promise(&self, index: usize) -> Result<()> {
        let file = format!("{}.voter", self.options[1]);
        Ok(fs::remove_file(self.file("--state", index).join(file))?)
    }

    /// Returns what the status of agent `index` says of its group, over HTTP.
    pub(crate) fn status(&self, index: usize) -> Result<Value> {
        let port = match self.placement {
            Placement::OneEach { port } => port,
            Placement::OneEachByDefault | Placement::Shared => PORT,
        };
        let mut command = self.testbed.command(index);
        command.args(["status", "--format", "json", "--http", &http(port)]);
        Ok(serde_json::from_str::<Value>(&run(&mut command)?)?["groups"][0].take())
    }

    /// Returns the index of every agent.
    pub(crate) fn everyone(&self) -> Vec<usize> {
        (0..self.agents.count()).collect()
    }

    /// Returns the index of every agent except `one`.
    pub(crate) fn all_but(&self, one: usize) -> Vec<usize> {
        (0..self.agents.count()).filter(|&it| it != one).collect()
    }

    /// Begins to count the processor time of all agents.
    pub(crate) fn cpu_meter(&self) -> Result<CpuMeter> {
        CpuMeter::begin(self.pids())
    }

    /// Returns the process ids of all agents that run.
    pub(crate) fn pids(&self) -> Vec<u32> {
        let agents = self.everyone().into_iter().filter_map(|index| self.agents.get(index));
        agents.map(|agent| agent.id()).collect()
    }

    /// Sends a signal to agent `index`. Returns the time.
    pub(crate) fn signal(&self, index: usize, signal: Signal) -> Result<u64> {
        let at = now_ns();
        self.agents.signal(index, signal)?;
        Ok(at)
    }

    /// Ends agent `index` with `signal` and removes it. Returns the time.
    pub(crate) fn end(&mut self, index: usize, signal: Signal) -> Result<u64> {
        let at = now_ns();
        self.agents.end(index, signal)?;
        self.events[index] = AgentEvents::default();
        Ok(at)
    }

    /// Kills agent `index` and starts it again.
    pub(crate) fn restart(&mut self, index: usize) -> Result<()> {
        self.end(index, Signal::KILL)?;
        self.start(index)
    }

    /// Ends the leader with `signal`. Returns the milliseconds until all others have agreed on
    /// another leader.
    pub(crate) fn end_leader(
        &mut self,
        leader: usize,
        signal: Signal,
        patience: Duration,
    ) -> Result<f64> {
        let began = self.end(leader, signal)?;
        let (_, known) = self.agree_without(leader, patience)?;
        Ok(milliseconds(began, known))
    }

    /// Isolates the host of the present leader. Returns the leader, and the milliseconds until all
    /// others agreed on another one.
    pub(crate) fn lose_leader(&mut self) -> Result<(usize, f64)> {
        let (leader, _) = self.agree_all(PATIENCE)?;
        let began = self.testbed.hosts.isolate(leader)?;
        let (_, known) = self.agree_without(leader, PATIENCE)?;
        Ok((leader, milliseconds(began, known)))
    }

    /// Collects events until `look` returns a value, for at most `patience`.
    fn until<T>(&mut self, patience: Duration, look: impl Fn(&Self) -> Option<T>) -> Option<T> {
        let until = Instant::now() + patience;
        loop {
            if let Some(found) = look(self) {
                return Some(found);
            }
            let left = until.saturating_duration_since(Instant::now());
            let line = self.agents.next_line(left)?;
            self.note(&line);
        }
    }

    /// Waits until all members name the same leader. Returns the leader, and the time at which the
    /// last of them knew.
    pub(crate) fn agree_all(&mut self, patience: Duration) -> Result<(usize, u64)> {
        self.agree(&self.everyone(), &self.everyone(), patience)
    }

    /// The same for all members except `former`, which is gone.
    pub(crate) fn agree_without(
        &mut self,
        former: usize,
        patience: Duration,
    ) -> Result<(usize, u64)> {
        self.agree(&self.all_but(former), &self.all_but(former), patience)
    }

    /// The same for the members in `who`, whose leader must be in `leaders`.
    pub(crate) fn agree(
        &mut self,
        who: &[usize],
        leaders: &[usize],
        patience: Duration,
    ) -> Result<(usize, u64)> {
        self.until(patience, |it| it.agreed(who, leaders)).ok_or_else(|| {
            format!("no agreement within {patience:?}: {}", self.opinions(who)).into()
        })
    }

    /// Describes which leaders the members in `who` name, with the number of members. Lists the
    /// members if they are few.
    fn opinions(&self, who: &[usize]) -> String {
        let mut opinions: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
        for &index in who {
            opinions.entry(self.leader_of(index)).or_default().push(index);
        }
        let opinions = opinions.into_iter().map(|(named, by)| {
            let named = named.map_or("no leader".to_owned(), name);
            match by.len() {
                1..=MEMBERS => format!("{named} by {by:?}"),
                count => format!("{named} by {count}"),
            }
        });
        opinions.collect::<Vec<_>>().join(", ")
    }

    /// Waits until a member in `who` reports a tenure of its own with a fence above `above`.
    /// Returns the member and the fence.
    pub(crate) fn held(
        &mut self,
        who: &[usize],
        above: u64,
        patience: Duration,
    ) -> Result<(usize, u64)> {
        let held = |members: &Self| {
            let held = who.iter().filter_map(|&by| {
                let report = members.reports(by).last()?;
                Some((by, report.fence.filter(|_| report.leader == Some(by))?))
            });
            held.filter(|(_, fence)| *fence > above).max_by_key(|(_, fence)| *fence)
        };
        self.until(patience, held).ok_or_else(|| {
            format!("none of {who:?} got tenure above fence {above} within {patience:?}").into()
        })
    }

    fn agreed(&self, who: &[usize], leaders: &[usize]) -> Option<(usize, u64)> {
        let leader = self.leader_of(*who.first()?).filter(|it| leaders.contains(it))?;
        let mut known = 0;
        for &index in who {
            let report = self.reports(index).last()?;
            if report.leader != Some(leader) {
                return None;
            }
            known = report.at_ns.max(known);
        }
        Some((leader, known))
    }

    /// Collects events for `span`.
    pub(crate) fn listen_for(&mut self, span: Duration) {
        self.until::<()>(span, |_| None);
    }

    /// Collects events until all members have settled, and on to a random point between two
    /// announcements or renewals.
    pub(crate) fn settle(&mut self) {
        let pause = 400 + now_ns() / 1_000 % 100;
        self.listen_for(Duration::from_millis(pause));
    }

    /// Returns the leader that agent `index` names.
    pub(crate) fn leader_of(&self, index: usize) -> Option<usize> {
        self.reports(index).last()?.leader
    }

    /// Returns the reports of agent `index` since it was started, oldest first.
    pub(crate) fn reports(&self, index: usize) -> &[LeaderReport] {
        &self.events[index].reports
    }

    /// Returns the total number of reports of the agents in `who`.
    pub(crate) fn report_count(&self, who: &[usize]) -> usize {
        who.iter().map(|&index| self.reports(index).len()).sum()
    }

    /// Returns the total number of reports of all agents.
    pub(crate) fn all_reports(&self) -> usize {
        self.report_count(&self.everyone())
    }

    /// Fails if the total number of reports is no longer `before`. The error lists all reports.
    pub(crate) fn require_unmoved(&self, before: usize) -> Result<()> {
        let reports = self.events.iter().map(|events| &events.reports);
        let begin = reports.clone().flatten().map(|report| report.at_ns).min().unwrap_or(0);
        let show = |report: &LeaderReport| {
            let leader = report.leader.map_or("no leader".to_owned(), |it| it.to_string());
            format!("{leader} at {:.1} ms", milliseconds(begin, report.at_ns))
        };
        let stories = reports.enumerate().map(|(index, reports)| {
            let reports: Vec<String> = reports.iter().map(show).collect();
            format!("{index} named {}", reports.join(", "))
        });
        let stories = stories.collect::<Vec<_>>().join("; ");
        ensure!(self.all_reports() == before, "a member changed its leader: {stories}");
        Ok(())
    }

    fn note(&mut self, line: &Line) {
        let events = &mut self.events[line.place];
        let line = serde_json::from_str(&line.text).unwrap_or(Value::Null);
        let Some(at_ns) = line["time_ns"].as_u64() else {
            return; // not an event
        };
        if line["up"] == true {
            events.up_ns = Some(at_ns);
            return;
        }
        let leader = line["leader"].as_str().and_then(|it| it.strip_prefix('h')?.parse().ok());
        events.reports.push(LeaderReport { at_ns, leader, fence: line["fence"].as_u64() });
    }
}

fn http(port: u16) -> String {
    format!("127.0.0.1:{}", port + 80)
}
