//! Whether there is such a program as the command names, before it is needed.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;

use super::Error;

/// Where programs are looked for if `PATH` is not set.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Looks for a program as the system will when it is started. What the file contains is not looked at.
pub(super) fn check(program: &OsStr) -> Result<(), Error> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from(DEFAULT_PATH));
    let mut denied = false;
    for candidate in candidates(program, &path) {
        match can_be_run(&candidate) {
            Ok(()) => return Ok(()),
            Err(Errno::ACCESS) => denied = true,
            Err(_) => {}
        }
    }
    let errno = if denied { Errno::ACCESS } else { Errno::NOENT };
    Err(Error::refused(program, errno.raw_os_error()))
}

/// The files that a program may be. One with a slash in its name is not looked for.
fn candidates(program: &OsStr, path: &OsStr) -> Vec<PathBuf> {
    match program.as_bytes().contains(&b'/') || program.is_empty() {
        true => vec![PathBuf::from(program)],
        false => std::env::split_paths(path)
            .map(|directory| directory.join(program))
            .collect(),
    }
}

fn can_be_run(file: &Path) -> Result<(), Errno> {
    accessat(CWD, file, Access::EXEC_OK, AtFlags::EACCESS)?;
    match file.is_file() {
        true => Ok(()),
        false => Err(Errno::ACCESS), // a directory
    }
}

#[cfg(test)]
mod tests {
    use super::{candidates, check};
    use std::ffi::OsStr;
    use std::path::PathBuf;

    #[test]
    fn names_are_looked_for_in_path_and_paths_are_not() {
        let candidates = |program: &str| candidates(OsStr::new(program), OsStr::new("/a:/b"));
        assert_eq!(candidates("x"), ["/a/x", "/b/x"].map(PathBuf::from));
        for path in ["/x", "./x", "d/x", ""] {
            assert_eq!(candidates(path), [PathBuf::from(path)]);
        }
    }

    #[test]
    fn codes_are_those_of_env() {
        let code = |program: &str| match check(OsStr::new(program)) {
            Ok(()) => 0,
            Err(error) => error.exit_code(),
        };
        assert_eq!(["sh", "/bin/sh"].map(code), [0, 0]);
        assert_eq!(
            ["no-such-program", "/no/such/program", ""].map(code),
            [127; 3]
        );
        assert_eq!(["/", "/etc/passwd"].map(code), [126; 2]);
    }
}
