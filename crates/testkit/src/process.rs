//! A process that ends with its owner.

use std::io;
use std::ops::{Deref, DerefMut};
use std::process::{Child, Command};

use rustix::process::{Pid, Signal, kill_process};

/// A process that is killed and reaped when dropped.
#[derive(Debug)]
pub struct Process(Child);

impl Process {
    /// Starts the process.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        Ok(Self(command.spawn()?))
    }

    /// The process id.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    /// Sends a signal to the process.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(kill_process(self.pid(), signal)?)
    }

    /// Kills all processes at once, so that none sees another one die, and reaps them.
    pub fn kill_all<'p>(processes: impl IntoIterator<Item = &'p mut Self>) {
        let mut killed = Vec::new();
        for process in processes {
            // A process that has ended need not be killed.
            let _ = process.kill();
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
        &self.0
    }
}

impl DerefMut for Process {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
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
