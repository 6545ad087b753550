//! Runs the program in a directory of its own.

use std::path::{Path, PathBuf};
use std::{env, fs};

use hustings_testkit::{Outcome, finish};

/// The directory of this test's sources and recorded answers.
pub(crate) fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/frozen")
}

/// A working directory for commands, with a copy of `files/` in it.
pub(crate) struct Workplace(PathBuf);

impl Workplace {
    /// Creates the directory anew. Tests that run at the same time need different names.
    pub(crate) fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("frozen").join(name);
        if path.exists() {
            fs::remove_dir_all(&path).expect("an earlier workplace can be removed");
        }
        let files = path.join("files");
        fs::create_dir_all(&files).expect("directories can be created");
        for entry in fs::read_dir(home().join("files")).expect("files/ is readable") {
            let from = entry.expect("entries are readable").path();
            let to = files.join(from.file_name().expect("an entry has a name"));
            fs::copy(&from, &to).expect("files can be copied");
        }
        Self(path)
    }

    /// The path of a file or directory that a command writes, removed if an earlier command wrote
    /// it.
    pub(crate) fn cleared(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        if path.is_dir() {
            fs::remove_dir_all(&path).expect("a directory can be removed");
        } else if path.exists() {
            fs::remove_file(&path).expect("a file can be removed");
        }
        path
    }

    /// Runs one command line, whose arguments are separated by blanks.
    pub(crate) fn run(&self, command: &str) -> Outcome {
        let mut command = hustings_testkit::command(program(), command);
        // A command that should have been refused may run for ever, as an agent.
        finish(command.current_dir(&self.0))
    }
}

/// The program under test: the one that cargo built, or the one that FROZEN_PROGRAM names.
fn program() -> PathBuf {
    env::var_os("FROZEN_PROGRAM")
        .map_or_else(|| env!("CARGO_BIN_EXE_hustings").into(), PathBuf::from)
}
