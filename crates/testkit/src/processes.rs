//! Several processes in numbered places, for example one on each host.

use std::io::{self, Read};
use std::process::Command;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::{Process, line_reader};

/// Numbered places for processes. Those that run when this is dropped are all killed at once, so
/// that none sees another one die.
#[derive(Debug)]
pub struct Processes {
    places: Vec<Option<Process>>,
    lines: Receiver<(Line, u32)>,
    sender: Sender<(Line, u32)>,
}

/// A line that the process in a place printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The number of the place.
    pub place: usize,
    /// The line without its end.
    pub text: String,
}

impl Processes {
    /// Returns `count` empty places.
    pub fn new(count: usize) -> Self {
        let (sender, lines) = mpsc::channel();
        Self { places: (0..count).map(|_| None).collect(), lines, sender }
    }

    /// The number of places.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// Starts a process in a place. Standard output and standard error are read if they are piped.
    /// A process that ran there before is killed.
    pub fn start(&mut self, place: usize, command: &mut Command) -> io::Result<()> {
        let mut process = Process::spawn(command)?;
        let pid = process.id();
        if let Some(output) = process.stdout.take() {
            self.forward(place, pid, output);
        }
        if let Some(output) = process.stderr.take() {
            self.forward(place, pid, output);
        }
        self.places[place] = Some(process);
        Ok(())
    }

    fn forward(&self, place: usize, pid: u32, output: impl Read + Send + 'static) {
        let make = move |text| (Line { place, text }, pid);
        line_reader::forward(output, self.sender.clone(), make);
    }

    /// Returns the process in a place, or `None` if there is none.
    pub fn get(&self, place: usize) -> Option<&Process> {
        self.places[place].as_ref()
    }

    /// Returns the process in a place. Fails if there is none.
    pub fn process(&mut self, place: usize) -> io::Result<&mut Process> {
        let process = self.places[place].as_mut();
        process.ok_or_else(|| io::Error::other(format!("no process runs in place {place}")))
    }

    /// Sends a signal to the process in a place.
    pub fn signal(&self, place: usize, signal: Signal) -> io::Result<()> {
        let missing = || io::Error::other(format!("no process runs in place {place}"));
        self.get(place).ok_or_else(missing)?.signal(signal)
    }

    /// Ends the process in a place, if there is one, with `signal`, and waits for its end.
    pub fn end(&mut self, place: usize, signal: Signal) -> io::Result<()> {
        if let Some(mut process) = self.places[place].take() {
            process.signal(signal)?;
            process.wait()?;
        }
        Ok(())
    }

    /// Returns the next line of a process that is still in its place, if one arrives in time.
    pub fn next_line(&self, within: Duration) -> Option<Line> {
        let until = Instant::now() + within;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let (line, pid) = self.lines.recv_timeout(left).ok()?;
            if self.get(line.place).is_some_and(|it| it.id() == pid) {
                return Some(line);
            }
        }
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        Process::kill_all(self.places.iter_mut().flatten());
    }
}

#[cfg(test)]
mod tests {
    use super::Processes;
    use crate::observe::is_running;
    use crate::{DEADLINE, command};
    use rustix::process::Signal;
    use std::process::Command;
    use std::time::Duration;

    fn shell(script: &str) -> Command {
        let mut shell = command("/bin/sh", "-c");
        shell.arg(script);
        shell
    }

    #[test]
    fn lines_of_both_streams_arrive_with_their_place() {
        let mut processes = Processes::new(2);
        processes.start(0, &mut shell("echo one; exec sleep 1000")).expect("it starts");
        processes.start(1, &mut shell("echo two >&2; exec sleep 1000")).expect("it starts");
        let mut lines = [0, 1].map(|_| processes.next_line(DEADLINE).expect("a line"));
        lines.sort_by_key(|line| line.place);
        assert_eq!(lines.map(|line| line.text), ["one", "two"]);
        let pid = processes.process(1).expect("it runs").pid();
        drop(processes);
        assert!(!is_running(pid));
    }

    #[test]
    fn lines_of_a_former_process_are_dropped() {
        let mut processes = Processes::new(1);
        processes.start(0, &mut shell("echo former; exec sleep 1000")).expect("it starts");
        assert!(processes.next_line(DEADLINE).is_some());
        processes.start(0, &mut shell("echo again; exec sleep 1000")).expect("it starts");
        processes.end(0, Signal::KILL).expect("it runs");
        assert_eq!(processes.next_line(Duration::from_millis(20)), None);
        assert!(processes.signal(0, Signal::TERM).is_err());
        assert!(processes.process(0).is_err());
    }
}
