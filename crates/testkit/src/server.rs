//! A real server that tests kill, pause and restart.

use std::fs::{self, File};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::observe::{children, is_running};
use crate::{DEADLINE, Process, TIED, find_program, poll, run};

/// A server, its command line for a restart, and its log file.
#[derive(Debug)]
pub struct Server {
    command: Vec<String>,
    log: PathBuf,
    process: Process,
}

impl Server {
    /// Starts a server. Its output is appended to `log`.
    pub fn start(command: Vec<String>, log: PathBuf) -> Self {
        let process = spawn(&command, &log);
        Self { command, log, process }
    }

    /// Describes the state of a server that does not answer: its status and the end of its log.
    pub fn account(&mut self) -> String {
        let state = match self.process.try_wait() {
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
        let server = self.process.pid();
        send(server, Signal::STOP);
        let children = children(server);
        self.signal(Signal::KILL);
        self.process.wait().expect("it is our child");
        // Resources that they share would keep the next server from starting.
        let are_gone = || (!children.iter().any(|child| is_running(*child))).then_some(());
        poll(DEADLINE, are_gone).expect("killed processes end");
    }

    /// Starts the server again after it was killed.
    pub fn restart(&mut self) {
        self.process = spawn(&self.command, &self.log);
    }

    /// Stops the server (STOP): it exists, but does nothing.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Continues the server (CONT).
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// The server and all its children, which may be in other process groups.
    pub fn processes(&self) -> Vec<Pid> {
        let server = self.process.pid();
        children(server).into_iter().chain([server]).collect()
    }

    fn signal(&self, signal: Signal) {
        self.processes().into_iter().for_each(|process| send(process, signal));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A server that has ended must not be signalled: its process id may belong to another
        // process.
        if matches!(self.process.try_wait(), Ok(None)) {
            self.kill();
        }
    }
}

fn send(process: Pid, signal: Signal) {
    // The process may have ended by itself.
    let _ = kill_process(process, signal);
}

fn spawn(command: &[String], log: &Path) -> Process {
    let log = File::options().create(true).append(true).open(log);
    let log = log.expect("the log can be written");
    let log_again = log.try_clone().expect("files can be opened twice");
    let mut line = Command::new(TIED[0]);
    line.args(&TIED[1..]).args(command);
    line.stdin(Stdio::null()).stdout(log_again).stderr(log);
    Process::spawn(&mut line).expect("setpriv starts: apt-get install util-linux")
}

/// Returns the command line of an etcd server whose data lies in `data`. `cluster` names all
/// servers and their URLs for each other.
pub fn etcd_server(
    name: &str,
    data: &Path,
    clients: &str,
    peers: &str,
    cluster: &str,
) -> Vec<String> {
    let program = find_program("etcd", "etcd-server", Vec::new());
    let options = [
        ["--name", name],
        ["--data-dir", text(data)],
        ["--listen-client-urls", clients],
        ["--advertise-client-urls", clients],
        ["--listen-peer-urls", peers],
        ["--initial-advertise-peer-urls", peers],
        ["--initial-cluster", cluster],
    ];
    [text(&program)].into_iter().chain(options.concat()).map(str::to_owned).collect()
}

/// Creates a PostgreSQL database below `home`, whose user `hustings` needs no password from
/// `clients`. Returns the command line of its server.
pub fn postgres_server(home: &Path, address: &str, port: u16, clients: &str) -> Vec<String> {
    let data = home.join("data");
    fs::create_dir(&data).expect("the directory is new");
    // Debian keeps the programs in one directory for each version, outside `PATH`.
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let elsewhere: Vec<PathBuf> = versions.map(|it| it.path().join("bin")).collect();
    let line = |program: &str, options: &[&str]| {
        let program = find_program(program, "postgresql", elsewhere.clone());
        let words = [text(&program), "-D", text(&data)];
        let words = words.iter().chain(options).map(|&it| it.to_owned());
        as_nobody(&data).into_iter().chain(words).collect::<Vec<String>>()
    };
    let make = line("initdb", &["-U", "hustings", "-A", "trust", "-N", "-E", "UTF8"]);
    run(Command::new(&make[0]).args(&make[1..])).expect("the database is made");
    let hosts = File::options().append(true).open(data.join("pg_hba.conf"));
    let trust = format!("host all all {clients} trust\n");
    hosts.and_then(|mut it| it.write_all(trust.as_bytes())).expect("the file can be written");
    line("postgres", &["-k", text(&data), "-h", address, "-p", &port.to_string()])
}

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are UTF-8")
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
    let user = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    // A change of the user would undo what ties a process to this one.
    TIED[..1].iter().chain(&user).chain(&TIED[1..]).map(|&it| it.to_owned()).collect()
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
        let child = eventually(|| children(server.process.pid()).first().copied());
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
