//! Counts how often processes sync their writes to disk, from their system calls.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::Result;

const ATTACHES_WITHIN: Duration = Duration::from_secs(5);

/// Counts the syncs of some processes and of their children until it is dropped.
pub(super) struct Syncs {
    tracer: Child,
    log: PathBuf,
}

impl Syncs {
    /// Begins to count, with a log file in `home`.
    pub(super) fn begin(processes: &[u32], home: &Path) -> Result<Self> {
        let log = home.join("syncs");
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-e", "trace=fsync,fdatasync,sync,syncfs", "-o"]);
        command.arg(&log);
        for process in processes {
            command.args(["-p", &process.to_string()]);
        }
        command.stdin(Stdio::null()).stderr(Stdio::null());
        let syncs = Self { tracer: command.spawn()?, log };
        let until = Instant::now() + ATTACHES_WITHIN;
        while !processes.iter().all(|it| is_traced(*it)) {
            if Instant::now() >= until {
                return Err("strace does not attach: may this user trace processes?".into());
            }
            thread::sleep(Duration::from_millis(2));
        }
        Ok(syncs)
    }

    /// Returns the count since the beginning.
    pub(super) fn read(&self) -> Result<u64> {
        Ok(calls(&fs::read_to_string(&self.log)?))
    }
}

impl Drop for Syncs {
    fn drop(&mut self) {
        // On SIGTERM strace detaches from the processes that it traces.
        let _ = kill_process(Pid::from_child(&self.tracer), Signal::TERM);
        let _ = self.tracer.wait();
    }
}

fn is_traced(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|tracer| tracer.trim() != "0")
}

/// Counts the calls that began. If another thread acts during a call, strace writes two lines for
/// it.
fn calls(log: &str) -> u64 {
    let began = |line: &&str| line.contains("sync(") || line.contains("syncfs(");
    log.lines().filter(began).count() as u64
}

#[cfg(test)]
mod tests {
    use super::calls;

    #[test]
    fn call_on_two_lines_counts_once() {
        let log = "\
1907  fdatasync(9 <unfinished ...>
1908  fsync(4)                          = 0
1907  <... fdatasync resumed>)          = 0
1907  +++ exited with 0 +++
1908  fdatasync(9)                      = 0
";
        assert_eq!(calls(log), 3);
        assert_eq!(calls(""), 0);
    }
}
