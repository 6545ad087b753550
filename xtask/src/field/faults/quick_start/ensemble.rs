//! One program on several hosts, heard by the lines in which it tells who leads.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::NAMES;
use super::desk::Desk;
use crate::Result;

/// The processes of a program, which end when dropped.
pub(super) struct Ensemble {
    processes: Vec<(usize, Child)>,
    /// All that they have printed, and on which host.
    lines: Vec<Line>,
    heard: Receiver<Line>,
    voice: Sender<Line>,
}

struct Line {
    host: usize,
    text: String,
}

impl Default for Ensemble {
    fn default() -> Self {
        let (voice, heard) = mpsc::channel();
        Self {
            processes: Vec::new(),
            lines: Vec::new(),
            heard,
            voice,
        }
    }
}

impl Ensemble {
    /// Starts one by typing `line`.
    pub(super) fn start(&mut self, desk: &Desk<'_>, line: &str) -> Result<()> {
        let mut command = desk.typed(line)?;
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn()?;
        // An agent tells by its log what a watch prints.
        if let (Some(printed), Some(said)) = (process.stdout.take(), process.stderr.take()) {
            self.listen(desk.host, printed);
            self.listen(desk.host, said);
        }
        self.processes.push((desk.host, process));
        Ok(())
    }

    fn listen(&self, host: usize, output: impl Read + Send + 'static) {
        let voice = self.voice.clone();
        thread::spawn(move || {
            let lines = BufReader::new(output)
                .lines()
                .map_while(std::io::Result::ok);
            for text in lines {
                if voice.send(Line { host, text }).is_err() {
                    return; // the walk is over
                }
            }
        });
    }

    /// Sends a signal to the one on `host`.
    pub(super) fn signal(&self, host: usize, signal: Signal) -> Result<()> {
        let found = self.processes.iter().find(|(its, _)| *its == host);
        let (_, process) = found.ok_or("no such process")?;
        Ok(kill_process(Pid::from_child(process), signal)?)
    }

    /// Waits until the last word of each of the hosts `who` is the same leader, among `leaders`.
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
            match self.heard.recv_timeout(left) {
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

    /// Listens for `span`, whatever happens.
    pub(super) fn listen_for(&mut self, span: Duration) {
        let until = Instant::now() + span;
        let left = || until.saturating_duration_since(Instant::now());
        while let Ok(line) = self.heard.recv_timeout(left()) {
            self.lines.push(line);
        }
    }

    /// What was printed on `host`.
    pub(super) fn lines(&self, host: usize) -> Vec<&str> {
        let its = self.lines.iter().filter(|line| line.host == host);
        its.map(|line| line.text.as_str()).collect()
    }

    fn named_by(&self, host: usize) -> Option<usize> {
        self.lines(host).into_iter().rev().find_map(word)?
    }
}

impl Drop for Ensemble {
    fn drop(&mut self) {
        for (_, process) in &mut self.processes {
            // One that has ended by itself needs no end.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Whom a line names: inner none, nobody. None if it is about something else.
fn word(line: &str) -> Option<Option<usize>> {
    let (_, told) = line.split_once("group web: ")?;
    let (name, _) = told.split_once(" leads")?;
    Some(NAMES.iter().position(|it| *it == name))
}

#[cfg(test)]
mod tests {
    use super::word;

    #[test]
    fn logs_and_watches_are_read() {
        let check = |line: &str, expected| assert_eq!(word(line), expected, "{line}");
        check("group web: beta leads, at 10.0.0.2:38211", Some(Some(1)));
        check(
            "2026  INFO group web: alpha leads (this member)",
            Some(Some(0)),
        );
        check("group web: nobody leads", Some(None));
        check("INFO group web: suppress: announce 100ms", None);
        check("member alpha is up", None);
    }
}
