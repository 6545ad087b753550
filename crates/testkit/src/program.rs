//! A `hustings` process beside the test. The test waits for its lines and does not sleep.

use std::process::Command;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::Value;

use crate::{DEADLINE, Process, line_reader};

/// A program that runs until it is stopped. It is killed when the test ends, for whatever reason.
#[derive(Debug)]
pub struct Program {
    process: Process,
    /// Without lines if standard output is closed.
    output: Receiver<String>,
    said: Receiver<String>,
    /// The first line of an agent.
    up: Value,
    /// The lines that were read up to now.
    read: Vec<String>,
}

impl Program {
    /// Starts a program by a [`command`](crate::command).
    #[track_caller]
    pub fn start(command: &mut Command) -> Self {
        let mut program = Self::unread(command);
        program.output = program.process.lines().expect("stdout is piped");
        program
    }

    /// Starts a program, and reads only its standard error, if that is piped.
    #[track_caller]
    fn unread(command: &mut Command) -> Self {
        let mut process = Process::spawn(command).expect("the program starts");
        let said = process.stderr.take();
        let said = said.map_or_else(|| mpsc::channel().1, line_reader::read);
        let output = mpsc::channel().1;
        Self { process, output, said, up: Value::Null, read: Vec::new() }
    }

    /// Starts a program whose standard output is closed.
    #[track_caller]
    pub fn closed(command: &mut Command) -> Self {
        let mut program = Self::unread(command);
        drop(program.process.stdout.take());
        program
    }

    /// Starts an agent with `--events`, and waits until it is up.
    #[track_caller]
    pub fn up(command: &mut Command) -> Self {
        let mut agent = Self::start(command);
        agent.up = agent.until("up", |line| line["up"] == true);
        agent
    }

    /// The address on which an agent receives datagrams.
    pub fn address(&self) -> String {
        self.up["address"].as_str().expect("it is up").to_owned()
    }

    /// The address on which an agent serves HTTP.
    pub fn http(&self) -> String {
        self.up["http"].as_str().expect("it listens for HTTP").to_owned()
    }

    /// The address of an agent's metrics.
    pub fn metrics(&self) -> String {
        self.up["metrics"].as_str().expect("they can be read").to_owned()
    }

    /// Waits for a JSON line for which `is_it` returns true.
    #[track_caller]
    pub fn until(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = object(&self.next_line(what));
            if is_it(&line) {
                return line;
            }
        }
    }

    /// Waits for a line of text.
    #[track_caller]
    pub fn until_printed(&mut self, expected: &str) {
        while self.next_line(expected) != expected {}
    }

    /// Waits for the next line.
    #[track_caller]
    pub fn next_line(&mut self, what: &str) -> String {
        let line = self.output.recv_timeout(DEADLINE).unwrap_or_else(|error| {
            let said: Vec<String> = self.said.try_iter().collect();
            panic!("waiting for {what}: {error}; it said:\n{}", said.join("\n"))
        });
        self.read.push(line.clone());
        line
    }

    /// Waits for a JSON line, unless the last line already is the expected one.
    #[track_caller]
    pub fn reaches(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) {
        if !self.read.last().is_some_and(|line| is_it(&object(line))) {
            self.until(what, is_it);
        }
    }

    /// Returns all JSON lines that the program has printed by its end.
    #[track_caller]
    pub fn printed(&mut self) -> Vec<Value> {
        self.read.extend(self.output.iter());
        self.read.iter().map(|line| object(line)).collect()
    }

    /// Returns the lines on standard error that no call has waited for.
    pub fn has_said(&self) -> Vec<String> {
        self.said.try_iter().collect()
    }

    /// Waits for a line on standard error.
    #[track_caller]
    pub fn until_said(&mut self, expected: &str) {
        self.until_said_where(expected, |line| line == expected);
    }

    /// Waits for a line on standard error that contains `expected`.
    #[track_caller]
    pub fn until_said_containing(&mut self, expected: &str) -> String {
        self.until_said_where(expected, |line| line.contains(expected))
    }

    #[track_caller]
    fn until_said_where(&self, expected: &str, is_it: impl Fn(&str) -> bool) -> String {
        let mut said = Vec::new();
        loop {
            let line = self.said.recv_timeout(DEADLINE);
            let line = line.unwrap_or_else(|error| {
                panic!("waiting for {expected}: {error}; it said:\n{}", said.join("\n"))
            });
            if is_it(&line) {
                return line;
            }
            said.push(line);
        }
    }

    /// The process id.
    pub fn pid(&self) -> Pid {
        self.process.pid()
    }

    /// Asserts that the program prints nothing for `span`.
    #[track_caller]
    pub fn is_silent(&self, span: Duration) {
        assert_eq!(self.output.recv_timeout(span), Err(RecvTimeoutError::Timeout));
    }

    /// Stops the program (STOP): it exists, but does nothing.
    pub fn pause(&self) {
        self.process.signal(Signal::STOP).expect("it runs");
    }

    /// Continues the program (CONT).
    pub fn resume(&self) {
        self.process.signal(Signal::CONT).expect("it runs");
    }

    /// Kills the program without warning.
    pub fn kill(&mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it ends");
    }

    /// Sends TERM to the program, and returns its exit code.
    pub fn stop(&mut self) -> Option<i32> {
        self.process.signal(Signal::TERM).expect("it runs");
        self.ended()
    }

    /// Waits for the end of the program, and returns its exit code.
    #[track_caller]
    pub fn ended(&mut self) -> Option<i32> {
        self.ended_saying().0
    }

    /// Waits for the end of the program. Returns its exit code, and the lines on standard error
    /// that no call has waited for.
    #[track_caller]
    pub fn ended_saying(&mut self) -> (Option<i32>, String) {
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

#[track_caller]
fn object(line: &str) -> Value {
    serde_json::from_str(line).expect("a line is a JSON object")
}

#[cfg(test)]
mod tests {
    use super::Program;
    use crate::command;
    use std::time::Duration;

    fn shell(script: &str) -> std::process::Command {
        let mut shell = command("/bin/sh", "-c");
        shell.arg(script);
        shell
    }

    #[test]
    fn program_waits_for_lines_and_keeps_them() {
        let script = r#"echo '{"up": true, "address": "here"}'; echo '{"leads": 1}'; echo hm >&2; exec sleep 1000"#;
        let mut agent = Program::up(&mut shell(script));
        assert_eq!(agent.address(), "here");
        agent.reaches("leads", |line| line["leads"] == 1);
        agent.reaches("leads", |line| line["leads"] == 1);
        agent.is_silent(Duration::from_millis(10));
        assert_eq!(agent.until_said_containing("m"), "hm");
        agent.kill();
        assert_eq!(agent.printed().len(), 2);
    }

    #[test]
    fn ended_program_reports_its_code_and_standard_error() {
        let mut program = Program::closed(&mut shell("echo why >&2; exit 3"));
        assert_eq!(program.ended_saying(), (Some(3), "why\n".to_owned()));
    }
}
