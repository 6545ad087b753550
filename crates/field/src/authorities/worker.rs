//! The command that runs under tenure, and the socket to which it reports. The command reports when
//! it began to run, and then does nothing.

use std::fs;
use std::io::{self, BufRead};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use clap::Args;

use crate::Result;
use crate::measure::now_ns;

/// The command ends by itself after this time, in case the field does not end it.
const LIVES_FOR: Duration = Duration::from_secs(180);

#[derive(Args)]
pub(crate) struct Options {
    /// The socket to report to
    reports: PathBuf,
    /// The member whose command this is
    member: usize,
    /// Begin when a line arrives on standard input
    #[arg(long)]
    after_a_line: bool,
}

/// Reports its beginning, and waits.
pub(crate) fn run(options: &Options) -> Result<()> {
    if options.after_a_line && io::stdin().lock().read_line(&mut String::new())? == 0 {
        return Ok(()); // the writer has ended
    }
    let report = (options.member, std::process::id(), now_ns());
    UnixDatagram::unbound()?.send_to(&serde_json::to_vec(&report)?, &options.reports)?;
    thread::sleep(LIVES_FOR);
    Ok(())
}

/// The report of a command that has begun to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StartReport {
    pub(super) member: usize,
    pub(super) pid: u32,
    /// The time on the boot clock.
    pub(super) at_ns: u64,
}

/// The socket at which commands report.
pub(super) struct ReportSocket {
    socket: UnixDatagram,
    pub(super) path: PathBuf,
    /// All reports that have arrived.
    pub(super) received: Vec<StartReport>,
}

impl ReportSocket {
    pub(super) fn open(home: &Path) -> Result<Self> {
        let path = home.join("desk");
        Ok(Self { socket: UnixDatagram::bind(&path)?, path, received: Vec::new() })
    }

    /// True if the command that sent this report still runs.
    pub(super) fn is_running(&self, report: StartReport) -> bool {
        runs(report.pid, &self.path.to_string_lossy())
    }

    /// Returns the last report that has arrived.
    pub(super) fn last(&mut self) -> Result<StartReport> {
        while self.within(Duration::from_millis(1))?.is_some() {}
        Ok(*self.received.last().ok_or("no command has begun")?)
    }

    /// Returns the next report if one arrives within `patience`.
    pub(super) fn within(&mut self, patience: Duration) -> Result<Option<StartReport>> {
        let mut bytes = [0; 100];
        self.socket.set_read_timeout(Some(patience))?;
        let length = match self.socket.recv(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            received => received?,
        };
        let (member, pid, at_ns) = serde_json::from_slice(&bytes[..length])?;
        let report = StartReport { member, pid, at_ns };
        self.received.push(report);
        Ok(Some(report))
    }
}

/// True if process `pid` runs with `word` on its command line. The check is needed because another
/// process may have the same pid by now. A process that has ended has no command line.
fn runs(pid: u32, word: &str) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).split('\0').any(|it| it == word)
}

#[cfg(test)]
mod tests {
    use super::{ReportSocket, StartReport, runs};

    #[test]
    fn last_report_is_that_of_the_command_that_began_last() {
        let home = hustings_testkit::Scratch::new("field-reports");
        let mut reports = ReportSocket::open(home.path()).unwrap();
        assert!(reports.last().is_err());
        let sender = std::os::unix::net::UnixDatagram::unbound().unwrap();
        for report in ["[1,20,300]", "[2,30,400]"] {
            sender.send_to(report.as_bytes(), &reports.path).unwrap();
        }
        assert_eq!(reports.last().unwrap(), StartReport { member: 2, pid: 30, at_ns: 400 });
        assert_eq!(reports.received.len(), 2);
        sender.send_to(b"3 4", &reports.path).unwrap();
        assert!(reports.last().is_err());
    }

    #[test]
    fn running_command_is_distinguished_from_others_and_from_zombies() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        // The child process exists before it executes its program.
        while !runs(child.id(), "1000") {
            std::thread::yield_now();
        }
        assert!(!runs(child.id(), "100"));
        child.kill().unwrap();
        // The child is a zombie until its exit code is read.
        while runs(child.id(), "1000") {
            std::thread::yield_now();
        }
        child.wait().unwrap();
    }
}
