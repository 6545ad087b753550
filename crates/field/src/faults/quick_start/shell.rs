//! A new user's shell on each host, in a directory of its own, and the programs that it starts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hustings_testkit::{Line, Outcome, Processes};
use rustix::process::Signal;

use super::{NAMES, guide};
use crate::Result;
use crate::testbed::Testbed;

/// Sets the host's name and executes the command line.
const SHELL: &str = r#"echo "$0" > /proc/sys/kernel/hostname && eval "exec $1""#;

/// A working directory on a host.
pub(super) struct Shell<'a> {
    testbed: Testbed<'a>,
    pub(super) host: usize,
    pub(super) directory: PathBuf,
}

impl<'a> Shell<'a> {
    /// Creates the directory in `work_dir`.
    pub(super) fn new(testbed: Testbed<'a>, host: usize, work_dir: &Path) -> Result<Self> {
        let directory = work_dir.join(NAMES[host]);
        fs::create_dir(&directory)?;
        Ok(Self { testbed, host, directory })
    }

    /// Runs a command of the guide and compares its output with the guide. Returns the output.
    pub(super) fn follow(&self, command: &str) -> Result<String> {
        let Outcome { code, printed, said } = Outcome::of(&mut self.command(command)?)?;
        let is_done = code == Some(0) && said.is_empty();
        ensure!(is_done, "{command} ended with {code:?}: {said}");
        guide::step(command)?.require_shown(&printed)?;
        Ok(printed)
    }

    /// Returns a command that runs `line` as a shell of this host would. The shell replaces itself
    /// with the command.
    pub(super) fn command(&self, line: &str) -> Result<Command> {
        let beside = self.testbed.program.parent().ok_or("the program is a file")?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::split_paths(&path);
        let path = std::env::join_paths([beside.to_owned()].into_iter().chain(path))?;
        // A separate UTS namespace holds the host's name. The process dies with this one, however
        // this one ends.
        let mut command = self.testbed.hosts.command(self.host, "unshare");
        command
            .args(["--uts", "setpriv", "--pdeathsig", "KILL"])
            .args(["sh", "-c", SHELL, NAMES[self.host], line])
            .current_dir(&self.directory)
            .env("PATH", path)
            .stdin(Stdio::null());
        Ok(command)
    }
}

/// One program on several hosts, and the lines in which it reports the leader.
pub(super) struct ReadPrograms {
    processes: Processes,
    /// All lines that the processes have printed.
    lines: Vec<Line>,
}

impl Default for ReadPrograms {
    fn default() -> Self {
        Self { processes: Processes::new(NAMES.len()), lines: Vec::new() }
    }
}

impl ReadPrograms {
    /// Starts a process by typing `line`.
    pub(super) fn start(&mut self, shell: &Shell<'_>, line: &str) -> Result<()> {
        let mut command = shell.command(line)?;
        // An agent logs to stderr what a watch prints to stdout.
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(self.processes.start(shell.host, &mut command)?)
    }

    /// Sends a signal to the process on `host`.
    pub(super) fn signal(&self, host: usize, signal: Signal) -> Result<()> {
        Ok(self.processes.signal(host, signal)?)
    }

    /// Waits until the last reports of all hosts in `who` name the same leader, and it is in
    /// `leaders`.
    pub(super) fn agree(
        &mut self,
        who: &[usize],
        leaders: &[usize],
        patience: Duration,
    ) -> Result<usize> {
        let agreed = |it: &Self| {
            let is_named =
                |leader: &&usize| who.iter().all(|&by| it.named_by(by) == Some(**leader));
            leaders.iter().find(is_named).copied()
        };
        self.until(patience, agreed).ok_or_else(|| {
            let printed: Vec<&str> = who.iter().flat_map(|&host| self.lines(host)).collect();
            let printed = printed.join("\n");
            format!("hosts {who:?} do not name one of {leaders:?} within {patience:?}:\n{printed}")
                .into()
        })
    }

    /// Collects lines for `span`.
    pub(super) fn listen_for(&mut self, span: Duration) {
        self.until::<()>(span, |_| None);
    }

    /// Collects lines until `look` returns a value, for at most `patience`.
    fn until<T>(&mut self, patience: Duration, look: impl Fn(&Self) -> Option<T>) -> Option<T> {
        let until = Instant::now() + patience;
        loop {
            if let Some(found) = look(self) {
                return Some(found);
            }
            let left = until.saturating_duration_since(Instant::now());
            self.lines.push(self.processes.next_line(left)?);
        }
    }

    /// Returns the lines printed on `host`.
    pub(super) fn lines(&self, host: usize) -> Vec<&str> {
        let its = self.lines.iter().filter(|line| line.place == host);
        its.map(|line| line.text.as_str()).collect()
    }

    fn named_by(&self, host: usize) -> Option<usize> {
        self.lines(host).into_iter().rev().find_map(named_leader)?
    }
}

/// Parses the leader that a line names. Returns `None` if the line is about something else, and
/// `Some(None)` if it reports that there is no leader.
fn named_leader(line: &str) -> Option<Option<usize>> {
    let (_, news) = line.split_once("group web: ")?;
    if news == "no leader" || news.starts_with("no leader (") {
        return Some(None);
    }
    let (name, _) = news.split_once(" leads")?;
    Some(NAMES.iter().position(|it| *it == name))
}

#[cfg(test)]
mod tests {
    use super::named_leader;

    #[test]
    fn leader_is_parsed_from_logs_and_watches() {
        let check = |line: &str, expected| assert_eq!(named_leader(line), expected, "{line}");
        check("group web: beta leads, at 10.0.0.2:38211", Some(Some(1)));
        check("2026  INFO group web: alpha leads (this member)", Some(Some(0)));
        check("group web: no leader", Some(None));
        check("2026  INFO group web: no leader (goodbye)", Some(None));
        check("INFO group web: suppress: announce 100ms", None);
        check("member alpha is up", None);
    }
}
