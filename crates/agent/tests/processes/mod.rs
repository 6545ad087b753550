//! Looking at processes from outside, and a voter to whom last words are sent.

mod example;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::Pid;

pub(crate) use example::example;

/// A span to be waited for.
pub(crate) const SHORT: Duration = Duration::from_millis(100);
/// Whoever waits longer waits in vain.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Starts a child and a grandchild in another session whose parent has ended, prints the three process ids, and
/// waits. (Scripts that set a trap start their children before: a shell's fork may swallow a signal while it
/// still has the trap.)
pub(crate) const TREE: &str = r#"
    sh -c 'echo $$; exec sleep 1000' &
    setsid sh -c '(sh -c "echo \$\$; exec sleep 1000" &)' &
    echo $$
    while :; do wait; sleep 1000; done
"#;

/// Who is sent last words.
pub(crate) struct Voter(UdpSocket);

impl Voter {
    pub(crate) fn listen() -> Self {
        Self(UdpSocket::bind("127.0.0.1:0").expect("loopback is there"))
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.0.local_addr().expect("it is bound")
    }

    /// What it is told next.
    #[track_caller]
    pub(crate) fn hears(&self) -> String {
        self.heard_within(PATIENCE).expect("words")
    }

    /// It is told nothing for so long, nor was before.
    #[track_caller]
    pub(crate) fn hears_nothing(&self, span: Duration) {
        assert_eq!(self.heard_within(span), None);
    }

    fn heard_within(&self, span: Duration) -> Option<String> {
        let timeout = self.0.set_read_timeout(Some(span));
        timeout.expect("not zero, so allowed");
        let mut bytes = [0; 64];
        let length = self.0.recv(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes[..length]).into_owned())
    }
}

pub(crate) fn lines_of(output: impl Read + Send + 'static) -> Receiver<String> {
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

pub(crate) fn pid(text: &str) -> Pid {
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
