//! Certified death: a program whose tiny parent has seen it die, and gives up for it what it held.
//!
//! Assumes   Linux, `/proc`, and that the program calls [`split`] before all else, while it has one thread;
//!           that the worker keeps its user and group, since the system else forgets that it should die with
//!           the keeper (a program that gives up privileges does so before)
//! Promises  last words are sent only when the worker has been reaped and nothing is left of what it started;
//!           then they are sent at once; the worker dies with the keeper, and then nothing is sent
//! Needs     no privileges, no control groups, no unsafe code
//!
//! ```text
//! keeper ── worker ── whatever it starts
//! ```
//!
//! The first process stays behind as the *keeper*, and starts its own executable again as the *worker*, with the
//! same arguments, environment and standard streams. It passes signals on to it, adopts what its descendants leave
//! behind, and holds the [`LastWords`] that the worker entrusts to it. However the worker ends, the keeper is
//! told by the system, kills whatever is left, sends the last words, and exits as the worker did. A broken
//! connection is no proof of death, and is none here: the keeper sends nothing before it has reaped the worker.
//!
//! What the keeper cannot speak of: its own death, and that of the host. Then tenure runs out. Whatever the worker
//! had others start for it, such as a service manager, is none of its descendants.
//!
//! Signals: TERM, INT, HUP, QUIT, USR1 and USR2 are passed on, save what is typed at a terminal, which the worker
//! hears itself. Whoever signals both, as a service manager does that signals each process of a service, is
//! heard twice by the worker.

mod watch;
mod worker;

use std::io;
use std::process::ExitCode;

pub use crate::authority::last_words::LastWords;
pub use worker::Worker;

/// Which of the two this process is.
#[derive(Debug)]
pub enum Split {
    /// It was the keeper. The worker has ended, nothing is left of it, and its last words have been sent: exit
    /// with this code, the worker's own, or 128 + n if it died by signal n.
    Keeper(ExitCode),
    /// It is the worker: the program proper.
    Worker(Worker),
}

/// Becomes two processes. Returns in the worker at once, and in the keeper when the worker has ended.
///
/// # Errors
///
/// When the worker cannot be started, or not be watched any longer: then it dies, and nothing is sent.
///
/// ```no_run
/// use std::process::ExitCode;
/// use hustings_agent::keeper::{Split, split};
///
/// fn main() -> std::io::Result<ExitCode> {
///     let worker = match split()? {
///         Split::Keeper(code) => return Ok(code),
///         Split::Worker(worker) => worker,
///     };
///     // ... the program proper, with `worker.follow(last_words)` as one of its tasks
///     # drop(worker);
///     Ok(ExitCode::SUCCESS)
/// }
/// ```
pub fn split() -> io::Result<Split> {
    match Worker::of_this_process()? {
        Some(worker) => Ok(Split::Worker(worker)),
        None => watch::keep().map(|ending| Split::Keeper(ExitCode::from(ending.code()))),
    }
}
