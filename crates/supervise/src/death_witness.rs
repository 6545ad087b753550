//! Certified death: a small parent process that sees its child die, and then releases what the
//! child held.
//!
//! Assumes   - Linux and `/proc`.
//!           - The program calls [`split`] before all else, while it has one thread.
//!           - The worker keeps its user and group. Otherwise the system drops the worker's
//!             parent-death signal. A program that gives up privileges does so before.
//! Promises  - The last will is sent only after the worker has been reaped and nothing is left of
//!             what it started. Then it is sent at once.
//!           - The worker dies with the death witness, and then nothing is sent.
//! Needs     no privileges, no control groups, no unsafe code
//!
//! ```text
//! death witness ── worker ── processes that it starts
//! ```
//!
//! The first process stays behind as the *death witness*. It starts its own executable again as the
//! *worker*, with the same arguments, environment and standard streams. It forwards signals to the
//! worker, adopts the orphans of its descendants, and holds the [`LastWill`] that the worker
//! deposits. When the worker ends, for whatever reason, the system notifies the death witness. It
//! kills every process that is left, sends the last will, and exits as the worker did. A closed
//! connection does not prove a death: the death witness sends nothing before it has reaped the
//! worker.
//!
//! The death witness cannot report its own death, nor that of the host. Then tenure expires.
//! Processes that another program starts on behalf of the worker, such as a service manager, are
//! not its descendants.
//!
//! Signals: TERM, INT, HUP, QUIT, USR1 and USR2 are forwarded, except those typed at a terminal,
//! which the worker receives itself. If a program signals both processes, as a service manager
//! does, the worker receives the signal twice.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ExitCode, Stdio};

use rustix::net::sockopt::socket_peercred;
use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};
use rustix::stdio::{dup2_stdin, dup2_stdout};
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;

use crate::processes::{Ending, SWEEP_EVERY, send};
use crate::watcher::{self, WatchedChild, Watcher, own_executable};
use crate::{fd_passing, last_will};
pub use hustings_authority::LastWill;
use hustings_system::clock;

/// The role of this process.
#[derive(Debug)]
pub enum Split {
    /// The death witness. The worker has ended, nothing is left of it, and its last will has been
    /// sent. Exit with this code: the worker's own, or 128 + n if it died by signal n.
    DeathWitness(ExitCode),
    /// The worker, which is the program proper.
    Worker(Worker),
}

/// Splits the program into two processes. Returns at once in the worker, and in the death witness
/// when the worker has ended.
///
/// # Errors
///
/// If the worker cannot be started, or cannot be watched any longer. Then it dies, and nothing is
/// sent.
///
/// ```no_run
/// use std::process::ExitCode;
/// use hustings_supervise::death_witness::{Split, split};
///
/// fn main() -> std::io::Result<ExitCode> {
///     let worker = match split()? {
///         Split::DeathWitness(code) => return Ok(code),
///         Split::Worker(worker) => worker,
///     };
///     // ... the program proper, with `worker.follow(last_will)` as one of its tasks
///     # drop(worker);
///     Ok(ExitCode::SUCCESS)
/// }
/// ```
pub fn split() -> io::Result<Split> {
    match Worker::of_this_process()? {
        Some(worker) => Ok(Split::Worker(worker)),
        None => watch().map(|ending| Split::DeathWitness(ExitCode::from(ending.code()))),
    }
}

/// Starts the worker. Returns when the worker has ended, nothing is left of it, and its last will
/// has been sent.
fn watch() -> io::Result<Ending> {
    let poller = watcher::begin(c"hustings-keeper")?;
    let (worker, socket) = Worker::start()?;
    let mut watcher = Watcher::new(poller, socket);
    let mut worker = WatchedChild::new(Pid::from_child(&worker));
    let mut last_will = LastWill::default();
    while worker.reap()? {
        let again_at = worker.ending.map(|_| clock::now() + SWEEP_EVERY);
        for signal in watcher.wait(again_at)? {
            if worker.ending.is_none() {
                send(worker.pid, signal);
            }
        }
        read_last_will(&mut watcher, &mut last_will);
    }
    // No process that could write is left: the received lines are complete.
    read_last_will(&mut watcher, &mut last_will);
    last_will::send(&last_will);
    Ok(worker.ending.ok_or(io::ErrorKind::NotFound)?)
}

