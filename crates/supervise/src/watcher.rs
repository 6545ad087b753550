//! The frame of a process that watches others: death witness, warden and guardian.
//!
//! Purpose     waits for signals, for lines of its peer and for an instant; adopts and reaps what
//!             its descendants leave behind
//! Peer        the process at the other end of the socket: it deposits a last will, or gives orders
//! Start       each watcher is another process of the running executable, with a socket as standard
//!             input through which the real one follows (`fd_passing`)

use std::ffi::{CStr, OsStr};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hustings_protocol::Instant;
use rustix::process::{Pid, Signal, getpid, set_child_subreaper};
use rustix::thread::set_name;
use tokio::time::sleep;

use crate::line_reader::LineReader;
use crate::poller::Poller;
use crate::processes::{Ending, SWEEP_EVERY, Sweep, reap};
use crate::workload::signals::meant_for_the_command;
use hustings_system::clock;

/// Returns a command line that starts the running executable again under this name.
pub(crate) fn own_executable(name: &OsStr) -> Command {
    // The path is that of the running executable, whatever has become of its file: an upgrade may
    // have replaced it.
    let mut line = Command::new("/proc/self/exe");
    line.arg0(name);
    line
}

/// Makes this process a watcher: it adopts the orphans among its descendants, and no signal for the
/// command ends it any more. The name replaces "exe", from the path of the executable.
pub(crate) fn begin(name: &CStr) -> io::Result<Poller> {
    set_name(name)?;
    set_child_subreaper(Some(getpid()))?;
    Poller::begin(meant_for_the_command()?)
}

/// The event sources of a watcher.
pub(crate) struct Watcher {
    pub(crate) peer: LineReader<UnixStream>,
    poller: Poller,
}

impl Watcher {
    pub(crate) fn new(poller: Poller, peer: UnixStream) -> Self {
        Self { peer: LineReader::new(peer), poller }
    }

    /// Waits until a signal arrives, a child ends, the peer writes or ends, or the boot clock
    /// reaches `moment`. Returns the signals that were sent to this process. May return early.
    pub(crate) fn wait(&mut self, moment: Option<Instant>) -> io::Result<Vec<Signal>> {
        let peer = Some(self.peer.socket.as_fd()).filter(|_| !self.peer.has_ended);
        self.poller.wait(peer.as_slice(), moment)
    }

    /// Waits until a signal arrives, the file becomes readable or ends, or the boot clock reaches
    /// `moment`. May return early.
    pub(crate) fn wait_for(&mut self, file: impl AsFd, moment: Instant) -> io::Result<()> {
        self.poller.wait(&[file.as_fd()], Some(moment)).map(drop)
    }

    /// Kills every descendant of this process, and returns when none is left.
    pub(crate) fn clear_up(&mut self) -> io::Result<()> {
        let mut sweep = Sweep::begin();
        while reap()?.others {
            sweep.go();
            self.poller.wait(&[], Some(clock::now() + SWEEP_EVERY))?;
        }
        Ok(())
    }
}

/// A child of a watcher. What it leaves behind when it ends is killed.
pub(crate) struct WatchedChild {
    pub(crate) pid: Pid,
    /// The exit status, if the child has ended.
    pub(crate) ending: Option<Ending>,
    sweep: Option<Sweep>,
}

impl WatchedChild {
    pub(crate) fn new(pid: Pid) -> Self {
        Self { pid, ending: None, sweep: None }
    }

    /// Reaps children, and kills the others once this one has ended. Returns false if no child is
    /// left.
    pub(crate) fn reap(&mut self) -> io::Result<bool> {
        let reaped = reap()?;
        if let Some((_, status)) = reaped.ended.iter().find(|(pid, _)| *pid == self.pid) {
            self.ending = Ending::of(*status);
            self.sweep = Some(Sweep::begin());
        }
        if let Some(sweep) = &mut self.sweep
            && reaped.others
        {
            sweep.go();
        }
        Ok(reaped.others)
    }
}

/// The time in which killed processes end, unless the system holds them up.
const ENDED_WITHIN: Duration = Duration::from_secs(10);

static ADOPTS: AtomicBool = AtomicBool::new(false);

/// Makes this process the last watcher of a command. Only for programs that start no processes
/// other than those of [`supervise`](crate::workload::supervise). When a command has ended, every
/// descendant that this process still has is killed and reaped: the rest of a command whose
/// guardian and warden were killed before either has noticed the other's death, and the guardian of
/// a warden that was killed.
///
/// # Errors
/// If the system does not let this process adopt orphans.
pub fn adopt_orphans() -> io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    ADOPTS.store(true, Ordering::Relaxed);
    Ok(())
}

/// Kills and reaps every descendant of this process, if it adopts orphans. Returns true if nothing
/// is left.
pub(crate) async fn kill_orphans() -> bool {
    if !ADOPTS.load(Ordering::Relaxed) {
        return false;
    }
    let mut sweep = Sweep::begin();
    let until = tokio::time::Instant::now() + ENDED_WITHIN;
    while tokio::time::Instant::now() < until {
        match reap() {
            Ok(reaped) if !reaped.others => return true,
            Ok(_) => sweep.go(),
            Err(_) => return false,
        }
        sleep(SWEEP_EVERY.into()).await;
    }
    false
}
