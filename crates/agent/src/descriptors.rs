//! How many files this process may have open, and what is set aside for supervision.
//!
//! Connections from other hosts take descriptors, and so does the start of a command. Three rules keep the former from
//! using up what the latter needs:
//! - The program raises its soft limit at its start ([`raise_limit`]). Commands that it runs get the former one.
//! - Accepted connections get a part of the limit only (`share`).
//! - A supervisor keeps a `Reserve` of open files, and closes it when it is about to start a command. Whatever kills the
//!   command later is opened when the command starts.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More are never needed: a thousand connections from others, and as many to others.
const MOST_FILES: u64 = 65_536;

/// What the start of a command takes, and some more: two pairs of sockets, two pidfds, the pipe of the new process.
const RESERVED: usize = 24;

/// The soft limit that this process was started with, if it was raised.
static INHERITED: OnceLock<u64> = OnceLock::new();

/// Raises the soft limit of open files to the hard limit, or to 65,536 if that is less. To be called once, at the
/// start of a program. Commands that [`supervise`](crate::workload::supervise) runs get the limit that there was before.
pub fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let Some(soft) = current else { return };
    let raised = maximum.unwrap_or(MOST_FILES).min(MOST_FILES);
    // A system that refuses leaves the program with what it has: fewer connections are accepted then.
    if soft < raised && set_soft_limit(raised) {
        INHERITED.get_or_init(|| soft);
    }
}

/// The soft limit that this process was started with, if it was raised.
pub(crate) fn inherited_limit() -> Option<u64> {
    INHERITED.get().copied()
}

/// Lowers the soft limit of open files to what it was before an ancestor raised it.
pub(crate) fn lower_limit(files: u64) {
    // With more files than it expects a command runs as well, but for a few old ones.
    let _ = set_soft_limit(files);
}

fn set_soft_limit(files: u64) -> bool {
    let limits = Rlimit {
        current: Some(files),
        ..getrlimit(Resource::Nofile)
    };
    setrlimit(Resource::Nofile, limits).is_ok()
}

/// One part in `parts` of the files that this process may have open.
pub(crate) fn share(parts: usize) -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(MOST_FILES);
    usize::try_from(limit).unwrap_or(usize::MAX) / parts
}

/// Open files that stand for others, which can be opened as soon as these are closed.
#[derive(Debug)]
pub(crate) struct Reserve(Vec<OwnedFd>);

impl Reserve {
    /// As many as there are, up to what the start of a command takes.
    pub(crate) fn open() -> Self {
        let mut reserve = Self(Vec::with_capacity(RESERVED));
        reserve.refill();
        reserve
    }

    /// Closes them all: the next files that this process opens find room.
    pub(crate) fn release(&mut self) {
        self.0.clear();
    }

    /// Opens those that are missing.
    pub(crate) fn refill(&mut self) {
        while self.0.len() < RESERVED {
            match File::open("/dev/null") {
                Ok(file) => self.0.push(file.into()),
                Err(_) => return, // later, perhaps
            }
        }
    }
}
