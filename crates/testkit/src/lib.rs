//! Programs under test: processes that end with the test, and lines that a test waits for.
//!
//! - [`Process`]: any process, ended when dropped. It returns errors, for harnesses that report
//!   them.
//! - [`Processes`]: numbered places for processes, whose lines arrive in one channel.
//! - [`Program`]: a `hustings` process whose lines a test waits for. It panics if the test has
//!   failed.
//! - [`Server`]: a server that tests kill, pause and restart, with all its descendants.
//! - [`in_namespace`]: a command in a network namespace.
//! - [`Scratch`]: a directory that is removed when dropped.
//! - [`observe`]: processes seen from outside, by `/proc`.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "processes end in the machine's time: a test that waits for them has a deadline"
)]

mod command;
pub mod line_reader;
mod logged;
pub mod observe;
mod process;
mod processes;
mod program;
mod scratch;
mod server;

pub use command::{
    Outcome, TIED, command, find_program, finish, in_namespace, run, run_together, this_program,
};
pub use logged::{logged, prepare_for_logged};
pub use process::Process;
pub use processes::{Line, Processes};
pub use program::Program;
pub use scratch::Scratch;
pub use server::{Server, as_nobody, etcd_server, free_port, postgres_server};

use std::thread;
use std::time::{Duration, Instant};

/// The time after which an expected event counts as missing.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// The polling interval.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Calls `look` again and again until it returns a value, for at most `within`.
pub fn poll<T>(within: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + within;
    loop {
        let found = look();
        if found.is_some() || Instant::now() >= until {
            return found;
        }
        thread::sleep(LOOK_EVERY);
    }
}
