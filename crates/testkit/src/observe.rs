//! Processes seen from outside, by `/proc`.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, io};

use rustix::process::Pid;

use crate::poll;

/// The time after which a wait fails.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Parses a process id.
#[track_caller]
pub fn pid(text: &str) -> Pid {
    let number = text.parse().ok().and_then(Pid::from_raw);
    number.unwrap_or_else(|| panic!("not a process id: {text}"))
}

/// True if a process is running. A process that has ended but has not been reaped is not.
pub fn is_running(pid: Pid) -> bool {
    state(pid).is_some_and(|state| state != "Z" && state != "X")
}

/// The state letter of a process as in `ps`, or `None` if there is no such process.
pub fn state(pid: Pid) -> Option<String> {
    Some(stat(pid)?.swap_remove(0))
}

/// The parent of a process, or `None` if there is no such process.
pub fn parent(process: Pid) -> Option<Pid> {
    Pid::from_raw(stat(process)?.get(1)?.parse().ok()?)
}

/// The children of a process that have not been reaped.
pub fn children(of: Pid) -> Vec<Pid> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|it| it.file_name().to_str()?.parse().ok());
    let pids = numbers.filter_map(Pid::from_raw);
    pids.filter(|it| parent(*it) == Some(of)).collect()
}

/// Waits until all these processes have ended.
#[track_caller]
pub fn assert_gone(pids: &[Pid]) {
    eventually(|| (!pids.iter().any(|pid| is_running(*pid))).then_some(()));
}

/// Waits until `look` returns a value.
#[track_caller]
pub fn eventually<T>(look: impl FnMut() -> Option<T>) -> T {
    poll(PATIENCE, look).unwrap_or_else(|| panic!("waited {PATIENCE:?} in vain"))
}

/// Returns the executable of an example. Cargo builds examples with the tests, but not for a single
/// test.
pub fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test is a file");
    let profile = test.parent().and_then(Path::parent);
    let profile = profile.expect("tests lie in a directory of the profile's");
    let program = profile.join("examples").join(name);

    let remedy = "build it: cargo build --workspace --examples";
    let built = modified(&program).expect(remedy);
    let sources = fs::read_to_string(program.with_extension("d")).expect(remedy);
    for source in sources.split_whitespace() {
        let is_newer = modified(Path::new(source)).is_ok_and(|time| time > built);
        assert!(!is_newer, "{source} is newer than {program:?}: {remedy}");
    }
    program
}

fn modified(path: &Path) -> io::Result<SystemTime> {
    fs::metadata(path)?.modified()
}

/// Returns the fields after the name in `/proc/PID/stat`. The name may contain anything.
fn stat(pid: Pid) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::{children, is_running, parent, pid, state};
    use crate::Process;
    use std::process::Command;

    #[test]
    fn processes_are_found_by_their_parents() {
        let child = Process::spawn(Command::new("sleep").arg("1000")).expect("sleep starts");
        let us = pid(&std::process::id().to_string());
        assert_eq!(parent(child.pid()), Some(us));
        assert!(children(us).contains(&child.pid()));
        assert!(is_running(us));
    }

    #[test]
    fn process_that_has_not_been_reaped_does_not_count_as_running() {
        let mut child = Process::spawn(&mut Command::new("true")).expect("true starts");
        let pid = child.pid();
        super::assert_gone(&[pid]);
        assert_eq!(state(pid).as_deref(), Some("Z"));
        child.wait().expect("it has ended");
        assert_eq!(state(pid), None);
        assert_eq!(parent(pid), None);
    }
}
