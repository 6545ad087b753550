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
    let report = StartReport { member: options.member, pid: std::process::id(), at_ns: now_ns() };
    let socket = UnixDatagram::unbound()?;
    socket.send_to(report.to_string().as_bytes(), &options.reports)?;
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

impl std::fmt::Display for StartReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.member, self.pid, self.at_ns)
    }
}

impl StartReport {
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        Some(Self {
            member: words.next()?.parse().ok()?,
            pid: words.next()?.parse().ok()?,
            at_ns: words.next()?.parse().ok()?,
        })
    }
}

/// The socket at which commands report.
pub(super) struct ReportSocket {
    socket: UnixDatagram,
    path: PathBuf,
    /// All reports that have arrived.
    pub(super) received: Vec<StartReport>,
}

impl ReportSocket {
    pub(super) fn open(home: &Path) -> Result<Self> {
        let path = home.join("desk");
        Ok(Self { socket: UnixDatagram::bind(&path)?, path, received: Vec::new() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// True if the command that sent this report still runs.
    pub(super) fn is_running(&self, report: StartReport) -> bool {
        runs(report.pid, &self.path.to_string_lossy())
    }

    /// Returns a report that has already arrived.
    pub(super) fn arrived(&mut self) -> Result<Option<StartReport>> {
        self.within(Duration::from_millis(1))
    }

    /// Returns the next report if one arrives within `patience`.
    pub(super) fn within(&mut self, patience: Duration) -> Result<Option<StartReport>> {
        let mut bytes = [0; 100];
        self.socket.set_read_timeout(Some(patience))?;
        let length = match self.socket.recv(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            received => received?,
        };
        let text = String::from_utf8_lossy(&bytes[..length]);
        let report = StartReport::parse(&text).ok_or("a command reports nonsense")?;
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
    use super::{StartReport, runs};

    #[test]
    fn command_report_is_parsed() {
        let report = StartReport { member: 3, pid: std::process::id(), at_ns: 17 };
        assert_eq!(StartReport::parse(&report.to_string()), Some(report));
        assert_eq!(StartReport::parse("3 4"), None);
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
