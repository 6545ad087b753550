//! Programs that run beside the test: their lines are waited for, never slept for.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Whatever has not happened by then will not.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// A group that no other test, and no other run of this one, is a member of.
pub(crate) fn group(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}

/// The program with these arguments, and nothing from the environment.
pub(crate) fn command(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hustings"));
    command.args(arguments.split_whitespace());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("HUSTINGS_") {
            command.env_remove(name);
        }
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// What the program did.
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) printed: String,
    pub(crate) said: String,
}

/// Runs the program to its end.
pub(crate) fn hustings(arguments: &str) -> Outcome {
    finish(&mut command(arguments))
}

pub(crate) fn finish(command: &mut Command) -> Outcome {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("the program prints UTF-8");
    Outcome {
        code: status.code(),
        printed: text(stdout),
        said: text(stderr),
    }
}

impl Outcome {
    /// What it printed, if all went well.
    #[track_caller]
    pub(crate) fn text(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.said);
        self.printed
    }

    #[track_caller]
    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.text()).expect("the program prints JSON")
    }
}

/// A program that runs until it is stopped; killed when the test ends, however it ends.
pub(crate) struct Program {
    process: Child,
    output: Option<Receiver<String>>,
    said: Receiver<String>,
    /// The first line of an agent.
    up: Value,
    /// The lines that were read so far.
    read: Vec<String>,
}

impl Program {
    pub(crate) fn start(arguments: &str) -> Self {
        Self::start_by(&mut command(arguments))
    }

    /// With one more argument, spaces included.
    pub(crate) fn start_with(arguments: &str, last: &str) -> Self {
        Self::start_by(command(arguments).arg(last))
    }

    pub(crate) fn start_by(command: &mut Command) -> Self {
        let mut process = command.spawn().expect("the program starts");
        let output = lines(process.stdout.take().expect("stdout is piped"));
        let said = lines(process.stderr.take().expect("stderr is piped"));
        Self {
            process,
            output: Some(output),
            said,
            up: Value::Null,
            read: Vec::new(),
        }
    }

    /// A program whose output nobody reads.
    pub(crate) fn unread(arguments: &str) -> Self {
        let mut process = command(arguments).spawn().expect("the program starts");
        drop(process.stdout.take());
        let said = lines(process.stderr.take().expect("stderr is piped"));
        Self {
            process,
            output: None,
            said,
            up: Value::Null,
            read: Vec::new(),
        }
    }

    /// A member that stays on this host. Alpha is better than all others.
    #[track_caller]
    pub(crate) fn agent(group: &str, name: &str, http: &str) -> Self {
        let priority = u8::from(name == "alpha");
        Self::member(&format!(
            "--group {group} --name {name} --priority {priority} --bind 127.0.0.1:0 --http {http}"
        ))
    }

    /// A member with these options, which is up.
    #[track_caller]
    pub(crate) fn member(options: &str) -> Self {
        Self::up_by(&mut command(&format!("agent --events {options}")))
    }

    /// The agent that this command starts, which is up.
    #[track_caller]
    pub(crate) fn up_by(command: &mut Command) -> Self {
        let mut agent = Self::start_by(command);
        agent.up = agent.until("up", |line| line["up"] == true);
        agent
    }

    /// Where an agent receives.
    pub(crate) fn address(&self) -> String {
        let address = self.up["address"].as_str();
        address.expect("it is up").to_owned()
    }

    /// Where an agent listens for HTTP.
    pub(crate) fn http(&self) -> String {
        self.up["http"]
            .as_str()
            .expect("it listens for HTTP")
            .to_owned()
    }

    /// Where an agent's metrics can be read.
    pub(crate) fn metrics(&self) -> String {
        let metrics = self.up["metrics"].as_str();
        metrics.expect("they can be read").to_owned()
    }

