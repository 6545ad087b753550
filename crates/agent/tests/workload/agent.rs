//! An agent as a process of its own.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use hustings_agent::clock;
use hustings_protocol::{Duration as Span, Instant};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Pid, Signal, kill_process};

use crate::processes::{PATIENCE, SHORT, Voter, eventually, example, lines_of, pid, state};

/// A span that no test sees the end of.
pub(crate) const LONG: Duration = Duration::from_secs(3600);

/// A running agent. It is killed when dropped.
pub(crate) struct Agent {
    process: Child,
    socket: BufReader<UnixStream>,
    lines: Receiver<String>,
    complaints: Receiver<String>,
    pub(crate) stdin: Option<ChildStdin>,
}

impl Agent {
    /// An agent that does not lead yet.
    pub(crate) fn start(at_end: &str, grace: Duration, command: &[&str]) -> Self {
        Self::start_by(line(&program()), at_end, grace, command)
    }

    /// An agent whose command is a shell script.
    pub(crate) fn script(at_end: &str, grace: Duration, script: &str) -> Self {
        Self::start(at_end, grace, &["sh", "-c", script])
    }

    /// An agent that is started by a certain command line.
    pub(crate) fn start_by(line: Command, at_end: &str, grace: Duration, command: &[&str]) -> Self {
        Self::run(line, "advisory", at_end, Duration::ZERO, grace, command)
    }

    /// An agent that leads, and whose command is a shell script that starts when that has lasted for `settle`.
    pub(crate) fn settling(at_end: &str, settle: Duration, script: &str) -> Self {
        let mut agent = Self::run(
            line(&program()),
            "advisory",
            at_end,
            settle,
            LONG,
            &["sh", "-c", script],
        );
        agent.tell("lead");
        agent
    }

    /// An agent that leads, logs to standard error, and adopts what both watchers of its command leave behind. If it is
    /// fenced it holds tenure with fence 7 for `ttl`.
    pub(crate) fn watched(is_fenced: bool, ttl: Duration, script: &str) -> Self {
        let mut line = line(&program());
        line.env("SUPERVISED_LOGS", "1")
            .env("SUPERVISED_ADOPTS", "1");
        let mode = if is_fenced { "fenced" } else { "advisory" };
        let command = ["sh", "-c", script];
        let mut agent = Self::run(line, mode, "exit", Duration::ZERO, SHORT, &command);
        agent.hold(7, ttl);
        agent.tell("lead 7");
        agent
    }

    /// An agent whose command is a shell script, and runs only while tenure is held.
    pub(crate) fn fenced(at_end: &str, grace: Duration, script: &str) -> Self {
        let command = ["sh", "-c", script];
        Self::run(
            line(&program()),
            "fenced",
            at_end,
            Duration::ZERO,
            grace,
            &command,
        )
    }

    /// An agent that leads, and holds tenure with fence 7 for longer than any test lasts.
    pub(crate) fn holding(at_end: &str, grace: Duration, script: &str) -> Self {
        let mut agent = Self::fenced(at_end, grace, script);
        agent.hold(7, LONG);
        agent.tell("lead 7");
        agent
    }

