//! Copies of the samples, and the program run beside them.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use std::{env, fs, thread};

use serde_json::Value;

/// The time after which a command is killed. Each takes less than a second.
const LIMIT: Duration = Duration::from_secs(30);

/// A directory with a copy of one directory of samples.
pub(crate) struct Samples(PathBuf);

/// The result of one command.
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Samples {
    /// Copies `samples/KIND` for the test called `test`, readable by the owner alone.
    pub(crate) fn copy(kind: &str, test: &str) -> Self {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old_files/samples").join(kind);
        let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join("old_files").join(test);
        if to.exists() {
            fs::remove_dir_all(&to).expect("an earlier copy can be removed");
        }
        fs::create_dir_all(&to).expect("directories can be created");
        for entry in fs::read_dir(from).expect("samples are readable") {
            let from = entry.expect("entries are readable").path();
            let to = to.join(from.file_name().expect("an entry has a name"));
            fs::copy(&from, &to).expect("samples can be copied");
            fs::set_permissions(&to, fs::Permissions::from_mode(0o600)).expect("modes can be set");
        }
        Self(to)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).expect("a sample is readable")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).expect("a file can be written");
    }

    /// Moves a sample to another path in the same directory, as in `state/web.voter`.
    pub(crate) fn place(&self, name: &str, path: &str) {
        let path = self.0.join(path);
        let directory = path.parent().expect("a file lies in a directory");
        fs::create_dir_all(directory).expect("directories can be created");
        fs::rename(self.0.join(name), path).expect("a sample can be moved");
    }

    /// Runs the program here. Arguments are separated by blanks; those in `more` may have blanks in
    /// them.
    pub(crate) fn run(&self, arguments: &str, more: &[&str]) -> Outcome {
        let mut program = Command::new(env!("CARGO_BIN_EXE_hustings"));
        program.args(arguments.split_whitespace()).args(more);
        program.current_dir(&self.0).stdin(Stdio::null());
        program.stdout(Stdio::piped()).stderr(Stdio::piped());
        for (name, _) in env::vars_os() {
            if name.to_string_lossy().starts_with("HUSTINGS_") {
                program.env_remove(name);
            }
        }
        let child = program.spawn().expect("the program starts");
        let id = child.id();
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || sender.send(child.wait_with_output()));
        let Ok(output) = receiver.recv_timeout(LIMIT) else {
            // A member whose voter cannot read its file waits for tenure for ever.
            let killed = Command::new("kill").arg(id.to_string()).status();
            panic!("hustings {arguments} {more:?}: still runs after {LIMIT:?}; kill: {killed:?}");
        };
        let output = output.expect("the program can be waited for");
        Outcome {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("standard error is UTF-8"),
        }
    }
}

impl Outcome {
    /// Fails unless the command ended with this exit code.
    #[track_caller]
    pub(crate) fn expect_code(self, code: i32) -> Self {
        let (stdout, stderr) = (&self.stdout, &self.stderr);
        assert_eq!(self.code, Some(code), "{stdout}\n{stderr}");
        self
    }

    /// Fails unless each word is printed, on either stream. The order and the text around the words
    /// may change.
    #[track_caller]
    pub(crate) fn expect_words(self, words: &[&str]) -> Self {
        let printed = format!("{}\n{}", self.stdout, self.stderr);
        let is_inner = |it: char| !(it.is_alphanumeric() || "-_.:/".contains(it));
        let ends = [':', '.'];
        let found: Vec<&str> =
            printed.split(is_inner).map(|word| word.trim_end_matches(ends)).collect();
        for word in words {
            assert!(found.contains(word), "`{word}` is not printed: {printed}");
        }
        self
    }

    /// The object that the command printed.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).expect("standard output is JSON")
    }
}
