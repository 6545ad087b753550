//! The limit on open files, and the descriptors reserved for supervision.
//!
//! Connections from other hosts take descriptors, and so does the start of a command. Three rules
//! keep connections from using up the descriptors that the command needs:
//! - The program raises its soft limit at its start ([`raise_limit`]). Commands that it runs get
//!   the original limit.
//! - Accepted connections get only a part of the limit (`share`).
//! - A supervisor keeps a `Reserve` of open files, and closes it just before it starts a command.
//!   All that is needed to kill the command later is opened when the command starts.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The most files ever needed: a thousand connections from other hosts, and a thousand to them.
const MOST_FILES: u64 = 65_536;

/// The descriptors for the start of a command, and some more: two pairs of sockets, two pidfds, the
/// pipe of the new process.
const RESERVED: usize = 24;

/// The soft limit that this process was started with, if it was raised.
static INHERITED: OnceLock<u64> = OnceLock::new();

/// Raises the soft limit of open files to the hard limit, but at most to 65,536. Call it once, at
/// the start of a program. Commands that [`supervise`](crate::workload::supervise) runs get the
/// original limit.
pub fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let Some(soft) = current else { return };
    let raised = maximum.unwrap_or(MOST_FILES).min(MOST_FILES);
    // If the system refuses, the program keeps its limit and accepts fewer connections.
    if soft < raised && set_soft_limit(raised) {
        INHERITED.get_or_init(|| soft);
    }
}

/// The soft limit that this process was started with, if it was raised.
pub(crate) fn inherited_limit() -> Option<u64> {
    INHERITED.get().copied()
}

/// Sets the soft limit of open files. Returns false if the system refuses.
pub(crate) fn set_soft_limit(files: u64) -> bool {
    let limits = Rlimit { current: Some(files), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, limits).is_ok()
}

/// Returns a fraction, 1 in `parts`, of the limit on open files.
pub fn share_of_limit(parts: usize) -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(MOST_FILES);
    usize::try_from(limit).unwrap_or(usize::MAX) / parts
}

/// Open files that reserve descriptors for later.
#[derive(Debug)]
pub(crate) struct Reserve(Vec<OwnedFd>);

impl Reserve {
    /// Opens up to the number of files that the start of a command takes.
    pub(crate) fn open() -> Self {
        let mut reserve = Self(Vec::with_capacity(RESERVED));
        reserve.refill();
        reserve
    }

    /// Closes all of them, so that this process can open other files.
    pub(crate) fn release(&mut self) {
        self.0.clear();
    }

    /// Opens the missing ones.
    pub(crate) fn refill(&mut self) {
        while self.0.len() < RESERVED {
            match File::open("/dev/null") {
                Ok(file) => self.0.push(file.into()),
                Err(_) => return, // try again at the next refill
            }
        }
    }
}
