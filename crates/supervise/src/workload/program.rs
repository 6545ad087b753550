//! Checks in advance that the program of a command exists.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;

use super::Error;

/// The search path if `PATH` is not set.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// The number of bytes that the system reads to find the interpreter of a file.
const FIRST_LINE: u64 = 256;

/// Searches a program as the system does when it starts it, and the interpreter that its first line
/// names. The rest of the file is not checked.
pub(super) fn check(program: &OsStr) -> Result<(), Error> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from(DEFAULT_PATH));
    let mut denied = false;
    for candidate in candidates(program, &path) {
        match can_be_run(&candidate) {
            Ok(()) => return check_interpreter(program, &candidate, &path),
            Err(Errno::ACCESS) => denied = true,
            Err(_) => {}
        }
    }
    let errno = if denied { Errno::ACCESS } else { Errno::NOENT };
    Err(Error::refused(program, errno.raw_os_error()))
}

/// Searches the interpreter of a script, and the program that `env` would search. A file that
/// cannot be read may still be executable.
fn check_interpreter(program: &OsStr, file: &Path, path: &OsStr) -> Result<(), Error> {
    let Some((interpreter, argument)) = first_line(file) else {
        return Ok(());
    };
    let missing = |interpreter: &OsStr, errno: Errno| Error::NoInterpreter {
        command: program.to_owned(),
        interpreter: interpreter.to_owned(),
        source: errno.into(),
    };
    if let Err(errno) = can_be_run(Path::new(&interpreter)) {
        return Err(missing(&interpreter, errno));
    }
    let is_env = Path::new(&interpreter).file_name() == Some(OsStr::new("env"));
    let Some(wanted) = searched_by_env(&argument).filter(|_| is_env) else {
        return Ok(());
    };
    let wanted = OsStr::from_bytes(wanted);
    let is_found = |it: &PathBuf| can_be_run(it).is_ok();
    let found = candidates(wanted, path).into_iter().find(is_found);
    found.map(drop).ok_or_else(|| missing(wanted, Errno::NOENT))
}

/// Returns the program that `env` searches, given the argument of a first line. The system passes
/// the rest of that line as one argument, and `env` splits it only after `-S`. Returns `None` if
/// other options, quotes or variables leave it open.
fn searched_by_env(argument: &[u8]) -> Option<&[u8]> {
    let program = match argument.strip_prefix(b"-S") {
        Some(line) => {
            let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            words.find(|word| !word.contains(&b'='))?
        }
        None => argument,
    };
    let is_open = program.starts_with(b"-") || program.iter().any(|it| b"=\"'\\$".contains(it));
    (!program.is_empty() && !is_open).then_some(program)
}

/// Returns the interpreter that the first line of a script names, and the rest of the line. Returns
/// `None` if the file is no script.
fn first_line(file: &Path) -> Option<(OsString, Vec<u8>)> {
    let mut start = Vec::new();
    File::open(file).ok()?.take(FIRST_LINE).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|it| *it == b'\n').next()?;
    let is_blank = |it: &u8| b" \t".contains(it);
    let first = line.iter().position(|it| !is_blank(it))?;
    let last = line.iter().rposition(|it| !is_blank(it))?;
    let mut parts = line[first..=last].splitn(2, is_blank);
    let interpreter = OsStr::from_bytes(parts.next()?).to_owned();
    let rest = parts.next().unwrap_or_default();
    let begin = rest.iter().position(|it| !is_blank(it)).unwrap_or_default();
    Some((interpreter, rest[begin..].to_owned()))
}

/// Returns the files that a program may be. A name with a slash is not searched in `PATH`.
fn candidates(program: &OsStr, path: &OsStr) -> Vec<PathBuf> {
    if program.as_bytes().contains(&b'/') || program.is_empty() {
        return vec![PathBuf::from(program)];
    }
    std::env::split_paths(path).map(|directory| directory.join(program)).collect()
}

fn can_be_run(file: &Path) -> Result<(), Errno> {
    accessat(CWD, file, Access::EXEC_OK, AtFlags::EACCESS)?;
    if file.is_file() { Ok(()) } else { Err(Errno::ACCESS) } // a directory
}

#[cfg(test)]
mod tests {
    use super::{candidates, check};
    use std::ffi::OsStr;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    #[test]
    fn names_are_searched_in_path_and_paths_are_not() {
        let candidates = |program: &str| candidates(OsStr::new(program), OsStr::new("/a:/b"));
        assert_eq!(candidates("x"), ["/a/x", "/b/x"].map(PathBuf::from));
        for path in ["/x", "./x", "d/x", ""] {
            assert_eq!(candidates(path), [PathBuf::from(path)]);
        }
    }

    #[test]
    fn script_with_a_missing_interpreter_is_refused_and_names_it() {
        let script = std::env::temp_dir().join(format!("hustings-script-{}", std::process::id()));
        let check = |text: &str| {
            std::fs::write(&script, text).unwrap();
            std::fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
            check(script.as_os_str()).map_err(|it| (it.exit_code(), it.to_string()))
        };
        for text in [
            "#!/bin/sh\nexit\n",
            "#! /bin/sh -e\n",
            "#!/usr/bin/env sh\n",
            "#!/usr/bin/env -S sh -e\n",
            "#!/usr/bin/env -S LANG=C sh -e\n",
            "#!/usr/bin/env --no-such-option x\n",
            "exit\n",
            "",
            "#!",
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
        for (text, code, named) in [
            ("#!/no/such/interpreter -u\n", 127, "\"/no/such/interpreter\""),
            ("#! /no/such\n", 127, "\"/no/such\""),
            ("#!/usr/bin/env no-such-python\n", 127, "\"no-such-python\""),
            ("#!/usr/bin/env no-such-python -u\n", 127, "\"no-such-python -u\""),
            ("#!/usr/bin/env sh -e\n", 127, "\"sh -e\""),
            ("#!/usr/bin/env -S no-such-python -u\n", 127, "\"no-such-python\""),
            ("#!/usr/bin/env -SA=1 no-such-python\n", 127, "\"no-such-python\""),
            ("#!/bin/sh\r\n", 127, "\"/bin/sh\\r\""),
            ("#!/usr/bin/env sh\r\n", 127, "\"sh\\r\""),
            ("#!/etc/passwd\n", 126, "\"/etc/passwd\""),
        ] {
            let (found, why) = check(text).expect_err(text);
            assert_eq!(found, code, "{why}");
            assert!(why.contains(named) && why.contains("hustings-script"), "{why}");
        }
        std::fs::remove_file(script).unwrap();
    }

    #[test]
    fn exit_codes_are_those_of_env() {
        let code = |program: &str| match check(OsStr::new(program)) {
            Ok(()) => 0,
            Err(error) => error.exit_code(),
        };
        assert_eq!(["sh", "/bin/sh"].map(code), [0, 0]);
        assert_eq!(["no-such-program", "/no/such/program", ""].map(code), [127; 3]);
        assert_eq!(["/", "/etc/passwd"].map(code), [126; 2]);
    }
}
