//! The worker's side of the keeper.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::net::sockopt::socket_peercred;
use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};
use rustix::stdio::{dup2_stdin, dup2_stdout};
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;

use crate::authority::last_words::LastWords;
use crate::{handover, obituary};

/// The environment's word to the worker: its keeper's process id. Descendants of the worker inherit it, and it means
/// nothing to them.
const KEEPER: &str = "HUSTINGS_KEEPER";

/// The program proper, as its keeper's child.
#[derive(Debug)]
pub struct Worker {
    keeper: UnixStream,
}

impl Worker {
    /// Entrusts the keeper with what it shall say when this process is dead, in place of what it was told before.
    /// Empty words take back all.
    ///
    /// Blocks if somebody has stopped the keeper for long.
    ///
    /// # Errors
    ///
    /// When there is no keeper any more: then this process is about to die.
    pub fn entrust(&mut self, words: &LastWords) -> io::Result<()> {
        let line = format!("{}\n", obituary::to_line(words));
        self.keeper.write_all(line.as_bytes())
    }

    /// Entrusts the keeper with each last words in turn, for ever. To be called within a runtime.
    ///
    /// # Errors
    ///
    /// As [`Worker::entrust`].
    pub async fn follow(self, mut words: watch::Receiver<LastWords>) -> io::Result<()> {
        self.keeper.set_nonblocking(true)?;
        let mut keeper = tokio::net::UnixStream::from_std(self.keeper)?;
        words.mark_changed();
        while words.changed().await.is_ok() {
            let line = format!("{}\n", obituary::to_line(&words.borrow_and_update()));
            keeper.write_all(line.as_bytes()).await?;
        }
        // Nobody changes them any more, and they stand.
        Ok(())
    }

    /// Starts the worker of this process, which leaves it standard input and output: whoever reads the output sees the
    /// end of it when the worker has closed it. What the worker entrusts comes by the socket.
    pub(super) fn start() -> io::Result<(Child, UnixStream)> {
        let (socket, theirs) = handover::pair(io::stdin().as_fd(), None)?;
        let output = io::stdout().as_fd().try_clone_to_owned()?;
        let nothing = File::options().read(true).write(true).open("/dev/null")?;
        dup2_stdin(&nothing)?;
        dup2_stdout(&nothing)?;
        let mut arguments = std::env::args_os();
        // Whatever has become of its path, this is the executable that we are: an upgrade may have replaced the
        // file.
        let mut line = Command::new("/proc/self/exe");
        if let Some(name) = arguments.next() {
            line.arg0(name);
        }
        let worker = line
            .args(arguments)
            .env(KEEPER, getpid().to_string())
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::from(output))
            .spawn()?;
        Ok((worker, socket))
    }

    /// If this process was started as a worker: makes it one.
    pub(super) fn of_this_process() -> io::Result<Option<Self>> {
        let Some(keeper) = std::env::var_os(KEEPER).and_then(|pid| parse(&pid)) else {
            return Ok(None);
        };
        if !is_keeper(keeper) {
            return Ok(None);
        }
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The keeper may have died before that: then no signal will come.
        if getppid() != Some(keeper) {
            return Err(io::Error::other("its keeper has ended"));
        }
        let handed = handover::receive()?;
        dup2_stdin(handed.input)?;
        name_as_called()?;
        Ok(Some(Self {
            keeper: handed.socket,
        }))
    }
}

/// Whether the keeper of this number has started this process as its worker. A descendant of a worker inherits the
/// number, and is adopted by the keeper when it is orphaned: but it does not have the socket for standard input.
fn is_keeper(keeper: Pid) -> bool {
    socket_peercred(io::stdin()).is_ok_and(|peer| peer.pid == keeper)
}

fn parse(pid: &OsStr) -> Option<Pid> {
    Pid::from_raw(pid.to_str()?.parse().ok()?)
}

/// The executable was started by a path that would make it "exe" in lists of processes.
fn name_as_called() -> io::Result<()> {
    let called = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&called).file_name().unwrap_or_default();
    if let Ok(name) = std::ffi::CString::new(name.as_bytes()) {
        rustix::thread::set_name(&name)?;
    }
    Ok(())
}
