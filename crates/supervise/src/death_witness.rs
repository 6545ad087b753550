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

mod worker;

use std::io;
use std::process::ExitCode;

use rustix::process::Pid;

use crate::last_will;
use crate::processes::{Ending, SWEEP_EVERY, send};
use crate::watcher::{self, WatchedChild, Watcher};
pub use hustings_authority::LastWill;
use hustings_system::clock;
pub use worker::Worker;

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
