//! The processes below this one, as `/proc` has them.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, wait};

/// How often to look for descendants that started others while they were being killed.
pub(super) const SWEEP_EVERY: Duration = Duration::from_millis(10);

/// A process below this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: Pid,
    /// Its process group.
    pub(super) group: Pid,
}

/// What became of the children of this process.
#[derive(Debug)]
pub(super) struct Reaped {
    /// Those that have ended since this was last asked.
    pub(super) ended: Vec<(Pid, WaitStatus)>,
    /// Whether there are others. If not, nothing lives below this process: it adopts all orphans.
    pub(super) others: bool,
}

/// Takes note of the children that have ended.
pub(super) fn reap() -> io::Result<Reaped> {
    let mut ended = Vec::new();
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(child)) => ended.push(child),
            Ok(None) => {
                return Ok(Reaped {
                    ended,
                    others: true,
                });
            }
            Err(rustix::io::Errno::CHILD) => {
                return Ok(Reaped {
                    ended,
                    others: false,
                });
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Kills every descendant of this process. Others may come into being meanwhile: repeat it until [`reap`] says
/// that there is none.
pub(super) fn kill_descendants() -> io::Result<Vec<Process>> {
    let found = descendants()?;
    for process in &found {
        send(process.pid, Signal::KILL);
    }
    Ok(found)
}

/// Sends a signal to a process that may just have ended, or may not be ours to signal: either shows in [`reap`].
pub(super) fn send(pid: Pid, signal: Signal) {
    let _ = kill_process(pid, signal);
}

/// The descendants of this process.
pub(super) fn descendants() -> io::Result<Vec<Process>> {
    let mut children: HashMap<Pid, Vec<Process>> = HashMap::new();
    for entry in fs::read_dir("/proc")? {
        // What is no process, or ended since, has no status to read.
        let Ok(stat) = fs::read_to_string(entry?.path().join("stat")) else {
            continue;
        };
        if let Some((parent, process)) = parse(&stat) {
            children.entry(parent).or_default().push(process);
        }
    }
    let mut found = Vec::new();
    let mut parents = vec![getpid()];
    while let Some(parent) = parents.pop() {
        // Removed, so that a process that was seen under two parents cannot make this a circle.
        let below = children.remove(&parent).unwrap_or_default();
        parents.extend(below.iter().map(|process| process.pid));
        found.extend(below);
    }
    Ok(found)
}

/// A process and its parent from `/proc/PID/stat`: "PID (NAME) STATE PARENT GROUP ...". None for a process
/// without a parent.
fn parse(stat: &str) -> Option<(Pid, Process)> {
    let (pid, rest) = stat.split_once(' ')?;
    // A name may have parentheses and spaces of its own.
    let (_, rest) = rest.rsplit_once(')')?;
    let mut numbers = rest.split_whitespace().skip(1).map(number);
    let parent = numbers.next()??;
    let group = numbers.next()??;
    let pid = number(pid)?;
    Some((parent, Process { pid, group }))
}

fn number(text: &str) -> Option<Pid> {
    Pid::from_raw(text.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_whatever_the_name() {
        let pid = |number| Pid::from_raw(number).expect("not zero");
        let process = Process {
            pid: pid(17),
            group: pid(12),
        };
        for name in ["sleep", "a b", ") S 1 1 (", ""] {
            let stat = format!("17 ({name}) S 13 12 12 0 -1 4194304 98");
            assert_eq!(parse(&stat), Some((pid(13), process)), "{name}");
        }
        for stat in ["", "1 (init) S 0 1 1", "17 (sleep", "17 sleep S 13 12"] {
            assert_eq!(parse(stat), None, "{stat}");
        }
    }

    #[test]
    fn this_process_finds_what_it_started() {
        let mut child = std::process::Command::new("sleep")
            .arg("1000")
            .spawn()
            .expect("sleep starts");
        let pid = Pid::from_child(&child);
        let found = descendants().expect("/proc is readable");
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        assert!(found.iter().any(|process| process.pid == pid));
    }
}
