//! A program with a keeper.

use std::io::Write;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::processes::{PATIENCE, TREE, Voter, eventually, example, lines_of, pid};

/// A running program. It is killed when dropped.
pub(crate) struct Kept {
    /// The process that was started: the keeper.
    process: Child,
    pub(crate) worker: Pid,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

impl Kept {
    /// A program that tells its keeper by the call of this name.
    pub(crate) fn start(how: &str) -> Self {
        // It ignores no signals, even if the tests were started to ignore some.
        let mut line = Command::new("env");
        line.arg("--default-signal").arg(example("kept"));
        Self::start_by(line, how)
    }

    /// A program that is started by a certain command line.
    pub(crate) fn start_by(mut line: Command, how: &str) -> Self {
        let mut process = line
            .arg(how)
            .env("TREE", TREE)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let stdin = process.stdin.take().expect("it is piped");
        let lines = lines_of(process.stdout.take().expect("it is piped"));
        let mut kept = Self {
            worker: Pid::from_child(&process),
            process,
            stdin,
            lines,
        };
        assert_eq!(kept.line(), "up");
        kept.worker = pid(&kept.line());
        assert_eq!(pid(&kept.line()), kept.keeper());
        kept
    }

    pub(crate) fn keeper(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").expect("the program reads");
    }

    /// The next line on standard output.
    #[track_caller]
    pub(crate) fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("another line")
    }

    /// Standard output has ended.
    pub(crate) fn is_closed(&self, within: Duration) -> bool {
        self.lines.recv_timeout(within) == Err(RecvTimeoutError::Disconnected)
    }

    /// The next lines on standard output, as process ids.
    pub(crate) fn pids<const N: usize>(&self) -> [Pid; N] {
        std::array::from_fn(|_| pid(&self.line()))
    }

    /// Has it entrust its keeper with these words.
    pub(crate) fn entrust(&mut self, voter: &Voter, words: &str) {
        self.tell(&format!("words {} {words}", voter.address()));
        assert_eq!(self.line(), "entrusted");
    }

    /// Has it take its words back.
    pub(crate) fn take_back(&mut self) {
        self.tell("words");
        assert_eq!(self.line(), "entrusted");
    }

    /// Waits for the keeper's end: its exit code.
    pub(crate) fn code(&mut self) -> Option<i32> {
        let status = eventually(|| self.process.try_wait().expect("it is our child"));
        status.code()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // What has ended already is what the test wanted.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[track_caller]
pub(crate) fn kill(pid: Pid, signal: Signal) {
    kill_process(pid, signal).expect("it lives");
}
