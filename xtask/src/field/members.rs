//! The agents of a trial, one a host, heard by what they print.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::ground::{Ground, MEMBERS, PORT, name};
use super::hosts::run_together;
use super::measure::{milliseconds, now_ns};
use crate::Result;

/// Where agents live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Homes {
    /// One on each host, which receives at this port, and answers HTTP 80 ports above.
    OneEach { port: u16 },
    /// One on each host, without any option about addresses.
    OneEachByDefault,
    /// All on host 0, each at any port that is free, and without HTTP.
    Shared,
}

/// The agents of a trial.
pub(crate) struct Members<'g> {
    ground: Ground<'g>,
    homes: Homes,
    options: Vec<String>,
    /// Where voters keep what they promised, each in a directory of its own.
    state: Option<Directory>,
    /// Where agents record what they do, each in a file of its own.
    traces: Option<Directory>,
    agents: Vec<Option<Agent>>,
    heard: Receiver<Said>,
    voice: Sender<Said>,
}

struct Agent {
    process: Child,
    up_ns: Option<u64>,
    /// Whom it has named, oldest first.
    words: Vec<Word>,
}

/// A member's word on who leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) at_ns: u64,
    /// None: nobody.
    pub(crate) leader: Option<usize>,
    /// That of the leader's tenure, if it has any.
    pub(crate) fence: Option<u64>,
}

/// A directory for something of each agent's, gone when dropped.
struct Directory(PathBuf);

/// A tenure that a member says it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) by: usize,
    pub(crate) fence: u64,
    pub(crate) since_ns: u64,
}

/// Something that an agent printed.
struct Said {
    index: usize,
    pid: u32,
    line: Value,
}

impl<'g> Members<'g> {
    /// Places for `count` agents, none of which runs yet. `options` are what they are started with.
    pub(crate) fn new(ground: Ground<'g>, homes: Homes, count: usize, options: &[&str]) -> Self {
        let (voice, heard) = mpsc::channel();
        Self {
            ground,
            homes,
            options: options.iter().map(|&option| option.to_owned()).collect(),
            state: None,
            traces: None,
            agents: (0..count).map(|_| None).collect(),
            heard,
            voice,
        }
    }

