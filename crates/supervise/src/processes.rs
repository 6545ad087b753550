//! Finds, signals and reaps the descendants of this process, by `/proc`.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};

use hustings_protocol::{Duration, Instant};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpgid, getpid, kill_process, pidfd_open,
    pidfd_send_signal, wait,
};

use hustings_system::clock;

/// The interval of the search for descendants that started others while they were being killed.
pub(crate) const SWEEP_EVERY: Duration = Duration::from_millis(10);

/// The time after which processes that survive a kill are reported.
const COMPLAIN_AFTER: Duration = Duration::from_secs(5);

/// A descendant of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: Pid,
    /// The process group.
    pub(crate) group: Pid,
    /// The parent when the process was found.
    parent: Pid,
}

/// The state changes of this process's children.
#[derive(Debug)]
pub(crate) struct Reaped {
    /// Children that have ended since the last call.
    pub(crate) ended: Vec<(Pid, WaitStatus)>,
    /// Children that a signal stopped, or that were continued (`None`), in this order.
    pub(crate) stops: Vec<(Pid, Option<i32>)>,
    /// True if there are other children. If not, this process has no descendants, because it adopts
    /// all orphans.
    pub(crate) others: bool,
}

/// The exit status of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The process exited with this code.
    Exited(u8),
    /// This signal killed the process.
    Killed(u8),
}

impl Ending {
    /// Converts a wait status. Returns `None` if the process has not ended.
    pub(crate) fn of(status: WaitStatus) -> Option<Self> {
        let exited = status.exit_status().map(low_byte).map(Self::Exited);
        exited.or_else(|| status.terminating_signal().map(low_byte).map(Self::Killed))
    }

    /// The status of a process that this signal killed.
    pub(crate) fn killed_by(signal: Signal) -> Self {
        Self::Killed(low_byte(signal.as_raw()))
    }

    /// The exit code that a shell would report.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Exited(code) => code,
            Self::Killed(signal) => signal.saturating_add(128),
        }
    }

    /// A clause about a process: "ended with code 7", "was killed by signal 9".
    pub(crate) fn in_words(self) -> String {
        match self {
            Self::Exited(code) => format!("ended with code {code}"),
            Self::Killed(signal) => format!("was killed by signal {signal}"),
        }
    }
}

/// Returns the low byte: the system keeps exit codes and signal numbers in eight bits.
fn low_byte(number: i32) -> u8 {
    number.to_le_bytes()[0]
}

