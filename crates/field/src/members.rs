//! The agents of a trial, one on each host, observed by the events that they print.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hustings_testkit::{Line, Outcome, Processes, Scratch, run, run_together};
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
    options: Vec<String>,
    /// The directory of the voters' state, with one subdirectory for each voter.
    state: Option<Scratch>,
    /// The directory of the agents' traces, with one file for each agent.
    traces: Option<Scratch>,
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
    pub(crate) fence: Option<u64>,
}

/// A tenure that a member reports as its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) by: usize,
    pub(crate) fence: u64,
    pub(crate) since_ns: u64,
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
            state: None,
            traces: None,
            agents: Processes::new(count),
            events: (0..count).map(|_| AgentEvents::default()).collect(),
        }
    }

    /// Starts an agent on every host. Returns the time.
    pub(crate) fn start_all(&mut self) -> Result<u64> {
        let at = now_ns();
        for index in 0..self.agents.count() {
            self.start(index)?;
        }
        Ok(at)
    }

    /// Starts agent `index`.
    pub(crate) fn start(&mut self, index: usize) -> Result<()> {
        let mut command = self.command(index, index);
        command.args(&self.options);
        self.spawn(index, command)
    }

    /// Starts agent `index` under the name of agent `other`.
    pub(crate) fn start_as(&mut self, index: usize, other: usize) -> Result<()> {
        let mut command = self.command(index, other);
        command.args(&self.options).stderr(Stdio::null()); // it prints an error
        self.spawn(index, command)
    }

    /// Waits for agent `index` to end by itself. Returns its exit code, if it has one.
    pub(crate) fn exit_code(&mut self, index: usize) -> Result<Option<i32>> {
        Ok(self.agents.process(index)?.wait()?.code())
    }

    /// Starts agent `index` in the same group, with `options` in place of the usual ones.
    pub(crate) fn start_with(&mut self, index: usize, options: &[&str]) -> Result<()> {
        let mut command = self.command(index, index);
        // The first two are --group and its name.
        command.args(&self.options[..2]).args(options);
        self.spawn(index, command)
    }

    fn spawn(&mut self, index: usize, mut command: Command) -> Result<()> {
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
            command.args(["--bind", &place.to_string()]).args([
                "--interface",
                &place.ip().to_string(),
                "--http",
                &http,
            ]);
        }
        if let Some(state) = &self.state {
            command.arg("--state").arg(state.join(&name(called)));
        }
        if let Some(traces) = &self.traces {
            command.arg("--trace").arg(traces.join(&name(called)));
        }
        command
    }

    /// Makes all agents that are started from now on write a trace.
    pub(crate) fn record(&mut self) {
        self.traces = Some(Scratch::new("hustings-traces"));
    }

    /// Returns the trace of agent `index`.
    pub(crate) fn trace(&self, index: usize) -> Result<String> {
        let traces = self.traces.as_ref().ok_or("nothing is recorded")?;
        Ok(fs::read_to_string(traces.join(&name(index)))?)
    }

    /// Initialises every member as a voter of a new group.
    pub(crate) fn init_voters(&mut self) -> Result<()> {
        let state = Scratch::new("hustings-state");
        let init = |index: usize| {
            let mut command = self.init_command(index, &state);
            command.arg("--new");
            command
        };
        run_together((0..self.agents.count()).map(init))?;
        self.state = Some(state);
        Ok(())
    }

    fn init_command(&self, index: usize, state: &Scratch) -> Command {
        let mut command = self.testbed.command(index);
        let place = self.testbed.place(index, PORT);
        command
            .args(["voter", "init", "--name", &name(index)])
            .args(["--bind", &place.to_string(), "--state"])
            .arg(state.join(&name(index)))
            .args(&self.options);
        command
    }

    /// Initialises voter `index` again from the answers of the others. Its agent must not run.
    /// `within` limits the time.
    pub(crate) fn init(&self, index: usize, within: &str) -> Result<Outcome> {
        let state = self.state.as_ref().ok_or("no member votes")?;
        let mut command = self.init_command(index, state);
        Ok(Outcome::of(command.args(["--within", within]))?)
    }

    /// Deletes the file of voter `index`.
    pub(crate) fn lose_promise(&self, index: usize) -> Result<()> {
        let state = self.state.as_ref().ok_or("no member votes")?;
        // The first two options are --group and its name.
        let file = state.join(&name(index)).join(format!("{}.voter", self.options[1]));
        Ok(fs::remove_file(file)?)
    }

    /// Returns the status of agent `index`, over HTTP.
    pub(crate) fn status(&self, index: usize) -> Result<Value> {
        let port = match self.placement {
            Placement::OneEach { port } => port,
            Placement::OneEachByDefault => PORT,
            Placement::Shared => return Err("agents that share a host have no HTTP".into()),
        };
        let mut command = self.testbed.command(index);
        command.args(["status", "--format", "json", "--http", &http(port)]);
        Ok(serde_json::from_str(&run(&mut command)?)?)
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

    /// Isolates the host of the present leader. Returns the leader, and the milliseconds until all
    /// others agreed on another one.
    pub(crate) fn lose_leader(&mut self) -> Result<(usize, f64)> {
        let everyone = self.everyone();
        let (leader, _) = self.agree(&everyone, &everyone, PATIENCE)?;
        let survivors = self.all_but(leader);
        let began = self.testbed.hosts.isolate(leader)?;
        let (_, known) = self.agree(&survivors, &survivors, PATIENCE)?;
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

    /// Waits until all members in `who` name the same leader, and it is in `leaders`. Returns the
    /// leader, and the time at which the last of them knew.
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
            let named = self.leader_of(index);
            opinions.entry(named).or_default().push(index);
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

    /// Waits until a member in `who` holds tenure with a fence above `above`.
    pub(crate) fn held(&mut self, who: &[usize], above: u64, patience: Duration) -> Result<Held> {
        let held = |members: &Self| {
            let held = who.iter().filter_map(|&by| members.holds(by));
            held.filter(|it| it.fence > above).max_by_key(|it| it.fence)
        };
        self.until(patience, held).ok_or_else(|| {
            format!("none of {who:?} got tenure above fence {above} within {patience:?}").into()
        })
    }

    /// Returns the tenure that agent `by` reports as its own.
    fn holds(&self, by: usize) -> Option<Held> {
        let report = self.reports(by).last()?;
        let fence = report.fence.filter(|_| report.leader == Some(by))?;
        let since_ns = report.at_ns;
        Some(Held { by, fence, since_ns })
    }

    fn agreed(&self, who: &[usize], leaders: &[usize]) -> Option<(usize, u64)> {
        let named = who.iter().map(|&index| {
            let report = self.reports(index).last()?;
            Some((report.leader?, report.at_ns))
        });
        let named: Option<Vec<(usize, u64)>> = named.collect();
        let named = named?;
        let (leader, _) = *named.first()?;
        let last = named.iter().map(|(_, since)| *since).max()?;
        let agree = named.iter().all(|(name, _)| *name == leader);
        (agree && leaders.contains(&leader)).then_some((leader, last))
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

    /// Fails if the total number of reports is no longer `before`. The error lists all reports.
    pub(crate) fn require_unmoved(&self, before: usize) -> Result<()> {
        let everyone = self.everyone();
        if self.report_count(&everyone) == before {
            return Ok(());
        }
        let firsts = everyone.iter().filter_map(|&index| self.reports(index).first());
        let begin = firsts.map(|report| report.at_ns).min().unwrap_or(0);
        let show = |report: &LeaderReport| {
            let leader = report.leader.map_or("no leader".to_owned(), |it| it.to_string());
            format!("{leader} at {:.1} ms", milliseconds(begin, report.at_ns))
        };
        let stories = everyone.iter().map(|&index| {
            let reports: Vec<String> = self.reports(index).iter().map(show).collect();
            format!("{index} named {}", reports.join(", "))
        });
        let stories: Vec<String> = stories.collect();
        Err(format!("a member changed its leader: {}", stories.join("; ")).into())
    }

    /// Returns the time at which the last agent came up.
    pub(crate) fn up_ns(&self) -> Option<u64> {
        self.events.iter().filter_map(|events| events.up_ns).max()
    }

    fn note(&mut self, line: &Line) {
        let events = &mut self.events[line.place];
        let Ok(line) = serde_json::from_str::<Value>(&line.text) else {
            return; // not an event
        };
        let Some(at) = line["time_ns"].as_u64() else {
            return;
        };
        if line["up"] == true {
            events.up_ns = Some(at);
            return;
        }
        events.reports.push(LeaderReport {
            at_ns: at,
            leader: line["leader"].as_str().and_then(index_of),
            fence: line["fence"].as_u64(),
        });
    }
}

fn http(port: u16) -> String {
    format!("127.0.0.1:{}", port + 80)
}

fn index_of(name: &str) -> Option<usize> {
    name.strip_prefix('h')?.parse().ok()
}