    /// Starts an agent on every host. Returns when.
    pub(crate) fn start_all(&mut self) -> Result<u64> {
        let at = now_ns();
        for index in 0..self.agents.len() {
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
        command.args(&self.options).stderr(Stdio::null()); // it complains
        self.spawn(index, command)
    }

    /// Waits for agent `index` to end by itself. Returns its exit code, if it has one.
    pub(crate) fn exit_code(&mut self, index: usize) -> Result<Option<i32>> {
        let agent = self.agents[index].as_mut().ok_or("it does not run")?;
        Ok(agent.process.wait()?.code())
    }

    /// Starts agent `index` as a member of the same group, but with `options` alone.
    pub(crate) fn start_with(&mut self, index: usize, options: &[&str]) -> Result<()> {
        let mut command = self.command(index, index);
        // The first two are --group and its name.
        command.args(&self.options[..2]).args(options);
        self.spawn(index, command)
    }

    fn spawn(&mut self, index: usize, mut command: Command) -> Result<()> {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let pid = process.id();
        if let Some(output) = process.stdout.take() {
            let voice = self.voice.clone();
            thread::spawn(move || listen(index, pid, output, &voice));
        }
        self.agents[index] = Some(Agent {
            process,
            up_ns: None,
            words: Vec::new(),
        });
        Ok(())
    }

    /// For agent `index`, under the name of agent `called`.
    fn command(&self, index: usize, called: usize) -> Command {
        let (host, place) = match self.homes {
            Homes::OneEach { port } => (index, Some((port, http(port)))),
            Homes::OneEachByDefault => (index, None),
            Homes::Shared => (0, Some((0, "off".to_owned()))),
        };
        let mut command = self.ground.command(host);
        command
            .args(["agent", "--events", "--die-with-parent", "--log", "error"])
            .args(["--name", &name(called)]);
        if let Some((port, http)) = place {
            let place = self.ground.place(host, port);
            command.args(["--bind", &place.to_string()]).args([
                "--interface",
                &place.ip().to_string(),
                "--http",
                &http,
            ]);
        }
        if let Some(state) = &self.state {
            command.arg("--state").arg(state.of(called));
        }
        if let Some(traces) = &self.traces {
            command.arg("--trace").arg(traces.of(called));
        }
        command
    }

    /// Has all agents that are started from now on record what they do.
    pub(crate) fn record(&mut self) -> Result<()> {
        self.traces = Some(Directory::new("traces")?);
        Ok(())
    }

    /// What agent `index` has recorded so far.
    pub(crate) fn trace(&self, index: usize) -> Result<String> {
        let traces = self.traces.as_ref().ok_or("nothing is recorded")?;
        Ok(fs::read_to_string(traces.of(index))?)
    }

    /// Makes every member a voter of the group, which is new.
    pub(crate) fn found(&mut self) -> Result<()> {
        let state = Directory::new("state")?;
        let init = |index: usize| {
            let mut command = self.init_command(index, &state);
            command.arg("--new");
            command
        };
        run_together((0..self.agents.len()).map(init))?;
        self.state = Some(state);
        Ok(())
    }

    fn init_command(&self, index: usize, state: &Directory) -> Command {
        let mut command = self.ground.command(index);
        let place = self.ground.place(index, PORT);
        command
            .args(["voter", "init", "--name", &name(index)])
            .args(["--bind", &place.to_string(), "--state"])
            .arg(state.of(index))
            .args(&self.options);
        command
    }

    /// Initialises voter `index`, whose agent does not run, with what the others tell `within` this time.
    pub(crate) fn init(&self, index: usize, within: &str) -> Result<Output> {
        let state = self.state.as_ref().ok_or("nobody votes")?;
        let mut command = self.init_command(index, state);
        Ok(command.args(["--within", within]).output()?)
    }

    /// Takes away the file in which voter `index` keeps what it promised.
    pub(crate) fn lose_promise(&self, index: usize) -> Result<()> {
        let state = self.state.as_ref().ok_or("nobody votes")?;
        // The first two options are --group and its name.
        let file = state.of(index).join(format!("{}.voter", self.options[1]));
        Ok(fs::remove_file(file)?)
    }

    /// What agent `index` tells of itself on request.
    pub(crate) fn status(&self, index: usize) -> Result<Value> {
        let port = match self.homes {
            Homes::OneEach { port } => port,
            Homes::OneEachByDefault => PORT,
            Homes::Shared => return Err("agents that share a host have no HTTP".into()),
        };
        let mut command = self.ground.command(index);
        command.args(["status", "--format", "json", "--http", &http(port)]);
        let output = command.output()?;
        match output.status.success() {
            true => Ok(serde_json::from_slice(&output.stdout)?),
            false => Err(String::from_utf8_lossy(&output.stderr).into()),
        }
    }

    /// The number of every agent.
    pub(crate) fn everyone(&self) -> Vec<usize> {
        (0..self.agents.len()).collect()
    }

    /// The number of every agent but one.
    pub(crate) fn all_but(&self, one: usize) -> Vec<usize> {
        (0..self.agents.len()).filter(|&it| it != one).collect()
    }

    /// The process of agent `index`.
    pub(crate) fn pid(&self, index: usize) -> Result<u32> {
        let agent = self.agents[index].as_ref().ok_or("no such agent")?;
        Ok(agent.process.id())
    }

    /// Sends a signal to agent `index`. Returns when.
    pub(crate) fn signal(&self, index: usize, signal: Signal) -> Result<u64> {
        let agent = self.agents[index].as_ref().ok_or("no such agent")?;
        let at = now_ns();
        kill_process(Pid::from_child(&agent.process), signal)?;
        Ok(at)
    }

    /// Ends agent `index` with `signal`, and counts it out. Returns when.
    pub(crate) fn end(&mut self, index: usize, signal: Signal) -> Result<u64> {
        let at = self.signal(index, signal)?;
        if let Some(mut agent) = self.agents[index].take() {
            agent.process.wait()?;
        }
        Ok(at)
    }

    /// Waits until the members `who` name the same leader among `leaders`. Returns the leader, and
    /// when the last of them knew.
    pub(crate) fn agree(
        &mut self,
        who: &[usize],
        leaders: &[usize],
        patience: Duration,
    ) -> Result<(usize, u64)> {
        let until = Instant::now() + patience;
        loop {
            if let Some(agreed) = self.agreed(who, leaders) {
                return Ok(agreed);
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.heard.recv_timeout(left) {
                Ok(said) => self.note(&said),
                Err(_) => {
                    let opinions = self.opinions(who);
                    return Err(format!("no agreement within {patience:?}: {opinions}").into());
                }
            }
        }
    }

    /// Whom the members `who` name, and how many of them do; which, if they are few.
    fn opinions(&self, who: &[usize]) -> String {
        let mut opinions: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
        for &index in who {
            let named = self.leader_of(index);
            opinions.entry(named).or_default().push(index);
        }
        let told = opinions.into_iter().map(|(named, by)| {
            let named = named.map_or("nobody".to_owned(), name);
            match by.len() {
                1..=MEMBERS => format!("{named} by {by:?}"),
                count => format!("{named} by {count}"),
            }
        });
        told.collect::<Vec<_>>().join(", ")
    }

    /// Waits until one of `who` holds tenure with a fence above `above`.
    pub(crate) fn held(&mut self, who: &[usize], above: u64, patience: Duration) -> Result<Held> {
        let until = Instant::now() + patience;
        loop {
            let held = who.iter().filter_map(|&by| self.holds(by));
            if let Some(held) = held.filter(|it| it.fence > above).max_by_key(|it| it.fence) {
                return Ok(held);
            }
            let left = until.saturating_duration_since(Instant::now());
            let said = self.heard.recv_timeout(left);
            let said = said.map_err(|_| {
                format!("none of {who:?} got tenure above fence {above} within {patience:?}")
            })?;
            self.note(&said);
        }
    }

    /// What agent `by` says that it holds itself.
    fn holds(&self, by: usize) -> Option<Held> {
        let word = self.words(by).last()?;
        let fence = word.fence.filter(|_| word.leader == Some(by))?;
        let since_ns = word.at_ns;
        Some(Held {
            by,
            fence,
            since_ns,
        })
    }

    fn agreed(&self, who: &[usize], leaders: &[usize]) -> Option<(usize, u64)> {
        let named = who.iter().map(|&index| {
            let word = self.agents[index].as_ref()?.words.last()?;
            Some((word.leader?, word.at_ns))
        });
        let named: Option<Vec<(usize, u64)>> = named.collect();
        let named = named?;
        let (leader, _) = *named.first()?;
        let last = named.iter().map(|(_, since)| *since).max()?;
        let agree = named.iter().all(|(name, _)| *name == leader);
        (agree && leaders.contains(&leader)).then_some((leader, last))
    }

    /// Listens for `span`, whatever happens.
    pub(crate) fn listen_for(&mut self, span: Duration) {
        let until = Instant::now() + span;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.heard.recv_timeout(left) {
                Ok(said) => self.note(&said),
                Err(_) => return,
            }
        }
    }

    /// Listens until all have settled, and on to any moment between two announcements, or renewals.
    pub(crate) fn settle(&mut self) {
        let pause = 400 + now_ns() / 1_000 % 100;
        self.listen_for(Duration::from_millis(pause));
    }

    /// Whom agent `index` names.
    pub(crate) fn leader_of(&self, index: usize) -> Option<usize> {
        self.words(index).last()?.leader
    }

    /// Whom agent `index` has named since it was started, oldest first.
    pub(crate) fn words(&self, index: usize) -> &[Word] {
        self.agents[index].as_ref().map_or(&[], |it| &it.words)
    }

    /// How many words agents `who` have said, all together.
    pub(crate) fn said(&self, who: &[usize]) -> usize {
        who.iter().map(|&index| self.words(index).len()).sum()
    }

    /// Makes sure that nobody has said anything since all had said `before` words; else tells who said what.
    pub(crate) fn require_unmoved(&self, before: usize) -> Result<()> {
        let everyone = self.everyone();
        if self.said(&everyone) == before {
            return Ok(());
        }
        let firsts = everyone
            .iter()
            .filter_map(|&index| self.words(index).first());
        let begin = firsts.map(|word| word.at_ns).min().unwrap_or(0);
        let told = |word: &Word| {
            let leader = word.leader.map_or("nobody".to_owned(), |it| it.to_string());
            format!("{leader} at {:.1} ms", milliseconds(begin, word.at_ns))
        };
        let stories = everyone.iter().map(|&index| {
            let words: Vec<String> = self.words(index).iter().map(told).collect();
            format!("{index} named {}", words.join(", "))
        });
        let stories: Vec<String> = stories.collect();
        Err(format!("somebody changed its mind: {}", stories.join("; ")).into())
    }

    /// When the last of all agents came up.
    pub(crate) fn up_ns(&self) -> Option<u64> {
        let ups = self.agents.iter().flatten().map(|agent| agent.up_ns);
        ups.max().flatten()
    }

    fn note(&mut self, said: &Said) {
        let Some(agent) = &mut self.agents[said.index] else {
            return;
        };
        if agent.process.id() != said.pid {
            return; // the last words of the one before
        }
        let Some(at) = said.line["time_ns"].as_u64() else {
            return;
        };
        if said.line["up"] == true {
            agent.up_ns = Some(at);
            return;
        }
        agent.words.push(Word {
            at_ns: at,
            leader: said.line["leader"].as_str().and_then(index_of),
            fence: said.line["fence"].as_u64(),
        });
    }
}

impl Drop for Members<'_> {
    fn drop(&mut self) {
        // All at once, so that none sees another one die. Those that have ended need not be killed.
        for agent in self.agents.iter_mut().flatten() {
            let _ = agent.process.kill();
        }
        for agent in self.agents.iter_mut().flatten() {
            let _ = agent.process.wait();
        }
    }
}

impl Directory {
    fn new(what: &str) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("hustings-{what}-{}", now_ns()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    fn of(&self, index: usize) -> PathBuf {
        self.0.join(name(index))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if std::env::var("X_KEEP").is_err() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

fn http(port: u16) -> String {
    format!("127.0.0.1:{}", port + 80)
}

fn index_of(name: &str) -> Option<usize> {
    name.strip_prefix('h')?.parse().ok()
}

fn listen(index: usize, pid: u32, output: ChildStdout, voice: &Sender<Said>) {
    for line in BufReader::new(output).lines() {
        let Ok(line) = line else { return };
        if let Ok(line) = serde_json::from_str(&line)
            && voice.send(Said { index, pid, line }).is_err()
        {
            return; // the trial is over
        }
    }
}
