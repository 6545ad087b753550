//! An agent as a separate process.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use hustings_protocol::{Duration as Span, Instant};
use hustings_system::clock;
use hustings_testkit::{Process, line_reader};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Pid, Signal, kill_process};

use crate::processes::{PATIENCE, SHORT, Voter, eventually, example, pid, state};

/// A time longer than any test.
pub(crate) const LONG: Duration = Duration::from_secs(3600);

/// A running agent. It is killed when dropped.
pub(crate) struct Agent {
    process: Process,
    socket: BufReader<UnixStream>,
    lines: Receiver<String>,
    complaints: Receiver<String>,
    pub(crate) stdin: Option<ChildStdin>,
}

impl Agent {
    /// Starts an agent that does not lead yet.
    pub(crate) fn start(at_end: &str, grace: Duration, command: &[&str]) -> Self {
        Self::start_by(line(&program()), at_end, grace, command)
    }

    /// Starts an agent whose command is a shell script.
    pub(crate) fn script(at_end: &str, grace: Duration, script: &str) -> Self {
        Self::start(at_end, grace, &["sh", "-c", script])
    }

    /// Starts an agent by a given command line.
    pub(crate) fn start_by(line: Command, at_end: &str, grace: Duration, command: &[&str]) -> Self {
        Self::run(line, "advisory", at_end, Duration::ZERO, grace, command)
    }

    /// Starts an agent that leads. Its command is a shell script that starts when leadership has
    /// lasted for `settle`.
    pub(crate) fn settling(at_end: &str, settle: Duration, script: &str) -> Self {
        let mut agent =
            Self::run(line(&program()), "advisory", at_end, settle, LONG, &["sh", "-c", script]);
        agent.tell("lead");
        agent
    }

    /// Starts an agent that leads, logs to standard error, and adopts what both watchers of its
    /// command leave behind. A fenced one holds tenure with fence 7 for `ttl`.
    pub(crate) fn watched(at_end: &str, is_fenced: bool, ttl: Duration, script: &str) -> Self {
        let mut line = line(&program());
        line.env("SUPERVISED_LOGS", "1").env("SUPERVISED_ADOPTS", "1");
        let mode = if is_fenced { "fenced" } else { "advisory" };
        let command = ["sh", "-c", script];
        let mut agent = Self::run(line, mode, at_end, Duration::ZERO, SHORT, &command);
        agent.hold(7, ttl);
        agent.tell("lead 7");
        agent
    }

    /// Starts an agent whose command is a shell script that runs only while tenure is held.
    pub(crate) fn fenced(at_end: &str, grace: Duration, script: &str) -> Self {
        let command = ["sh", "-c", script];
        Self::run(line(&program()), "fenced", at_end, Duration::ZERO, grace, &command)
    }

    /// Starts an agent that leads, and holds tenure with fence 7 for longer than any test lasts.
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

        line.args([&name, mode, at_end])
            .args([settle, grace].map(|span| span.as_millis().to_string()))
            .args(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = Process::spawn(&mut line).expect("the agent starts");
        listener.set_nonblocking(true).expect("sockets can be");
        let (socket, _) = eventually(|| listener.accept().ok());
        socket.set_read_timeout(Some(PATIENCE)).expect("not zero, so allowed");
        let lines = process.lines().expect("it is piped");
        let complaints = process.stderr.take().expect("it is piped");
        let mut agent = Self {
            socket: BufReader::new(socket),
            lines,
            complaints: line_reader::read(complaints),
            stdin: process.stdin.take(),
            process,
        };
        assert_eq!(agent.answer(), "ready");
        agent
    }

    /// Starts an agent that leads.
    pub(crate) fn leading(at_end: &str, grace: Duration, script: &str) -> Self {
        let mut agent = Self::script(at_end, grace, script);
        agent.tell("lead");
        agent
    }

