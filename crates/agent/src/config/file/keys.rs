//! Files that hold nothing but keys.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::seal::Key;

/// What a file of keys holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFile {
    /// The first seals, all open.
    pub keys: Vec<Key>,
    /// What should not be left so.
    pub warning: Option<String>,
}

/// Reads a file with one key a line. Empty lines and lines that begin with `#` do not count.
///
/// # Errors
/// Tells what is wrong, and in which line; never shows what stands there.
pub fn read_keys(path: &Path) -> Result<KeyFile, String> {
    let shown = path.display();
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("cannot read {shown}: {error}"))?;
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
        return Err(format!(
            "{shown} has no key: `hustings keys generate` prints one"
        ));
    }
    let warning = warn_of_readers(path);
    Ok(KeyFile { keys, warning })
}

/// Complains of a file with secrets that every user of this host can read.
pub(super) fn warn_of_readers(path: &Path) -> Option<String> {
    let mode = std::fs::metadata(path).ok()?.permissions().mode();
    let shown = path.display();
    (mode & 0o004 != 0).then(|| {
        format!(
            "{shown} has a key in it, and every user of this host can read it: chmod o-r {shown}"
        )
    })
}
