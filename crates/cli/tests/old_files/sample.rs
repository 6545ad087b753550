//! Copies of the samples, and the program run beside them.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{env, fs};

use hustings_testkit::{command, finish};
use serde_json::Value;

/// A directory with a copy of one directory of samples.
pub(crate) struct Samples(PathBuf);

/// The result of one command.
pub(crate) struct Outcome(hustings_testkit::Outcome);

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
        let mut command = command(env!("CARGO_BIN_EXE_hustings"), arguments);
        // A member whose voter cannot read its file waits for tenure for ever.
        Outcome(finish(command.args(more).current_dir(&self.0)))
    }
}

impl Outcome {
    /// Fails unless the command ended with this exit code.
    #[track_caller]
    pub(crate) fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.0.code, Some(code), "{}\n{}", self.0.printed, self.0.said);
        self
    }

    /// Fails unless each word is printed, on either stream. The order and the text around the words
    /// may change.
    #[track_caller]
    pub(crate) fn expect_words(self, words: &[&str]) -> Self {
        let printed = format!("{}\n{}", self.0.printed, self.0.said);
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
        serde_json::from_str(self.printed()).expect("standard output is JSON")
    }

    /// The complete standard output.
    pub(crate) fn printed(&self) -> &str {
        &self.0.printed
    }

    /// The complete standard error.
    pub(crate) fn said(&self) -> &str {
        &self.0.said
    }
}
