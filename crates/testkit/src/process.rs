//! A process that ends with its owner.

use std::io;
use std::ops::{Deref, DerefMut};
use std::process::{Child, Command};
use std::sync::mpsc::Receiver;

use rustix::process::{Pid, Signal, kill_process};

use crate::line_reader;

/// A process that is ended and reaped when dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// The signal that ends it.
    last_signal: Signal,
}

impl Process {
    /// Starts a process that is killed when dropped.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        let child = command.spawn();
        let child =
            child.map_err(|error| io::Error::new(error.kind(), format!("{command:?}: {error}")));
        Ok(Self { child: child?, last_signal: Signal::KILL })
    }

    /// Starts a process that receives SIGTERM when dropped, because it has to clean up.
    pub fn spawn_terminated(command: &mut Command) -> io::Result<Self> {
        let mut process = Self::spawn(command)?;
        process.last_signal = Signal::TERM;
        Ok(process)
    }

    /// The process id.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Returns the lines of its standard output, which must be piped.
    pub fn lines(&mut self) -> io::Result<Receiver<String>> {
        let output = self.child.stdout.take();
        let output = output.ok_or_else(|| io::Error::other("its output is not piped"))?;
        Ok(line_reader::read(output))
    }

    /// Sends a signal to the process.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(kill_process(self.pid(), signal)?)
    }

    /// Ends all processes at once, so that none sees another one die, and reaps them.
    pub fn kill_all<'p>(processes: impl IntoIterator<Item = &'p mut Self>) {
        let mut killed = Vec::new();
        for process in processes {
            // A process that has ended must not be signalled: its id may belong to another process.
            if let Ok(None) = process.try_wait() {
                let _ = process.signal(process.last_signal);
            }
            killed.push(process);
        }
        for process in killed {
            let _ = process.wait();
        }
    }
}

impl Deref for Process {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.child
    }
}

impl DerefMut for Process {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.child
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        Self::kill_all([self]);
    }
}

#[cfg(test)]
mod tests {
    use super::Process;
    use crate::observe::is_running;
    use rustix::process::Signal;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Command;

    fn sleeper() -> Process {
        Process::spawn(Command::new("sleep").arg("1000")).expect("sleep starts")
    }

    #[test]
    fn process_ends_with_its_owner() {
        let process = sleeper();
        let pid = process.pid();
        assert!(is_running(pid));
        drop(process);
        assert!(!is_running(pid));
    }

    #[test]
    fn process_receives_signals() {
        let mut process = sleeper();
        process.signal(Signal::TERM).expect("it runs");
        let status = process.wait().expect("it ends");
        assert_eq!(status.signal(), Some(15));
    }

    #[test]
    fn several_processes_are_killed_together() {
        let mut processes = [sleeper(), sleeper()];
        let pids = [processes[0].pid(), processes[1].pid()];
        Process::kill_all(&mut processes);
        assert!(!pids.into_iter().any(is_running));
    }
}