/// Reaps the children that have ended, and collects those that were stopped or continued.
pub(crate) fn reap() -> io::Result<Reaped> {
    let options = WaitOptions::NOHANG | WaitOptions::UNTRACED | WaitOptions::CONTINUED;
    let mut reaped = Reaped { ended: Vec::new(), stops: Vec::new(), others: true };
    loop {
        match wait(options) {
            Ok(Some((pid, status))) if status.stopped() || status.continued() => {
                reaped.stops.push((pid, status.stopping_signal()));
            }
            Ok(Some(child)) => reaped.ended.push(child),
            Ok(None) => return Ok(reaped),
            Err(Errno::CHILD) => {
                reaped.others = false;
                return Ok(reaped);
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The repeated killing of all descendants of this process. One pass is not enough, because
/// processes start others meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sweep {
    /// `None` after the delay has been reported.
    complain_at: Option<Instant>,
}

impl Sweep {
    pub(crate) fn begin() -> Self {
        Self { complain_at: Some(clock::now() + COMPLAIN_AFTER) }
    }

    /// Kills the remaining processes. Call it every [`SWEEP_EVERY`] and after each end of a
    /// process, until [`reap`] finds no child. If a pass fails, for example because no descriptor
    /// is free to read `/proc`, the next one may succeed.
    pub(crate) fn go(&mut self) {
        let killed = listed_descendants().and_then(|found| kill_all(&found).map(|()| found));
        if self.complain_at.is_some_and(|time| time <= clock::now()) {
            self.complain_at = None;
            let complaint = match killed {
                Ok(left) => {
                    let pids: Vec<_> = left.iter().map(|process| process.pid.to_string()).collect();
                    format!(
                        "killed processes have not ended: find out what holds {}",
                        pids.join(" ")
                    )
                }
                Err(error) => format!("cannot find processes to kill, still trying: {error}"),
            };
            // Without a reader of stderr the warning is lost.
            let _ = writeln!(io::stderr(), "warning: {complaint}");
        }
    }
}

/// Kills the children of a process.
pub(crate) fn kill_children(parent: Pid) -> io::Result<()> {
    kill_all(&children(parent)?)
}

/// Kills processes. If that fails for one of them, the others are killed all the same.
fn kill_all(processes: &[Process]) -> io::Result<()> {
    let killed = processes.iter().map(|it| it.signal(&[Signal::KILL]));
    killed.fold(Ok(()), io::Result::and)
}

impl Process {
    /// Sends signals to this process, unless its id belongs to another process by now.
    ///
    /// A pidfd holds the process before its parent is read again. A process that got the id later
    /// has another parent, unless it is a descendant of the same parent, and then it may be
    /// signalled too. This process has adopted orphans.
    ///
    /// # Errors
    /// If the parent cannot be read, for example because no descriptor is free. Then nothing was
    /// sent.
    pub(crate) fn signal(&self, signals: &[Signal]) -> io::Result<()> {
        let held = pidfd_open(self.pid, PidfdFlags::empty());
        let is_same = |parent| parent == self.parent || parent == getpid();
        if matches!(held, Err(Errno::SRCH)) || !parent_of(self.pid)?.is_some_and(is_same) {
            return Ok(()); // it has ended
        }
        for signal in signals {
            // If the process has ended, or this user may not signal it, `reap` shows it.
            match &held {
                Ok(held) => drop(pidfd_send_signal(held, *signal)),
                // The system has no pidfds, or no free descriptor.
                Err(_) => send(self.pid, *signal),
            }
        }
        Ok(())
    }
}

/// Opens a pidfd of the process with this id, if it is a child of `parent`. The caller must be the
/// parent of `parent` and must not have reaped it, so no other process can have the id of `parent`.
pub(crate) fn hold_child(parent: Pid, child: Pid) -> io::Result<Option<OwnedFd>> {
    let held = match pidfd_open(child, PidfdFlags::empty()) {
        Err(Errno::SRCH) => return Ok(None),
        held => held?,
    };
    let is_child = parent_of(child)? == Some(parent);
    Ok(Some(held).filter(|_| is_child))
}

/// Sends a signal to a process. If it has ended, or this user may not signal it, [`reap`] shows it.
pub(crate) fn send(pid: Pid, signal: Signal) {
    let _ = kill_process(pid, signal);
}

/// True if the process of a pidfd has ended: all threads have ended, and its files are closed. It
/// need not have been reaped.
pub(crate) fn has_ended(process: impl AsFd) -> io::Result<bool> {
    let mut files = [PollFd::new(&process, PollFlags::IN)];
    retry_on_intr(|| poll(&mut files, Some(&Timespec::default())))?;
    Ok(files[0].revents().contains(PollFlags::IN))
}

/// Returns all descendants of this process, except those that start meanwhile.
pub(crate) fn descendants() -> io::Result<Vec<Process>> {
    let mut children = all_by_parent()?;
    // Removing the entry prevents a cycle if a process was seen under two parents.
    descend(|parent| Ok(children.remove(&parent).unwrap_or_default()))
}

/// Returns the descendants of this process from the kernel's lists of children. This takes no
/// longer on a busy host. But some may be missing if others end meanwhile.
fn listed_descendants() -> io::Result<Vec<Process>> {
    match descend(listed_children) {
        // Not every kernel has these lists.
        Err(error) if error.kind() == io::ErrorKind::NotFound => descendants(),
        found => found,
    }
}

fn descend(mut children: impl FnMut(Pid) -> io::Result<Vec<Process>>) -> io::Result<Vec<Process>> {
    let mut found = children(getpid())?;
    let mut looked_at = 0;
    while let Some(parent) = found.get(looked_at) {
        looked_at += 1;
        // A process that has ended since has no children.
        let below = children(parent.pid).unwrap_or_default();
        found.extend(below);
    }
    Ok(found)
}

/// Returns the children of a process.
fn children(parent: Pid) -> io::Result<Vec<Process>> {
    match listed_children(parent) {
        // Not every kernel has these lists.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(all_by_parent()?.remove(&parent).unwrap_or_default())
        }
        found => found,
    }
}

/// Returns the children of a process from the kernel's list for each of its threads.
fn listed_children(parent: Pid) -> io::Result<Vec<Process>> {
    let mut children = Vec::new();
    for thread in fs::read_dir(format!("/proc/{parent}/task"))? {
        let list = fs::read_to_string(thread?.path().join("children"))?;
        for pid in list.split_whitespace().filter_map(number) {
            // A process that has ended since has no group.
            if let Ok(group) = getpgid(Some(pid)) {
                children.push(Process { pid, group, parent });
            }
        }
    }
    Ok(children)
}

/// Returns all processes, by parent.
fn all_by_parent() -> io::Result<HashMap<Pid, Vec<Process>>> {
    let mut children: HashMap<Pid, Vec<Process>> = HashMap::new();
    for entry in fs::read_dir("/proc")? {
        // An entry that is no process, or has ended since, has no status to read.
        let Ok(stat) = fs::read_to_string(entry?.path().join("stat")) else {
            continue;
        };
        if let Some(process) = parse(&stat) {
            children.entry(process.parent).or_default().push(process);
        }
    }
    Ok(children)
}

/// Returns the parent of a process, or `None` if the process has ended or has no parent.
fn parent_of(pid: Pid) -> io::Result<Option<Pid>> {
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => Ok(parse(&stat).map(|process| process.parent)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        // The process ended between opening and reading.
        Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Parses `/proc/PID/stat`: "PID (NAME) STATE PARENT GROUP ...". Returns `None` for a process
/// without a parent.
fn parse(stat: &str) -> Option<Process> {
    let (pid, rest) = stat.split_once(' ')?;
    // A name may contain parentheses and spaces.
    let (_, rest) = rest.rsplit_once(')')?;
    let mut numbers = rest.split_whitespace().skip(1).map(number);
    let parent = numbers.next()??;
    let group = numbers.next()??;
    let pid = number(pid)?;
    Some(Process { pid, group, parent })
}

fn number(text: &str) -> Option<Pid> {
    Pid::from_raw(text.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    use super::*;

    #[test]
    fn status_is_parsed_whatever_the_process_name() {
        let pid = |number| Pid::from_raw(number).expect("not zero");
        let process = Process { pid: pid(17), group: pid(12), parent: pid(13) };
        for name in ["sleep", "a b", ") S 1 1 (", ""] {
            let stat = format!("17 ({name}) S 13 12 12 0 -1 4194304 98");
            assert_eq!(parse(&stat), Some(process), "{name}");
        }
        for stat in ["", "1 (init) S 0 1 1", "17 (sleep", "17 sleep S 13 12"] {
            assert_eq!(parse(stat), None, "{stat}");
        }
    }

    #[test]
    fn exit_codes_are_those_of_a_shell() {
        assert_eq!(Ending::Exited(3).code(), 3);
        assert_eq!(Ending::Killed(15).code(), 143);
    }

    #[test]
    fn only_the_children_of_a_process_are_killed() {
        let script = "sleep 1000 & echo; wait; read line";
        let mut parent = std::process::Command::new("sh")
            .args(["-c", script])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("sh starts");
        let mut said = [0];
        let output = parent.stdout.as_mut().expect("it is piped");
        io::Read::read_exact(output, &mut said).expect("it has a child");
        let pid = Pid::from_child(&parent);
        kill_children(pid).expect("/proc is readable");
        drop(parent.stdin.take());
        let status = parent.wait().expect("it is our child");
        assert_eq!(status.code(), Some(1), "it has seen its child end, and read on");
    }

    /// Starts a shell with a child. The shell reads a line, and exits with 1 at the end of its
    /// input.
    fn shell_with_child() -> (std::process::Child, Process) {
        let mut shell = std::process::Command::new("sh")
            .args(["-c", "sleep 1000 & echo; read line; exit 1"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("sh starts");
        let output = shell.stdout.as_mut().expect("it is piped");
        io::Read::read_exact(output, &mut [0]).expect("it has a child");
        let child = children(Pid::from_child(&shell)).expect("/proc is readable")[0];
        (shell, child)
    }

    /// The id of a process that ended may belong to another process with another parent.
    #[test]
    fn process_with_an_unexpected_parent_is_not_signalled() {
        let (mut shell, child) = shell_with_child();
        let another = Process { parent: Pid::INIT, ..child };
        assert!(matches!(hold_child(Pid::INIT, child.pid), Ok(None)));
        let held = hold_child(child.parent, child.pid).expect("it can be held");
        let held = held.expect("it is a child of the shell");
        another.signal(&[Signal::KILL]).expect("/proc is readable");
        for _ in 0..20 {
            std::thread::sleep(std::time::Duration::from_millis(5));
            assert!(!has_ended(&held).expect("it can be polled"));
        }
        child.signal(&[Signal::KILL]).expect("/proc is readable");
        while !has_ended(&held).expect("it can be polled") {}
        drop(shell.stdin.take());
        shell.wait().expect("it is our child");
        child.signal(&[Signal::KILL]).expect("it has ended");
    }

    /// Runs in its own process, because the limit on descriptors applies to a whole process.
    #[test]
    fn a_process_that_cannot_be_looked_at_is_not_taken_for_ended() {
        const INSIDE: &str = "HUSTINGS_TEST_INSIDE";
        const NAME: &str =
            "processes::tests::a_process_that_cannot_be_looked_at_is_not_taken_for_ended";
        if std::env::var_os(INSIDE).is_none() {
            let inside = std::process::Command::new(std::env::current_exe().unwrap())
                .args([NAME, "--exact", "--nocapture"])
                .env(INSIDE, "yes")
                .output()
                .expect("this test starts");
            let said = String::from_utf8_lossy(&inside.stdout);
            assert!(inside.status.success() && said.contains("1 passed"), "{said}");
            return;
        }
        let (mut shell, child) = shell_with_child();
        let before = getrlimit(Resource::Nofile);
        let none = Rlimit { current: Some(0), ..before };
        setrlimit(Resource::Nofile, none).expect("it can be lowered");
        let sent = child.signal(&[Signal::KILL]);
        setrlimit(Resource::Nofile, before).expect("it can be raised again");
        kill_children(child.parent).expect("/proc is readable again");
        drop(shell.stdin.take());
        shell.wait().expect("it is our child");
        let error = sent.expect_err("nothing could be read");
        assert_eq!(error.raw_os_error(), Some(Errno::MFILE.raw_os_error()));
    }

    #[test]
    fn both_ways_find_the_children_of_this_process() {
        let mut child =
            std::process::Command::new("sleep").arg("1000").spawn().expect("sleep starts");
        let pid = Pid::from_child(&child);
        let found = [descendants(), listed_descendants()];
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        for found in found {
            let found = found.expect("/proc is readable");
            assert!(found.iter().any(|process| process.pid == pid));
        }
    }
}