/// Reads the last line that the worker has written. An invalid line withdraws the last will.
fn read_last_will(watcher: &mut Watcher, last_will: &mut LastWill) {
    if let Some(line) = watcher.peer.arrived().last() {
        *last_will = last_will::from_line(line).unwrap_or_default();
    }
}

/// The environment variable that tells the worker the process id of its death witness. Descendants
/// of the worker inherit it, without effect.
const DEATH_WITNESS: &str = "HUSTINGS_KEEPER";

/// The program proper, as the child of its death witness.
#[derive(Debug)]
pub struct Worker {
    death_witness: UnixStream,
}

impl Worker {
    /// Deposits a last will with the death witness, in place of any earlier one. An empty last will
    /// withdraws it.
    ///
    /// Blocks if the death witness is stopped (STOP) for long.
    ///
    /// # Errors
    ///
    /// If the death witness has ended. Then this process is about to die.
    pub fn deposit(&mut self, last_will: &LastWill) -> io::Result<()> {
        let line = format!("{}\n", last_will::to_line(last_will));
        self.death_witness.write_all(line.as_bytes())
    }

    /// Deposits each last will that `last_will` publishes. To be called within a runtime.
    ///
    /// # Errors
    ///
    /// As [`Worker::deposit`].
    pub async fn follow(self, mut last_will: watch::Receiver<LastWill>) -> io::Result<()> {
        self.death_witness.set_nonblocking(true)?;
        let mut death_witness = tokio::net::UnixStream::from_std(self.death_witness)?;
        last_will.mark_changed();
        while last_will.changed().await.is_ok() {
            let line = format!("{}\n", last_will::to_line(&last_will.borrow_and_update()));
            death_witness.write_all(line.as_bytes()).await?;
        }
        // The sender is gone: the last will that was deposited last remains.
        Ok(())
    }

    /// Starts the worker of this process and passes it standard input and output. So a reader of
    /// the output sees its end when the worker has closed it. Deposits arrive on the returned
    /// socket.
    fn start() -> io::Result<(Child, UnixStream)> {
        let (socket, theirs) = fd_passing::pair(io::stdin().as_fd(), None)?;
        let output = io::stdout().as_fd().try_clone_to_owned()?;
        let nothing = File::options().read(true).write(true).open("/dev/null")?;
        dup2_stdin(&nothing)?;
        dup2_stdout(&nothing)?;
        let mut arguments = std::env::args_os();
        let name = arguments.next().unwrap_or_else(|| "/proc/self/exe".into());
        let worker = own_executable(&name)
            .args(arguments)
            .env(DEATH_WITNESS, getpid().to_string())
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::from(output))
            .spawn()?;
        Ok((worker, socket))
    }

    /// Returns the worker if this process was started as one.
    fn of_this_process() -> io::Result<Option<Self>> {
        let named = std::env::var_os(DEATH_WITNESS);
        let named = named.and_then(|pid| Pid::from_raw(pid.to_str()?.parse().ok()?));
        // A descendant of a worker inherits the id, and is adopted by the death witness when
        // orphaned. But its standard input is not the socket.
        let is_peer = |pid: &Pid| socket_peercred(io::stdin()).is_ok_and(|it| it.pid == *pid);
        let Some(death_witness) = named.filter(is_peer) else {
            return Ok(None);
        };
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // If the death witness died before that call, no signal will come.
        if getppid() != Some(death_witness) {
            return Err(io::Error::other("its death witness has ended"));
        }
        let handed = fd_passing::receive()?;
        dup2_stdin(handed.input)?;
        name_as_called()?;
        Ok(Some(Self { death_witness: handed.socket }))
    }
}

/// Sets the process name, which would otherwise be "exe" from the path of the executable.
fn name_as_called() -> io::Result<()> {
    let called = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&called).file_name().unwrap_or_default();
    if let Ok(name) = CString::new(name.as_bytes()) {
        rustix::thread::set_name(&name)?;
    }
    Ok(())
}
