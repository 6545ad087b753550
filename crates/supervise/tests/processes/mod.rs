//! Observes processes from outside, and provides a voter that receives last wills.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use hustings_testkit::observe;
use rustix::process::Pid;

pub(crate) use hustings_testkit::observe::{
    PATIENCE, assert_gone, eventually, example, is_running, pid, state,
};

/// A short wait.
pub(crate) const SHORT: Duration = Duration::from_millis(100);

/// Starts a child and a grandchild in another session whose parent has ended, prints the three
/// process ids, and waits. (Scripts that set a trap start their children before: a fork of the
/// shell may lose a signal while it still has the trap.)
pub(crate) const TREE: &str = r#"
    sh -c 'echo $$; exec sleep 1000' &
    setsid sh -c '(sh -c "echo \$\$; exec sleep 1000" &)' &
    echo $$
    while :; do wait; sleep 1000; done
"#;

/// The receiver of a last will.
pub(crate) struct Voter(UdpSocket);

impl Voter {
    pub(crate) fn listen() -> Self {
        Self(UdpSocket::bind("127.0.0.1:0").expect("loopback is there"))
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.0.local_addr().expect("it is bound")
    }

    /// The next datagram.
    #[track_caller]
    pub(crate) fn hears(&self) -> String {
        self.heard_within(PATIENCE).expect("words")
    }

    /// Asserts that no datagram arrives within this time, and that none has arrived before.
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

/// The parent of a running process.
pub(crate) fn parent(process: Pid) -> Pid {
    observe::parent(process).expect("the process lives")
}
