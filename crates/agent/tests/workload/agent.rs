//! An agent as a process of its own, and looking at processes from outside.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, Signal, kill_process};

/// A span that no test sees the end of.
pub(crate) const LONG: Duration = Duration::from_secs(3600);
/// A span to be waited for.
pub(crate) const SHORT: Duration = Duration::from_millis(100);
/// Whoever waits longer waits in vain.
const PATIENCE: Duration = Duration::from_secs(30);

/// Starts a child and a grandchild in another session whose parent has ended, prints the three process ids, and
/// waits. (Scripts that set a trap start their children before: a shell's fork may swallow a signal while it
/// still has the trap.)
pub(crate) const TREE: &str = r#"
    sh -c 'echo $$; exec sleep 1000' &
    setsid sh -c '(sh -c "echo \$\$; exec sleep 1000" &)' &
    echo $$
    while :; do wait; sleep 1000; done
"#;

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
        Self::run(line, at_end, Duration::ZERO, grace, command)
    }

    /// An agent that leads, and whose command is a shell script that starts when that has lasted for `settle`.
    pub(crate) fn settling(at_end: &str, settle: Duration, script: &str) -> Self {
        let mut agent = Self::run(
            line(&program()),
            at_end,
            settle,
            LONG,
            &["sh", "-c", script],
        );
        agent.tell("lead");
        agent
    }

    fn run(
        mut line: Command,
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
            .args([&name, at_end])
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

/// The agent's executable: an example, which cargo builds beside the tests, but not if asked for one test alone.
pub(crate) fn program() -> PathBuf {
    let test = std::env::current_exe().expect("a test is a file");
    let profile = test.parent().and_then(Path::parent);
    let profile = profile.expect("tests lie in a directory of the profile's");
    let program = profile.join("examples/supervised");

    let remedy = "build it: cargo build -p hustings-agent --examples";
    let built = modified(&program).expect(remedy);
    let sources = fs::read_to_string(program.with_extension("d")).expect(remedy);
    for source in sources
        .split_whitespace()
        .filter(|path| path.contains("workload"))
    {
        let is_newer = modified(Path::new(source)).is_ok_and(|time| time > built);
        assert!(!is_newer, "{source} is newer than {program:?}: {remedy}");
    }
    program
}

fn modified(path: &Path) -> io::Result<SystemTime> {
    fs::metadata(path)?.modified()
}

/// A path in an empty directory of a test's own.
pub(crate) fn scratch(test: &str) -> PathBuf {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("workload-{test}"));
    // There is nothing to remove the first time.
    let _ = fs::remove_dir_all(&home);
    fs::create_dir_all(&home).expect("directories can be made");
    home.join(test)
}

fn lines_of(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

fn pid(text: &str) -> Pid {
    let number = text.parse().ok().and_then(Pid::from_raw);
    number.unwrap_or_else(|| panic!("not a process id: {text}"))
}

/// Whether a process lives. One that has ended but whose parent has not asked yet does not.
pub(crate) fn lives(pid: Pid) -> bool {
    state(pid).is_some_and(|state| state != "Z" && state != "X")
}

/// The letter that `ps` has for a process's state, if there is such a process.
pub(crate) fn state(pid: Pid) -> Option<String> {
    Some(stat(pid)?.swap_remove(0))
}

/// The parent of a living process.
pub(crate) fn parent(process: Pid) -> Pid {
    pid(&stat(process).expect("the process lives")[1])
}

/// What follows the name in `/proc/PID/stat`.
fn stat(pid: Pid) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

/// Waits until none of these processes lives.
#[track_caller]
pub(crate) fn assert_gone(pids: &[Pid]) {
    eventually(|| (!pids.iter().any(|pid| lives(*pid))).then_some(()));
}

/// Waits until something is there.
#[track_caller]
pub(crate) fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited {PATIENCE:?} in vain");
        std::thread::sleep(Duration::from_millis(2));
    }
}
