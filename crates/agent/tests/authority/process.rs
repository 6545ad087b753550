//! A real server, that the tests kill, pause and restart.

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, geteuid, kill_process};

/// A directory of its own, that goes when it is dropped.
pub(crate) struct Home(PathBuf);

impl Home {
    pub(crate) fn new() -> Self {
        static HOMES: AtomicU32 = AtomicU32::new(0);
        let number = HOMES.fetch_add(1, Ordering::Relaxed);
        let name = format!("hustings-authority-{}-{number}", std::process::id());
        let home = std::env::temp_dir().join(name);
        fs::create_dir_all(&home).unwrap();
        Self(home)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

/// A server, how to start it again, and the file with what it says.
pub(crate) struct Server {
    command: Vec<String>,
    log: PathBuf,
    child: Child,
}

impl Server {
    pub(crate) fn start(command: Vec<String>, log: PathBuf) -> Self {
        let child = spawn(&command, &log);
        Self {
            command,
            log,
            child,
        }
    }

    /// What there is to know of one that does not answer.
    pub(crate) fn account(&mut self) -> String {
        let state = match self.child.try_wait() {
            Ok(None) => "it runs".to_owned(),
            ended => format!("it has ended: {ended:?}"),
        };
        let said = fs::read_to_string(&self.log).unwrap_or_default();
        let last = said.lines().rev().take(30).collect::<Vec<_>>();
        let last: Vec<&str> = last.into_iter().rev().collect();
        format!(
            "{}\n{state}, and said last:\n{}",
            self.command.join(" "),
            last.join("\n")
        )
    }

    /// As a crash does: nothing is said, all that was written stays.
    pub(crate) fn kill(&mut self) {
        // Stopped first, so that it starts nothing meanwhile that would outlive it.
        let server = self.child.id();
        send(server, Signal::STOP);
        let children = children_of(server);
        self.signal(Signal::KILL);
        self.child.wait().unwrap();
        // What they share keeps the next one from starting.
        while children.iter().any(|child| is_alive(*child)) {
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn restart(&mut self) {
        self.child = spawn(&self.command, &self.log);
    }

    pub(crate) fn pause(&self) {
        self.signal(Signal::STOP);
    }

    pub(crate) fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// To the server and to all that it started, which may be in groups of their own.
    fn signal(&self, signal: Signal) {
        let server = self.child.id();
        for process in children_of(server).into_iter().chain([server]) {
            send(process, signal);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended is not to be looked for: its number may be another's by now.
        if matches!(self.child.try_wait(), Ok(None)) {
            self.kill();
        }
    }
}

fn send(process: u32, signal: Signal) {
    let pid = Pid::from_raw(process.cast_signed()).unwrap();
    _ = kill_process(pid, signal); // it may have ended by itself
}

fn spawn(command: &[String], log: &Path) -> Child {
    let log = File::options().create(true).append(true).open(log).unwrap();
    // It ends with us, however that comes.
    Command::new("setpriv")
        .args(["--pdeathsig", "KILL"])
        .args(command)
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .expect("setpriv starts: apt-get install util-linux")
}

fn children_of(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|it| it.file_name().to_str()?.parse().ok());
    let is_child = |process: &u32| {
        let status = status(*process);
        status.is_some_and(|(_, its_parent)| its_parent == parent)
    };
    numbers.filter(is_child).collect()
}

fn is_alive(process: u32) -> bool {
    status(process).is_some_and(|(state, _)| state != "Z")
}

/// The state of a process, and its parent.
fn status(process: u32) -> Option<(String, u32)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Both come after the name, which may contain anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
}

/// Where a program is: in the path, or in one of some other places.
pub(crate) fn find_program(name: &str, package: &str, elsewhere: Vec<PathBuf>) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain(elsewhere);
    let found = places.map(|place| place.join(name)).find(|it| it.exists());
    found.unwrap_or_else(|| panic!("{name} is missing: apt-get install {package}"))
}

/// A port for a server that is about to start.
///
/// A connection to it that has just ended keeps it for a minute from all who take any port, tests beside this one among
/// them, but not from a server that asks for it by its number.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let caller = TcpStream::connect(address).unwrap();
    let (callee, _) = listener.accept().unwrap();
    // The side that ends first is the one that is remembered.
    drop(callee);
    drop(caller);
    address.port()
}

/// Some servers refuse to run as root: then they run as nobody, who owns `home`.
pub(crate) fn as_nobody(home: &Path) -> Vec<String> {
    const NOBODY: u32 = 65_534;
    if !geteuid().is_root() {
        return Vec::new();
    }
    std::os::unix::fs::chown(home, Some(NOBODY), Some(NOBODY)).unwrap();
    let setpriv = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--pdeathsig",
        "KILL",
    ];
    setpriv.map(str::to_owned).to_vec()
}