    /// Sends a line to the agent, such as a change of leadership.
    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.socket.get_mut(), "{line}").expect("the agent lives");
    }

    /// Gives the agent tenure with this fence for `span`. Returns the end of the tenure.
    pub(crate) fn hold(&mut self, fence: u64, span: Duration) -> Instant {
        let span = Span::from_secs_f64(span.as_secs_f64());
        let until = clock::now() + span;
        self.tell(&format!("hold {fence} {}", until.0));
        until
    }

    /// Renews the agent's tenure, if the agent has not ended. Returns the end of the tenure.
    pub(crate) fn renew(&mut self, fence: u64, span: Duration) -> Option<Instant> {
        let until = clock::now() + Span::from_secs_f64(span.as_secs_f64());
        let told = writeln!(self.socket.get_mut(), "hold {fence} {}", until.0);
        told.is_ok().then_some(until)
    }

    /// The complete standard error up to now.
    pub(crate) fn complaints(&self) -> Vec<String> {
        self.complaints.try_iter().collect()
    }

    /// Waits until the agent has logged that its command has started.
    pub(crate) fn logs_the_start(&self) {
        let mut lines = std::iter::repeat_with(|| self.complaints.recv_timeout(PATIENCE));
        let is_it = |line: String| line.contains("the command has started");
        assert!(lines.any(|line| is_it(line.expect("it starts its command"))));
    }

    /// Sets the last will of the agent, for this voter.
    pub(crate) fn deposit(&mut self, voter: &Voter, words: &str) {
        self.tell(&format!("words {} {words}", voter.address()));
    }

    /// Closes the source of leadership.
    pub(crate) fn tell_no_more(&mut self) {
        let socket = self.socket.get_mut();
        socket.shutdown(std::net::Shutdown::Write).expect("it is open");
    }

    /// The next answer of the agent.
    pub(crate) fn answer(&mut self) -> String {
        let mut line = String::new();
        self.socket.read_line(&mut line).expect("the agent answers");
        line.trim().to_owned()
    }

    /// Makes the agent drop its supervision, and waits until it has.
    pub(crate) fn drop_supervision(&mut self) {
        self.tell("drop");
        assert_eq!(self.answer(), "dropped");
    }

    /// Asserts that the agent sends no answer within this time.
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

    /// Asserts that no line arrives on standard output within this time.
    pub(crate) fn is_silent(&self, span: Duration) {
        let line = self.lines.recv_timeout(span);
        assert_eq!(line, Err(RecvTimeoutError::Timeout));
    }

    /// The next lines on standard output, as process ids.
    pub(crate) fn pids<const N: usize>(&self) -> [Pid; N] {
        std::array::from_fn(|_| pid(&self.line()))
    }

    pub(crate) fn pid(&self) -> Pid {
        self.process.pid()
    }

    pub(crate) fn send(&self, signal: Signal) {
        self.process.signal(signal).expect("the agent lives");
    }

    /// Waits for the end of the agent. Returns its exit code and the complete standard error.
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

    /// Waits for the end of the agent, and returns its exit code.
    pub(crate) fn code(self) -> Option<i32> {
        self.end().0
    }
}

/// The command line of an executable. It ignores no signals, even if the tests were started to
/// ignore some.
pub(crate) fn line(program: &Path) -> Command {
    let mut line = Command::new("env");
    line.arg("--default-signal").arg(program);
    line
}

/// Stops a process (STOP).
pub(crate) fn stop(pid: Pid) {
    kill_process(pid, Signal::STOP).expect("it lives");
    eventually(|| (state(pid)? == "T").then_some(()));
}

/// Passes standard input and the pidfd to a stage, as an agent does.
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

/// A path in an empty directory for one test.
pub(crate) fn scratch(test: &str) -> PathBuf {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("workload-{test}"));
    // There is nothing to remove the first time.
    let _ = fs::remove_dir_all(&home);
    fs::create_dir_all(&home).expect("directories can be made");
    home.join(test)
}
