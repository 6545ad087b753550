//! A real server that tests kill, pause and restart.

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::observe::{children, is_running};

/// A server, its command line for a restart, and its log file.
#[derive(Debug)]
pub struct Server {
    command: Vec<String>,
    log: PathBuf,
    child: Child,
}

impl Server {
    /// Starts a server. Its output is appended to `log`.
    pub fn start(command: Vec<String>, log: PathBuf) -> Self {
        let child = spawn(&command, &log);
        Self { command, log, child }
    }

    /// Describes the state of a server that does not answer: its status and the end of its log.
    pub fn account(&mut self) -> String {
        let state = match self.child.try_wait() {
            Ok(None) => "it runs".to_owned(),
            ended => format!("it has ended: {ended:?}"),
        };
        let said = fs::read_to_string(&self.log).unwrap_or_default();
        let last = said.lines().rev().take(30).collect::<Vec<_>>();
        let last: Vec<&str> = last.into_iter().rev().collect();
        format!("{}\n{state}, and said last:\n{}", self.command.join(" "), last.join("\n"))
    }

    /// Kills the server without warning, like a crash. All that was written stays.
    pub fn kill(&mut self) {
        // Stopped first, so that it starts no process meanwhile that would survive.
        let server = self.pid();
        send(server, Signal::STOP);
        let children = children(server);
        self.signal(Signal::KILL);
        self.child.wait().expect("it is our child");
        // Resources that they share would keep the next server from starting.
        while children.iter().any(|child| is_running(*child)) {
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Starts the server again after it was killed.
    pub fn restart(&mut self) {
        self.child = spawn(&self.command, &self.log);
    }

    /// Stops the server (STOP): it exists, but does nothing.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Continues the server (CONT).
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Signals the server and all its children, which may be in other process groups.
    fn signal(&self, signal: Signal) {
        let server = self.pid();
        for process in children(server).into_iter().chain([server]) {
            send(process, signal);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A server that has ended must not be signalled: its process id may belong to another
        // process.
        if matches!(self.child.try_wait(), Ok(None)) {
            self.kill();
        }
    }
}

fn send(process: Pid, signal: Signal) {
    // The process may have ended by itself.
    let _ = kill_process(process, signal);
}

fn spawn(command: &[String], log: &Path) -> Child {
    let log = File::options().create(true).append(true).open(log);
    let log = log.expect("the log can be written");
    // The server dies with this process, for whatever reason that ends.
    Command::new("setpriv")
        .args(["--pdeathsig", "KILL"])
        .args(command)
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("files can be opened twice"))
        .stderr(log)
        .spawn()
        .expect("setpriv starts: apt-get install util-linux")
}

/// Returns the path of a program, from `PATH` or one of the other directories. The error names the
/// `package` that contains it.
pub fn find_program(name: &str, package: &str, elsewhere: Vec<PathBuf>) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain(elsewhere);
    let found = places.map(|place| place.join(name)).find(|it| it.exists());
    found.unwrap_or_else(|| panic!("{name} is missing: apt-get install {package}"))
}

/// Returns a free port for a server that is about to start.
///
/// A connection to the port that has just ended keeps it in TIME_WAIT for a minute. So the system
/// does not give it to a process that asks for any port, such as a parallel test. A server that
/// asks for this number still gets it.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
    let address = listener.local_addr().expect("it is bound");
    let caller = TcpStream::connect(address).expect("it listens");
    let (callee, _) = listener.accept().expect("somebody calls");
    // The side that closes first keeps the connection in TIME_WAIT.
    drop(callee);
    drop(caller);
    address.port()
}

/// Returns the command prefix for a server that refuses to run as root: as user 65534, which
/// then owns `home`. Empty if this process is not root.
pub fn as_nobody(home: &Path) -> Vec<String> {
    const NOBODY: u32 = 65_534;
    if !geteuid().is_root() {
        return Vec::new();
    }
    std::os::unix::fs::chown(home, Some(NOBODY), Some(NOBODY)).expect("root may");
    let setpriv =
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--pdeathsig", "KILL"];
    setpriv.map(str::to_owned).to_vec()
}

#[cfg(test)]
mod tests {
    use super::{Server, free_port};
    use crate::Scratch;
    use crate::observe::{assert_gone, children, eventually, is_running};
    use std::fs;
    use std::net::TcpListener;

    #[test]
    fn server_is_killed_with_its_children_and_restarted() {
        let home = Scratch::new("testkit-server");
        let log = home.join("log");
        let script = "echo begun; sleep 1000 & wait";
        let command = ["sh", "-c", script].map(str::to_owned).to_vec();
        let mut server = Server::start(command, log.clone());
        let child = eventually(|| children(server.pid()).first().copied());
        assert!(is_running(child));
        server.kill();
        assert_gone(&[child]);
        assert!(server.account().contains("it has ended"));
        server.restart();
        eventually(|| (fs::read_to_string(&log).ok()?.lines().count() == 2).then_some(()));
        assert!(server.account().ends_with("it runs, and said last:\nbegun\nbegun"));
    }

    #[test]
    fn free_port_can_be_bound_by_its_number() {
        let port = free_port();
        TcpListener::bind(("127.0.0.1", port)).expect("it is free");
    }
}