    /// Waits for a line of JSON.
    #[track_caller]
    pub(crate) fn until(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.next_line(what);
            let line = object(&line);
            if is_it(&line) {
                return line;
            }
        }
    }

    /// Waits for a line of text.
    #[track_caller]
    pub(crate) fn until_printed(&mut self, expected: &str) {
        while self.next_line(expected) != expected {}
    }

    #[track_caller]
    pub(crate) fn next_line(&mut self, what: &str) -> String {
        let output = self.output.as_ref().expect("not closed");
        let line = output.recv_timeout(DEADLINE).unwrap_or_else(|error| {
            let said: Vec<String> = self.said.try_iter().collect();
            panic!("waiting for {what}: {error}; it said:\n{}", said.join("\n"))
        });
        self.read.push(line.clone());
        line
    }

    /// Waits for a line of JSON, unless the last one is it already.
    #[track_caller]
    pub(crate) fn reaches(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) {
        let last = self.read.last().map(|line| object(line));
        if !last.is_some_and(|line| is_it(&line)) {
            self.until(what, is_it);
        }
    }

    /// All lines of JSON that it printed until it ended.
    #[track_caller]
    pub(crate) fn printed(&mut self) -> Vec<Value> {
        let rest = self.output.as_ref().expect("not closed").iter();
        self.read.extend(rest);
        self.read.iter().map(|line| object(line)).collect()
    }

    /// What it has said on standard error and nobody has waited for.
    pub(crate) fn has_said(&self) -> Vec<String> {
        self.said.try_iter().collect()
    }

    /// Waits for a line on standard error.
    #[track_caller]
    pub(crate) fn until_said(&mut self, expected: &str) {
        let wait = || self.said.recv_timeout(DEADLINE).expect(expected);
        while wait() != expected {}
    }

    /// Waits for a line on standard error that contains this.
    #[track_caller]
    pub(crate) fn until_said_containing(&mut self, expected: &str) -> String {
        let mut said = Vec::new();
        loop {
            let line = self.said.recv_timeout(DEADLINE);
            let line = line.unwrap_or_else(|error| {
                panic!(
                    "waiting for {expected}: {error}; it said:\n{}",
                    said.join("\n")
                )
            });
            if line.contains(expected) {
                return line;
            }
            said.push(line);
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    /// It prints nothing for so long.
    #[track_caller]
    pub(crate) fn is_silent(&self, span: Duration) {
        let output = self.output.as_ref().expect("not closed");
        let line = output.recv_timeout(span);
        assert_eq!(line, Err(RecvTimeoutError::Timeout));
    }

    /// Stops it (STOP): it is there, and does nothing.
    pub(crate) fn pause(&self) {
        kill_process(self.pid(), Signal::STOP).expect("it runs");
    }

    /// Lets it go on (CONT).
    pub(crate) fn resume(&self) {
        kill_process(self.pid(), Signal::CONT).expect("it runs");
    }

    /// Kills it, without a word.
    pub(crate) fn kill(&mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it ends");
    }

    /// Asks it to end: with which code does it?
    pub(crate) fn stop(&mut self) -> Option<i32> {
        kill_process(self.pid(), Signal::TERM).expect("it runs");
        self.ended()
    }

    /// Waits until it ends: with which code does it?
    #[track_caller]
    pub(crate) fn ended(&mut self) -> Option<i32> {
        self.ended_saying().0
    }

    /// Waits until it ends: with which code does it, and what has it said that nobody has waited for?
    #[track_caller]
    pub(crate) fn ended_saying(&mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        loop {
            match self.said.recv_timeout(DEADLINE) {
                Ok(line) => said += &format!("{line}\n"),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it does not end"),
            }
        }
        (self.process.wait().expect("it ends").code(), said)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[track_caller]
fn object(line: &str) -> Value {
    serde_json::from_str(line).expect("a line is a JSON object")
}

/// The lines of a stream, as they come.
fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (line, lines) = mpsc::channel();
    thread::spawn(move || {
        for read in BufReader::new(stream).lines().map_while(Result::ok) {
            if line.send(read).is_err() {
                return;
            }
        }
    });
    lines
}
