//! Files that hold only keys.

use std::fs::File;
use std::path::Path;

use rustix::process::geteuid;

use crate::seal::Key;
use hustings_system::secret_file::{self, SecretFileError};

/// Reads a file with one key per line: the first seals, all open. Ignores empty lines and lines
/// that begin with `#`.
///
/// # Errors
/// Returns the problem and its line, but never the content of the line. Refuses a file that other
/// users can read.
pub fn read_keys(path: &Path) -> Result<Vec<Key>, String> {
    let shown = path.display();
    let text = secret_file::read(path).map_err(|error| complaint(path, &error))?;
    let mut keys = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let key =
            Key::try_from(line.to_owned()).map_err(|error| format!("{shown}:{number}: {error}"))?;
        keys.push(key);
    }
    if keys.is_empty() {
        return Err(format!("{shown} has no key: `hustings keys generate --out FILE` makes one"));
    }
    Ok(keys)
}

/// Refuses a file with a key that other users can read.
pub(super) fn check_readers(path: &Path) -> Result<(), String> {
    let checked = File::open(path).map_err(SecretFileError::Io);
    let checked = checked.and_then(|it| secret_file::check(&it));
    checked.map_err(|error| complaint(path, &error))
}

fn complaint(path: &Path, error: &SecretFileError) -> String {
    let shown = path.display();
    match error {
        SecretFileError::Io(error) => format!("cannot read {shown}: {error}"),
        SecretFileError::Exposed => format!(
            "{shown} has a key in it, and others than its owner can read it: {}, and make a new key if somebody may have read this one",
            secret_file::remedy(&shown.to_string(), geteuid().as_raw())
        ),
    }
}
