//! One program on several hosts, and the lines in which it reports the leader.

use std::io::Read;
use std::process::Stdio;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use hustings_testkit::{Process, line_reader};
use rustix::process::Signal;

use super::NAMES;
use super::shell::Shell;
use crate::Result;

/// The processes of a program, which end when dropped.
pub(super) struct Processes {
    processes: Vec<(usize, Process)>,
    /// All lines that the processes have printed, with their hosts.
    lines: Vec<Line>,
    receiver: Receiver<Line>,
    sender: Sender<Line>,
}

struct Line {
    host: usize,
    text: String,
}

impl Default for Processes {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel();
        Self { processes: Vec::new(), lines: Vec::new(), receiver, sender }
    }
}

impl Processes {
    /// Starts a process by typing `line`.
    pub(super) fn start(&mut self, shell: &Shell<'_>, line: &str) -> Result<()> {
        let mut command = shell.command(line)?;
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Process::spawn(&mut command)?;
        // An agent logs to stderr what a watch prints to stdout.
        if let (Some(printed), Some(said)) = (process.stdout.take(), process.stderr.take()) {
            self.listen(shell.host, printed);
            self.listen(shell.host, said);
        }
        self.processes.push((shell.host, process));
        Ok(())
    }

    fn listen(&self, host: usize, output: impl Read + Send + 'static) {
        line_reader::forward(output, self.sender.clone(), move |text| Line { host, text });
    }

    /// Sends a signal to the process on `host`.
    pub(super) fn signal(&self, host: usize, signal: Signal) -> Result<()> {
        let found = self.processes.iter().find(|(its, _)| *its == host);
        let (_, process) = found.ok_or("no such process")?;
        Ok(process.signal(signal)?)
    }

    /// Waits until the last reports of all hosts in `who` name the same leader, and it is in
    /// `leaders`.
    pub(super) fn agree(
        &mut self,
        who: &[usize],
        leaders: &[usize],
        patience: Duration,
    ) -> Result<usize> {
        let until = Instant::now() + patience;
        loop {
            let agreed =
                |&&leader: &&usize| who.iter().all(|&it| self.named_by(it) == Some(leader));
            if let Some(&leader) = leaders.iter().find(agreed) {
                return Ok(leader);
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.receiver.recv_timeout(left) {
                Ok(line) => self.lines.push(line),
                Err(_) => {
                    let printed = who.iter().flat_map(|&host| self.lines(host));
                    let printed: Vec<&str> = printed.collect();
                    return Err(format!(
                        "hosts {who:?} do not name one of {leaders:?} within {patience:?}:\n{}",
                        printed.join("\n")
                    )
                    .into());
                }
            }
        }
    }

    /// Collects lines for `span`.
    pub(super) fn listen_for(&mut self, span: Duration) {
        let until = Instant::now() + span;
        let left = || until.saturating_duration_since(Instant::now());
        while let Ok(line) = self.receiver.recv_timeout(left()) {
            self.lines.push(line);
        }
    }

    /// Returns the lines printed on `host`.
    pub(super) fn lines(&self, host: usize) -> Vec<&str> {
        let its = self.lines.iter().filter(|line| line.host == host);
        its.map(|line| line.text.as_str()).collect()
    }

    fn named_by(&self, host: usize) -> Option<usize> {
        self.lines(host).into_iter().rev().find_map(named_leader)?
    }
}

/// Parses the leader that a line names. Returns `None` if the line is about something else, and
/// `Some(None)` if it reports that there is no leader.
fn named_leader(line: &str) -> Option<Option<usize>> {
    let (_, told) = line.split_once("group web: ")?;
    let (name, _) = told.split_once(" leads")?;
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
        check("group web: nobody leads", Some(None));
        check("INFO group web: suppress: announce 100ms", None);
        check("member alpha is up", None);
    }
}
