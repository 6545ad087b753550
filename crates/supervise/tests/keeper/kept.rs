//! A program with a death witness.

use std::io::Write;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use hustings_testkit::Process;
use rustix::process::{Pid, Signal, kill_process};

use crate::processes::{PATIENCE, TREE, Voter, eventually, example, pid};

/// A running program. It is killed when dropped.
pub(crate) struct Kept {
    /// The process that was started: the death witness.
    process: Process,
    pub(crate) worker: Pid,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

impl Kept {
    /// Starts a program that deposits its last will by this call.
    pub(crate) fn start(how: &str) -> Self {
        // The program ignores no signals, even if the tests were started to ignore some.
        let mut line = Command::new("env");
        line.arg("--default-signal").arg(example("kept"));
        Self::start_by(line, how)
    }

    /// Starts a program by a given command line.
    pub(crate) fn start_by(mut line: Command, how: &str) -> Self {
        line.arg(how).env("TREE", TREE);
        line.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = Process::spawn(&mut line).expect("the program starts");
        let stdin = process.stdin.take().expect("it is piped");
        let lines = process.lines().expect("it is piped");
        let mut kept = Self { worker: process.pid(), process, stdin, lines };
        assert_eq!(kept.line(), "up");
        kept.worker = pid(&kept.line());
        assert_eq!(pid(&kept.line()), kept.death_witness());
        kept
    }

    pub(crate) fn death_witness(&self) -> Pid {
        self.process.pid()
    }

    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").expect("the program reads");
    }

    /// The next line on standard output.
    #[track_caller]
    pub(crate) fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("another line")
    }

    /// True if standard output ends within this time.
    pub(crate) fn is_closed(&self, within: Duration) -> bool {
        self.lines.recv_timeout(within) == Err(RecvTimeoutError::Disconnected)
    }

    /// The next lines on standard output, as process ids.
    pub(crate) fn pids<const N: usize>(&self) -> [Pid; N] {
        std::array::from_fn(|_| pid(&self.line()))
    }

    /// Makes the program deposit a last will.
    pub(crate) fn deposit(&mut self, voter: &Voter, words: &str) {
        self.tell(&format!("words {} {words}", voter.address()));
        assert_eq!(self.line(), "entrusted");
    }

    /// Makes the program withdraw its last will.
    pub(crate) fn take_back(&mut self) {
        self.tell("words");
        assert_eq!(self.line(), "entrusted");
    }

    /// Waits for the end of the death witness, and returns its exit code.
    pub(crate) fn code(&mut self) -> Option<i32> {
        let status = eventually(|| self.process.try_wait().expect("it is our child"));
        status.code()
    }
}

#[track_caller]
pub(crate) fn kill(pid: Pid, signal: Signal) {
    kill_process(pid, signal).expect("it lives");
}
