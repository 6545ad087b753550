//! Real servers that the tests kill, pause and restart.

use std::path::PathBuf;

use hustings_testkit::Scratch;

pub(crate) use hustings_testkit::{Server, as_nobody, find_program, free_port};

/// A temporary directory that is removed when dropped.
pub(crate) struct Home(Scratch);

impl Home {
    pub(crate) fn new() -> Self {
        Self(Scratch::new("hustings-authority"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}
