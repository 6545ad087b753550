//! What runs under tenure: a command that says when it began to run, and then does nothing; and the desk at which
//! it says so.

use std::fs;
use std::io::{self, BufRead};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use clap::Args;

use crate::Result;
use crate::field::measure::now_ns;

/// Whoever forgets to end one is rid of it after this.
const LIVES_FOR: Duration = Duration::from_secs(180);

#[derive(Args)]
pub(crate) struct Options {
    /// The socket of the desk
    desk: PathBuf,
    /// Whose command this is
    member: usize,
    /// Begin when a line arrives on standard input
    #[arg(long)]
    after_a_line: bool,
}

/// Says when it begins, and waits.
pub(crate) fn run(options: &Options) -> Result<()> {
    if options.after_a_line && io::stdin().lock().read_line(&mut String::new())? == 0 {
        return Ok(()); // nobody is there any more to write one
    }
    let beginning = Beginning {
        member: options.member,
        pid: std::process::id(),
        at_ns: now_ns(),
    };
    let socket = UnixDatagram::unbound()?;
    socket.send_to(beginning.to_string().as_bytes(), &options.desk)?;
    thread::sleep(LIVES_FOR);
    Ok(())
}

/// A command has begun to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Beginning {
    pub(super) member: usize,
    pub(super) pid: u32,
    /// On the boot clock.
    pub(super) at_ns: u64,
}

impl std::fmt::Display for Beginning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.member, self.pid, self.at_ns)
    }
}

impl Beginning {
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        Some(Self {
            member: words.next()?.parse().ok()?,
            pid: words.next()?.parse().ok()?,
            at_ns: words.next()?.parse().ok()?,
        })
    }
}

/// Where commands report.
pub(super) struct Desk {
    socket: UnixDatagram,
    path: PathBuf,
    /// All that have reported.
    pub(super) reported: Vec<Beginning>,
}

impl Desk {
    pub(super) fn open(home: &Path) -> Result<Self> {
        let path = home.join("desk");
        Ok(Self {
            socket: UnixDatagram::bind(&path)?,
            path,
            reported: Vec::new(),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a command that reported here still runs.
    pub(super) fn is_at_work(&self, beginning: Beginning) -> bool {
        runs(beginning.pid, &self.path.to_string_lossy())
    }

    /// A command that has begun already.
    pub(super) fn arrived(&mut self) -> Result<Option<Beginning>> {
        self.within(Duration::from_millis(1))
    }

    /// The next command to begin, if one does within `patience`.
    pub(super) fn within(&mut self, patience: Duration) -> Result<Option<Beginning>> {
        let mut bytes = [0; 100];
        self.socket.set_read_timeout(Some(patience))?;
        let length = match self.socket.recv(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            received => received?,
        };
        let text = String::from_utf8_lossy(&bytes[..length]);
        let beginning = Beginning::parse(&text).ok_or("a command reports nonsense")?;
        self.reported.push(beginning);
        Ok(Some(beginning))
    }
}

/// Whether process `pid` is one that was started with `word` on its command line: its number may be another's by now.
/// One that has ended has no command line.
fn runs(pid: u32, word: &str) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line)
        .split('\0')
        .any(|it| it == word)
}

#[cfg(test)]
mod tests {
    use super::{Beginning, runs};

    #[test]
    fn what_a_command_reports_is_read() {
        let beginning = Beginning {
            member: 3,
            pid: std::process::id(),
            at_ns: 17,
        };
        assert_eq!(Beginning::parse(&beginning.to_string()), Some(beginning));
        assert_eq!(Beginning::parse("3 4"), None);
    }

    #[test]
    fn a_command_is_told_from_others_and_from_what_is_left_of_it() {
        let mut words = std::env::args();
        let me = std::process::id();
        assert!(runs(me, &words.next().unwrap()));
        assert!(!runs(me, "no such word"));
        let mut child = std::process::Command::new("sleep")
            .arg("1000")
            .spawn()
            .unwrap();
        child.kill().unwrap();
        // Nobody has asked for its exit code yet.
        while runs(child.id(), "1000") {
            std::thread::yield_now();
        }
        child.wait().unwrap();
    }
}
