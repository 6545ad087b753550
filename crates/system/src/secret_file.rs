//! Files that hold a secret, which only their owner may read.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::process::geteuid;

/// The reason why the secret in a file is not used.
#[derive(Debug)]
pub enum SecretFileError {
    /// The operating system's reason.
    Io(io::Error),
    /// Other users can read the file, so they may know the secret.
    Exposed,
}

impl From<io::Error> for SecretFileError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Reads a file that only its owner can read. A file of root may also be readable by its group:
/// this is how a service that runs as another user receives a secret.
///
/// # Errors
/// If the file cannot be read, or if other users can read it.
pub fn read(path: &Path) -> Result<String, SecretFileError> {
    let mut file = File::open(path)?;
    check(&file)?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// Checks the permissions of a file that holds a secret among other content, by the rule of
/// [`read`].
///
/// # Errors
/// If other users can read the file.
pub fn check(file: &File) -> Result<(), SecretFileError> {
    let about = file.metadata()?;
    match is_exposed(about.mode(), about.uid(), geteuid().as_raw()) {
        true => Err(SecretFileError::Exposed),
        false => Ok(()),
    }
}

fn is_exposed(mode: u32, owner: u32, reader: u32) -> bool {
    let is_given = owner == 0 && reader != 0;
    let others = if is_given { 0o037 } else { 0o077 };
    mode & others != 0
}

/// Returns the remedy for the exposed file `shown`, for the user `reader`. For root a group is no
/// remedy, because root can read the file without one.
pub fn remedy(shown: &str, reader: u32) -> String {
    let for_group = match reader {
        0 => "",
        _ => " (640 if root owns it and its group is that of the agent)",
    };
    format!("chmod 600 {shown}{for_group}")
}

/// Writes a new file that only its owner can read.
///
/// # Errors
/// If the file exists already or cannot be created.
pub fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::{is_exposed, remedy};

    #[test]
    fn each_mode_in_the_remedy_is_accepted_for_that_reader() {
        for (reader, owners) in [(0, vec![0]), (1_000, vec![1_000, 0])] {
            let remedy = remedy("FILE", reader);
            for (mode, word) in [(0o600, "600"), (0o640, "640")] {
                let is_accepted = owners.iter().any(|it| !is_exposed(mode, *it, reader));
                assert_eq!(remedy.contains(word), is_accepted, "{reader}: {remedy}");
            }
        }
    }

    #[test]
    fn secret_is_readable_by_its_owner_and_roots_by_its_group() {
        const ME: u32 = 1_000;
        for mode in [0o600, 0o400, 0o700] {
            assert!(!is_exposed(mode, ME, ME) && !is_exposed(mode, 0, 0), "{mode:o}");
        }
        for mode in [0o640, 0o604, 0o644, 0o660, 0o601] {
            assert!(is_exposed(mode, ME, ME) && is_exposed(mode, 0, 0), "{mode:o}");
        }
        assert!(!is_exposed(0o640, 0, ME) && !is_exposed(0o440, 0, ME));
        for mode in [0o644, 0o660, 0o641] {
            assert!(is_exposed(mode, 0, ME), "{mode:o}");
        }
        assert!(is_exposed(0o640, 1_001, ME));
    }
}