    fn run(
        mut line: Command,
        mode: &str,
        at_end: &str,
        settle: Duration,
        grace: Duration,
        command: &[&str],
    ) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("hustings-workload-{}-{count}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("the name is short");
        let listener = UnixListener::bind_addr(&address).expect("the name is free");

        let mut process = line
            .args([&name, mode, at_end])
            .args([settle, grace].map(|span| span.as_millis().to_string()))
            .args(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the agent starts");
        listener.set_nonblocking(true).expect("sockets can be");
        let (socket, _) = eventually(|| listener.accept().ok());
        socket
            .set_read_timeout(Some(PATIENCE))
            .expect("not zero, so allowed");
        let output = process.stdout.take().expect("it is piped");
        let complaints = process.stderr.take().expect("it is piped");
        let mut agent = Self {
            socket: BufReader::new(socket),
            lines: lines_of(output),
            complaints: lines_of(complaints),
            stdin: process.stdin.take(),
            process,
        };
        assert_eq!(agent.answer(), "ready");
        agent
    }

    /// An agent that leads.
    pub(crate) fn leading(at_end: &str, grace: Duration, script: &str) -> Self {
        let mut agent = Self::script(at_end, grace, script);
        agent.tell("lead");
        agent
    }

    /// Tells it who leads.
    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.socket.get_mut(), "{line}").expect("the agent lives");
    }

    /// Tells it that it holds tenure with this fence for so long. Returns when that ends.
    pub(crate) fn hold(&mut self, fence: u64, span: Duration) -> Instant {
        let span = Span::from_secs_f64(span.as_secs_f64());
        let until = clock::now() + span;
        self.tell(&format!("hold {fence} {}", until.0));
        until
    }

    /// Tells it that it goes on to hold tenure, if it has not ended. Returns when that ends.
    pub(crate) fn renew(&mut self, fence: u64, span: Duration) -> Option<Instant> {
        let until = clock::now() + Span::from_secs_f64(span.as_secs_f64());
        let told = writeln!(self.socket.get_mut(), "hold {fence} {}", until.0);
        told.is_ok().then_some(until)
    }

    /// All that it has written to standard error so far.
    pub(crate) fn complaints(&self) -> Vec<String> {
        self.complaints.try_iter().collect()
    }

    /// Tells it what is to be sent to this voter when it is dead.
    pub(crate) fn entrust(&mut self, voter: &Voter, words: &str) {
        self.tell(&format!("words {} {words}", voter.address()));
    }

    /// Never again tells it who leads.
    pub(crate) fn tell_no_more(&mut self) {
        let socket = self.socket.get_mut();
        socket
            .shutdown(std::net::Shutdown::Write)
            .expect("it is open");
    }

    /// What it has to say to who tells it who leads.
    pub(crate) fn answer(&mut self) -> String {
        let mut line = String::new();
        self.socket.read_line(&mut line).expect("the agent answers");
        line.trim().to_owned()
    }

    /// Has it drop its supervision. It has, when this returns.
    pub(crate) fn drop_supervision(&mut self) {
        self.tell("drop");
        assert_eq!(self.answer(), "dropped");
    }

    /// It has nothing to say to who tells it who leads, for so long.
    pub(crate) fn answers_nothing(&mut self, span: Duration) {
        self.listen_for(span);
        let mut line = String::new();
        let heard = self.socket.read_line(&mut line).map_err(|it| it.kind());
        assert_eq!(heard, Err(ErrorKind::WouldBlock), "{line}");
        self.listen_for(PATIENCE);
    }

    fn listen_for(&self, span: Duration) {
        let timeout = self.socket.get_ref().set_read_timeout(Some(span));
        timeout.expect("not zero, so allowed");
    }

    /// The next line on standard output.
    pub(crate) fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("another line")
    }

    /// No line on standard output for so long.
    pub(crate) fn is_silent(&self, span: Duration) {
        let line = self.lines.recv_timeout(span);
        assert_eq!(line, Err(RecvTimeoutError::Timeout));
    }

    /// The next lines on standard output, as process ids.
    pub(crate) fn pids<const N: usize>(&self) -> [Pid; N] {
        std::array::from_fn(|_| pid(&self.line()))
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    pub(crate) fn send(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("the agent lives");
    }

    /// Waits for its end: its exit code, and all that it wrote to standard error.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let status = eventually(|| self.process.try_wait().expect("it is our child"));
        let mut text = String::new();
        loop {
            match self.complaints.recv_timeout(PATIENCE) {
                Ok(line) => text += &format!("{line}\n"),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("somebody survives who could complain"),
            }
        }
        (status.code(), text)
    }

    /// Waits for its end: its exit code.
    pub(crate) fn code(self) -> Option<i32> {
        self.end().0
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // An agent that has ended already is what the test wanted.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A command line for an executable. It ignores no signals, even if the tests were started to ignore some.
pub(crate) fn line(program: &Path) -> Command {
    let mut line = Command::new("env");
    line.arg("--default-signal").arg(program);
    line
}

/// Stops a process (STOP): it does nothing more.
pub(crate) fn stop(pid: Pid) {
    kill_process(pid, Signal::STOP).expect("it lives");
    eventually(|| (state(pid)? == "T").then_some(()));
}

/// As an agent hands its standard input to a stage, and the file that tells of its end.
pub(crate) fn hand_over(socket: &UnixStream, files: &[BorrowedFd<'_>]) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(files)));
    let bytes = [IoSlice::new(b"\n")];
    sendmsg(socket, &bytes, &mut ancillary, SendFlags::empty()).expect("it is open");
}

/// The agent's executable.
pub(crate) fn program() -> PathBuf {
    example("supervised")
}

/// A path in an empty directory of a test's own.
pub(crate) fn scratch(test: &str) -> PathBuf {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("workload-{test}"));
    // There is nothing to remove the first time.
    let _ = fs::remove_dir_all(&home);
    fs::create_dir_all(&home).expect("directories can be made");
    home.join(test)
}
