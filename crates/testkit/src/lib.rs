//! Programs under test: processes that are killed when the test ends, and lines that a test waits
//! for.
//!
//! - [`Process`]: any process, killed when dropped. It returns errors, for harnesses that report
//!   them.
//! - [`line_reader`]: the lines of a stream, as they arrive.
//! - [`Program`]: a `hustings` process whose lines a test waits for. It panics if the test has
//!   failed.
//! - [`Server`]: a server that tests kill, pause and restart, with all its descendants.
//! - [`observe`]: processes seen from outside, by `/proc`.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "processes end in the machine's time: a test that waits for them has a deadline"
)]

pub mod line_reader;
pub mod observe;
mod process;
mod program;
mod scratch;
mod server;

pub use process::Process;
pub use program::{Outcome, Program, command, finish, finish_within};
pub use scratch::Scratch;
pub use server::{Server, as_nobody, find_program, free_port};

use std::time::Duration;

/// The time after which an expected event counts as missing.
pub const DEADLINE: Duration = Duration::from_secs(60);
